"""Pausing and resuming: what becomes of the schedule, the incident and the history, and of others at the same time."""

import pytest

from hashrange_systems.checks.history_schema import Ended
from hashrange_systems.checks.model.state import Phase, read_state
from hashrange_systems.checks.model.uptime import Sample, Verdict, summarise
from hashrange_systems.checks.schema import Failed, Paused, Scheduled
from hashrange_systems.shared.epoch import to_ms
from hashrange_systems.shared.errors import AccountSuspended, EditConflict, LimitReached, ResourceMissing, StateConflict
from systems.tests.checks.check_items import NOON
from systems.tests.checks.services import do, draft, interfere, race


@pytest.fixture
def ann(services):
    return services.sign_up().user.userid


def test_a_pause_interrupts_the_incident_keeps_the_history_and_says_so_in_it(services, ann):
    (checkid,) = services.add(ann)
    services.run(ann, checkid, "uddd")
    runs = services.db.runs(checkid).run()
    services.clock.advance(30)
    paused = do(services.checks.pause(ann, checkid))
    assert (type(paused), read_state(paused.state).phase, services.due()) == (Paused, Phase.NEW, [])
    (incident,) = services.db.incidents(checkid).run()
    assert (type(incident), incident.interrupted, to_ms(incident.ended_at)) == (Ended, True, services.clock.millis())
    sample, *before = services.db.runs(checkid).run()
    assert before == runs
    assert (sample.verdict, sample.result, to_ms(sample.at)) == ("PAUSED", {}, services.clock.millis())


def test_the_time_of_a_pause_is_neither_up_nor_down(services, ann):
    (checkid,) = services.add(ann)
    services.run(ann, checkid, "u")
    start = services.clock.millis()
    services.clock.advance(60)
    do(services.checks.pause(ann, checkid))
    services.clock.advance(7200)
    do(services.checks.resume(ann, checkid))
    do(services.checks.run_now(ann, checkid))
    found = reversed(services.db.runs(checkid).run())
    samples = [Sample(at=to_ms(r.at), verdict=Verdict(r.verdict), delay_ms=r.delay_ms) for r in found]
    rollup = summarise(samples, start, services.clock.millis())
    assert (rollup.up, rollup.paused, rollup.unobserved, rollup.down) == (60_000, 7_200_000, 0, 0)


def test_a_pause_at_the_moment_of_a_run_hides_neither(services, ann):
    (checkid,) = services.add(ann)
    do(services.checks.run_now(ann, checkid))
    do(services.checks.pause(ann, checkid))
    do(services.checks.resume(ann, checkid))
    do(services.checks.run_now(ann, checkid))
    assert [run.verdict for run in services.db.runs(checkid)] == ["UP", "PAUSED", "UP"]


def test_a_run_that_ends_while_its_check_is_paused_is_either_recorded_before_or_not_at_all(services, ann):
    (checkid,) = services.add(ann)
    services.run(ann, checkid, "udd")

    async def pause():
        await services.checks.pause(ann, checkid)

    services.target.script, services.target.meanwhile = ["d"], pause
    with pytest.raises(EditConflict):
        do(services.checks.run_now(ann, checkid))
    assert type(services.check(checkid)) is Paused
    assert services.db.incidents(checkid).run() == []


def test_a_pause_ends_an_incident_that_opens_while_it_is_written(services, ann):
    (checkid,) = services.add(ann)
    services.run(ann, checkid, "udd")
    services.target.script = ["d"]
    slow = interfere(services, lambda: services.checks.run_now(ann, checkid))
    assert type(do(slow.checks.pause(ann, checkid))) is Paused
    (incident,) = services.db.incidents(checkid).run()
    assert (type(incident), incident.interrupted) == (Ended, True)
    assert [run.verdict for run in services.db.runs(checkid)] == ["PAUSED", "DOWN", "PENDING", "PENDING", "UP"]


def test_a_check_paused_many_times_at_once_is_paused_once(services, ann):
    (checkid,) = services.add(ann)
    race(6, lambda _: services.checks.pause(ann, checkid))
    assert [run.verdict for run in services.db.runs(checkid)] == ["PAUSED"]


def test_a_check_is_not_resumed_by_who_loses_the_right_to_it_at_that_moment(services):
    ben = services.sign_up("ben", tier="PRO").user.userid
    checks = services.add(ben, 6)
    do(services.checks.pause(ben, checks[5]))
    slow = interfere(services, lambda: services.users.change_tier(ben, "FREE"))
    with pytest.raises(LimitReached):
        do(slow.checks.resume(ben, checks[5]))
    do(services.users.change_tier(ben, "PRO"))
    slow = interfere(services, lambda: services.users.suspend(ben))
    with pytest.raises(AccountSuspended):
        do(slow.checks.resume(ben, checks[5]))
    assert services.due() == []


def test_a_check_is_not_added_by_who_loses_the_right_to_it_at_that_moment(services, ann):
    for meanwhile, refusal in ((services.users.suspend, AccountSuspended), (services.users.delete, ResourceMissing)):
        with pytest.raises(refusal):
            do(interfere(services, lambda act=meanwhile: act(ann)).checks.create(ann, draft()))
        if refusal is AccountSuspended:
            do(services.users.reinstate(ann))
    assert services.stored("CHECK") == []


def test_what_is_moved_on_right_after_a_write_does_not_make_the_write_a_failure(services, ann):
    """Whatever is read after a transaction, somebody else may have been there by then."""
    slow = interfere(services, lambda: services.users.suspend(ann), afterwards=True)
    made = do(slow.checks.create(ann, draft()))
    assert services.check(made.checkid) is not None
    do(services.users.reinstate(ann))
    slow = interfere(services, lambda: services.checks.resume(ann, made.checkid), afterwards=True)
    do(slow.checks.pause(ann, made.checkid))
    assert type(services.check(made.checkid)) is Scheduled


def test_a_resumed_check_is_due_at_once(services, ann):
    (checkid,) = services.add(ann)
    do(services.checks.pause(ann, checkid))
    services.clock.advance(3600)
    resumed = do(services.checks.resume(ann, checkid))
    assert (type(resumed), to_ms(resumed.next_run_at)) == (Scheduled, services.clock.millis())
    assert services.due() == [checkid]


def test_pause_and_resume_can_be_said_twice(services, ann):
    (checkid,) = services.add(ann)
    first = do(services.checks.pause(ann, checkid))
    services.clock.advance(60)
    assert do(services.checks.pause(ann, checkid)) == first
    resumed = do(services.checks.resume(ann, checkid))
    services.clock.advance(60)
    assert do(services.checks.resume(ann, checkid)) == resumed


def test_a_check_that_failed_by_itself_is_resumed_and_not_paused(services, ann):
    (checkid,) = services.add(ann)
    services.db.disable(services.check(checkid), updated_at=NOON, failed_reason="gone").run()
    assert type(services.check(checkid)) is Failed
    with pytest.raises(StateConflict, match="FAILED"):
        do(services.checks.pause(ann, checkid))
    assert type(do(services.checks.resume(ann, checkid))) is Scheduled
