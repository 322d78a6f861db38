"""Pausing and resuming: what becomes of the schedule, the incident and the history, and of others at the same time."""

import pytest

from hashrange_systems.checks.errors import Changed, LimitReached, NotPossibleNow, NotThere, Suspended
from hashrange_systems.checks.model.state import Phase, read_state
from hashrange_systems.checks.model.uptime import Sample, Verdict, summarise
from hashrange_systems.checks.schema import Ended, Failed, Paused, Scheduled
from hashrange_systems.checks.service.moment import to_ms
from systems.tests.checks.monitors import NOON
from systems.tests.checks.office import do, draft, interfere, race


@pytest.fixture
def ann(office):
    return office.sign_up().user.userid


def test_a_pause_interrupts_the_incident_keeps_the_history_and_says_so_in_it(office, ann):
    (checkid,) = office.add(ann)
    office.run(ann, checkid, "uddd")
    runs = office.db.runs(checkid).run()
    office.clock.advance(30)
    paused = do(office.ledger.pause(ann, checkid))
    assert (type(paused), read_state(paused.state).phase, office.due()) == (Paused, Phase.NEW, [])
    (incident,) = office.db.incidents(checkid).run()
    assert (type(incident), incident.interrupted, to_ms(incident.ended_at)) == (Ended, True, office.clock.millis())
    sample, *before = office.db.runs(checkid).run()
    assert before == runs
    assert (sample.verdict, sample.result, to_ms(sample.at)) == ("PAUSED", {}, office.clock.millis())


def test_the_time_of_a_pause_is_neither_up_nor_down(office, ann):
    (checkid,) = office.add(ann)
    office.run(ann, checkid, "u")
    start = office.clock.millis()
    office.clock.advance(60)
    do(office.ledger.pause(ann, checkid))
    office.clock.advance(7200)
    do(office.ledger.resume(ann, checkid))
    do(office.ledger.run_now(ann, checkid))
    found = reversed(office.db.runs(checkid).run())
    samples = [Sample(at=to_ms(r.at), verdict=Verdict(r.verdict), delay_ms=r.delay_ms) for r in found]
    rollup = summarise(samples, start, office.clock.millis())
    assert (rollup.up, rollup.paused, rollup.blind, rollup.down) == (60_000, 7_200_000, 0, 0)


def test_a_pause_at_the_moment_of_a_run_hides_neither(office, ann):
    (checkid,) = office.add(ann)
    do(office.ledger.run_now(ann, checkid))
    do(office.ledger.pause(ann, checkid))
    do(office.ledger.resume(ann, checkid))
    do(office.ledger.run_now(ann, checkid))
    assert [run.verdict for run in office.db.runs(checkid)] == ["UP", "PAUSED", "UP"]


def test_a_run_that_ends_while_its_check_is_paused_is_either_recorded_before_or_not_at_all(office, ann):
    (checkid,) = office.add(ann)
    office.run(ann, checkid, "udd")

    async def pause():
        await office.ledger.pause(ann, checkid)

    office.target.script, office.target.meanwhile = ["d"], pause
    with pytest.raises(Changed):
        do(office.ledger.run_now(ann, checkid))
    assert type(office.check(checkid)) is Paused
    assert office.db.incidents(checkid).run() == []


def test_a_pause_ends_an_incident_that_opens_while_it_is_written(office, ann):
    (checkid,) = office.add(ann)
    office.run(ann, checkid, "udd")
    office.target.script = ["d"]
    slow = interfere(office, lambda: office.ledger.run_now(ann, checkid))
    assert type(do(slow.ledger.pause(ann, checkid))) is Paused
    (incident,) = office.db.incidents(checkid).run()
    assert (type(incident), incident.interrupted) == (Ended, True)
    assert [run.verdict for run in office.db.runs(checkid)] == ["PAUSED", "DOWN", "PENDING", "PENDING", "UP"]


def test_a_check_paused_many_times_at_once_is_paused_once(office, ann):
    (checkid,) = office.add(ann)
    race(6, lambda _: office.ledger.pause(ann, checkid))
    assert [run.verdict for run in office.db.runs(checkid)] == ["PAUSED"]


def test_a_check_is_not_resumed_by_who_loses_the_right_to_it_at_that_moment(office):
    ben = office.sign_up("ben", tier="PRO").user.userid
    checks = office.add(ben, 6)
    do(office.ledger.pause(ben, checks[5]))
    slow = interfere(office, lambda: office.users.change_tier(ben, "FREE"))
    with pytest.raises(LimitReached):
        do(slow.ledger.resume(ben, checks[5]))
    do(office.users.change_tier(ben, "PRO"))
    slow = interfere(office, lambda: office.users.suspend(ben))
    with pytest.raises(Suspended):
        do(slow.ledger.resume(ben, checks[5]))
    assert office.due() == []


def test_a_check_is_not_added_by_who_loses_the_right_to_it_at_that_moment(office, ann):
    for meanwhile, refusal in ((office.users.suspend, Suspended), (office.users.delete, NotThere)):
        with pytest.raises(refusal):
            do(interfere(office, lambda act=meanwhile: act(ann)).ledger.create(ann, draft()))
        if refusal is Suspended:
            do(office.users.reinstate(ann))
    assert office.stored("CHECK") == []


def test_what_is_moved_on_right_after_a_write_does_not_make_the_write_a_failure(office, ann):
    """Whatever is read after a transaction, somebody else may have been there by then."""
    slow = interfere(office, lambda: office.users.suspend(ann), afterwards=True)
    made = do(slow.ledger.create(ann, draft()))
    assert office.check(made.checkid) is not None
    do(office.users.reinstate(ann))
    slow = interfere(office, lambda: office.ledger.resume(ann, made.checkid), afterwards=True)
    do(slow.ledger.pause(ann, made.checkid))
    assert type(office.check(made.checkid)) is Scheduled


def test_a_resumed_check_is_due_at_once(office, ann):
    (checkid,) = office.add(ann)
    do(office.ledger.pause(ann, checkid))
    office.clock.advance(3600)
    resumed = do(office.ledger.resume(ann, checkid))
    assert (type(resumed), to_ms(resumed.next_run_at)) == (Scheduled, office.clock.millis())
    assert office.due() == [checkid]


def test_pause_and_resume_can_be_said_twice(office, ann):
    (checkid,) = office.add(ann)
    first = do(office.ledger.pause(ann, checkid))
    office.clock.advance(60)
    assert do(office.ledger.pause(ann, checkid)) == first
    resumed = do(office.ledger.resume(ann, checkid))
    office.clock.advance(60)
    assert do(office.ledger.resume(ann, checkid)) == resumed


def test_a_check_that_failed_by_itself_is_resumed_and_not_paused(office, ann):
    (checkid,) = office.add(ann)
    office.db.disable(office.check(checkid), updated_at=NOON, failed_reason="gone").run()
    assert type(office.check(checkid)) is Failed
    with pytest.raises(NotPossibleNow, match="FAILED"):
        do(office.ledger.pause(ann, checkid))
    assert type(do(office.ledger.resume(ann, checkid))) is Scheduled
