"""Signals of jobs: stored, evaluated by the worker, late at the deadline, whoever else writes at the same time."""

import asyncio

import pytest

from hashrange_systems.checks.deployment_schema import WorkerPresence
from hashrange_systems.checks.model.signals import Signal
from hashrange_systems.checks.schema import Scheduled
from hashrange_systems.checks.service.heartbeats import Heartbeats
from hashrange_systems.shared.epoch import from_ms
from hashrange_systems.shared.errors import ResourceMissing
from hashrange_systems.shared.work.presence import Presence
from systems.tests.checks.run_scenario import FakeSleep, make_runs, make_worker
from systems.tests.checks.services import do

MINUTE, HOUR = 60, 3600


class Job:
    """A heartbeat that is due every hour, with ten minutes of grace, and its worker."""

    def __init__(self, services):
        self.services, self.clock, self.db = services, services.clock, services.db
        self.userid = services.sign_up().user.userid
        attributes = {"periodMs": HOUR * 1000, "graceMs": 10 * MINUTE * 1000}
        (self.checkid,) = services.add(
            self.userid, url=None, check_type="HEARTBEAT", name="Backup", attributes=attributes, delay_ms=HOUR * 1000
        )
        self.worker = make_worker(self.db, self.clock)
        self.beats = Heartbeats(self.db, self.clock, FakeSleep())

    @property
    def check(self) -> Scheduled:
        return self.services.check(self.checkid)

    def signal(self, signal="success", message=""):
        return do(self.beats.receive(self.checkid, self.check.signal_key, Signal(signal), message))

    def work(self, seconds=0):
        """Let time pass, and run whatever is due then."""
        self.clock.advance(seconds)
        do(self.worker.run_due())
        return self.check.last_result["status"]


@pytest.fixture
def job(services):
    return Job(services)


def test_a_heartbeat_waits_for_its_first_signal_then_it_is_up_until_the_deadline(job):
    assert job.work() == "UNKNOWN"
    job.clock.advance(5)
    assert job.signal()
    assert job.work() == "UP"
    assert job.check.next_run_at <= from_ms(job.clock.millis() + (HOUR + 10 * MINUTE) * 1000)
    assert job.work(HOUR + 10 * MINUTE - 1) == "UP"
    assert job.work(1) == "DOWN"
    assert [incident.cause for incident in job.db.incidents(job.checkid)] == ["LATE"]


def test_one_signal_ends_the_outage(job):
    job.signal()
    job.work()
    assert job.work(2 * HOUR) == "DOWN"
    job.signal()
    assert job.work() == "UP"
    (incident,) = job.db.incidents(job.checkid)
    assert incident.ended_at is not None


def test_a_failure_is_an_incident_with_what_the_job_said(job):
    job.signal()
    job.work()
    job.clock.advance(60)
    job.signal("fail", "exit status 1, no space left")
    assert job.work() == "DOWN"
    (incident,) = job.db.incidents(job.checkid)
    assert "no space left" in incident.evidence


def test_a_start_without_an_end_is_late_after_the_grace_time(job):
    job.signal()
    job.work()
    job.clock.advance(MINUTE)
    job.signal("start")
    assert job.work(10 * MINUTE - 1) == "UP"
    assert job.work(1) == "DOWN"


def test_the_duration_of_a_job_is_the_response_time_of_one_run(job):
    job.signal("start")
    job.clock.advance(90)
    job.signal()
    job.work()
    job.work(HOUR + 10 * MINUTE)
    times = [run.result.get("responseTime") for run in job.db.runs(job.checkid)]
    assert times.count(90_000) == 1
    assert set(times) == {90_000, None}


def test_a_signal_during_a_run_is_stored_and_evaluated_afterwards(job):
    job.signal()
    job.work()
    job.clock.advance(2 * HOUR)
    runs = make_runs(job.db, job.clock)

    async def interleave():
        claim = await runs.claim(job.check)
        sending = asyncio.create_task(Heartbeats(job.db, job.clock).receive(job.checkid, key, Signal.SUCCESS))
        while job.check.signals["received"] < 2:  # noqa: ASYNC110 - what is waited for is in a database
            await asyncio.sleep(0.01)
        finished = await runs.perform(claim)
        await sending
        return finished

    key = job.check.signal_key
    assert do(interleave()).outcome.status.value == "DOWN"  # the claim was before the signal
    assert job.work() == "UP"


def test_of_many_signals_at_once_none_is_lost(job):
    async def send():
        beats = Heartbeats(job.db, job.clock)
        key = job.check.signal_key
        await asyncio.gather(*(beats.receive(job.checkid, key, Signal.SUCCESS) for _ in range(8)))

    do(send())
    assert job.check.signals["received"] == 8


def test_a_paused_heartbeat_takes_signals_without_counting_them(job):
    do(job.services.checks.pause(job.userid, job.checkid))
    assert job.signal() is False
    assert job.check.signals is None


@pytest.mark.parametrize("key", ["", "x", "x" * 22, "é"])
def test_a_wrong_key_is_as_unknown_as_a_wrong_check(job, key):
    for checkid in (job.checkid, "0" * 20, "../x"):
        with pytest.raises(ResourceMissing):
            do(job.beats.receive(checkid, key, Signal.SUCCESS))
    assert job.check.signals is None


def test_other_checks_take_no_signals(job):
    (page,) = job.services.add(job.userid)
    assert job.services.check(page).signal_key is None
    with pytest.raises(ResourceMissing):
        do(job.beats.receive(page, "None", Signal.SUCCESS))


# ── nobody was there ─────────────────────────────────────────────────────────────────────────────────────────────────
def watch(job):
    """Write the presence of a new worker, which its runs know."""
    presence = Presence(job.db, WorkerPresence, job.clock)
    do(presence.write())
    job.worker._runs.presence = presence
    return presence


def test_a_signal_that_nobody_could_receive_is_not_late_and_the_next_one_is(job):
    presence = watch(job)
    job.signal()
    assert job.work() == "UP"
    do(presence.leave())
    job.clock.advance(3 * HOUR)  # no worker: the job has called in vain
    presence = watch(job)
    assert job.work() == "UNKNOWN"
    assert job.check.last_result["message"].startswith("monitoring was interrupted until")
    assert not job.db.incidents(job.checkid).run()
    for _ in range(HOUR // 30):
        do(presence.write())
        assert job.work(30) == "UNKNOWN"
    for _ in range(20):
        job.clock.advance(30)
        do(presence.write())
    assert job.work() == "DOWN"
    (incident,) = job.db.incidents(job.checkid)
    assert incident.cause == "LATE"


def test_an_interruption_long_before_a_signal_is_expected_does_not_matter(job):
    presence = watch(job)
    job.signal()
    job.work()
    do(presence.leave())
    job.clock.advance(20 * MINUTE)
    presence = watch(job)
    for _ in range(50 * MINUTE // 30):
        job.clock.advance(30)
        do(presence.write())
    assert job.work() == "DOWN"


def test_a_signal_after_an_interruption_counts_as_usual(job):
    presence = watch(job)
    job.signal()
    job.work()
    do(presence.leave())
    job.clock.advance(3 * HOUR)
    watch(job)
    job.work()
    job.signal()
    assert job.work() == "UP"
