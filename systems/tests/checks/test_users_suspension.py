"""Suspension takes a user's checks out of the schedule, reinstatement puts them back; both can be taken up again."""

import pytest

from hashrange_systems.checks.errors import NotPossibleNow, NotThere, Suspended
from hashrange_systems.checks.schema import ActiveUser, Ended, Paused, Scheduled, Shelved, SuspendedUser
from systems.tests.checks.office import crash_everywhere, do, draft, interfere, race, winners


def test_a_suspended_users_checks_leave_the_schedule_and_come_back(office):
    user = office.sign_up().user
    checks = office.add(user.userid, 3)
    do(office.ledger.pause(user.userid, checks[2]))
    assert type(do(office.users.suspend(user.userid))) is SuspendedUser
    assert office.due() == []
    assert [type(office.check(checkid)) for checkid in checks] == [Shelved, Shelved, Paused]
    assert type(do(office.users.reinstate(user.userid))) is ActiveUser
    assert office.due() == sorted(checks[:2])
    assert [type(office.check(checkid)) for checkid in checks] == [Scheduled, Scheduled, Paused]


def test_who_comes_back_gets_the_slots_that_would_have_been_next(office):
    user = office.sign_up(tier="PRO").user
    checks = office.add(user.userid, 20)
    do(office.users.suspend(user.userid))
    office.clock.advance(3600)
    now = office.clock.millis()
    do(office.users.reinstate(user.userid))
    slots = [office.check(checkid).next_run_at.timestamp() * 1000 - now for checkid in checks]
    assert all(0 < slot <= 300_000 for slot in slots)
    assert len(set(slots)) > 15  # not all at the same moment


def test_a_suspended_user_can_do_nothing_but_look_stop_and_delete(office):
    new = office.sign_up()
    userid = new.user.userid
    checkid, other = office.add(userid, 2)
    do(office.users.suspend(userid))
    for attempt in (
        lambda: office.keys.authenticate(new.key),
        lambda: office.keys.add(userid, "more"),
        lambda: office.channels.add(userid, "EMAIL", "bob@example.com"),
        lambda: office.pages.publish(userid, "ann", "Ann", []),
        lambda: office.ledger.create(userid, draft()),
        lambda: office.ledger.resume(userid, checkid),
        lambda: office.ledger.run_now(userid, checkid),
    ):
        with pytest.raises(Suspended):
            do(attempt())
    assert len(do(office.ledger.of_user(userid))) == 2
    assert type(do(office.ledger.pause(userid, checkid))) is Paused
    do(office.ledger.delete(userid, other))
    do(office.users.reinstate(userid))
    assert do(office.keys.authenticate(new.key)).userid == userid
    assert office.due() == []  # what was paused meanwhile stays so


def test_an_open_incident_ends_as_interrupted_with_a_suspension(office):
    user = office.sign_up().user
    (checkid,) = office.add(user.userid)
    office.run(user.userid, checkid, "uddd")
    do(office.users.suspend(user.userid))
    (incident,) = office.db.incidents(checkid).run()
    assert (type(incident), incident.interrupted) == (Ended, True)
    assert office.db.runs(checkid).run()[0].verdict == "PAUSED"


def test_a_suspension_cut_short_anywhere_is_completed_by_another(office):
    def prepare(calls):
        user = office.sign_up(f"u{calls}").user
        return user.userid, office.add(user.userid, 3)

    def settled(subject):
        userid, checks = subject
        assert type(office.db.user(userid).run()) is SuspendedUser
        assert [type(office.check(checkid)) for checkid in checks] == [Shelved] * 3
        assert not set(checks) & set(office.due())
        assert [len(office.db.runs(checkid).run()) for checkid in checks] == [1] * 3  # one PAUSED sample each

    assert crash_everywhere(office, prepare, lambda at, made: at.users.suspend(made[0]), settled) > 5


def test_a_reinstatement_cut_short_anywhere_is_completed_by_another(office):
    def prepare(calls):
        user = office.sign_up(f"u{calls}").user
        checks = office.add(user.userid, 3)
        do(office.users.suspend(user.userid))
        return user.userid, checks

    def settled(subject):
        userid, checks = subject
        assert type(office.db.user(userid).run()) is ActiveUser
        assert [type(office.check(checkid)) for checkid in checks] == [Scheduled] * 3
        assert set(checks) <= set(office.due())

    assert crash_everywhere(office, prepare, lambda at, made: at.users.reinstate(made[0]), settled) > 5


def test_suspensions_and_reinstatements_at_once_leave_no_check_that_contradicts_its_user(office):
    user = office.sign_up().user
    checks = office.add(user.userid, 3)

    def attempt(number):
        return office.users.suspend(user.userid) if number % 2 else office.users.reinstate(user.userid)

    race(6, attempt)
    suspended = isinstance(office.db.user(user.userid).run(), SuspendedUser)
    do(office.users.suspend(user.userid) if suspended else office.users.reinstate(user.userid))
    expected = Shelved if suspended else Scheduled
    assert {type(office.check(checkid)) for checkid in checks} == {expected}


def test_a_suspension_gives_way_to_a_reinstatement_made_meanwhile(office):
    user = office.sign_up().user
    checks = office.add(user.userid, 3)
    slow = interfere(office, lambda: office.users.reinstate(user.userid))
    assert do(slow.users.suspend(user.userid)).status == "ACTIVE"
    assert office.due() == sorted(checks)


def test_a_reinstatement_gives_way_to_a_suspension_made_meanwhile(office):
    user = office.sign_up().user
    office.add(user.userid, 3)
    do(office.users.suspend(user.userid))
    slow = interfere(office, lambda: office.users.suspend(user.userid))
    assert do(slow.users.reinstate(user.userid)).status == "SUSPENDED"
    assert office.due() == []


def test_a_check_added_while_its_user_is_suspended_is_out_of_the_schedule_or_not_there(office):
    user = office.sign_up(tier="PRO").user

    def attempt(number):
        return office.users.suspend(user.userid) if number == 3 else office.ledger.create(user.userid, draft())

    winners(race(8, attempt))
    do(office.users.suspend(user.userid))
    assert office.due() == []


def test_both_can_be_said_twice_and_neither_of_nobody(office):
    user = office.sign_up().user
    assert do(office.users.reinstate(user.userid)).status == "ACTIVE"
    do(office.users.suspend(user.userid))
    assert do(office.users.suspend(user.userid)).status == "SUSPENDED"
    office.db.close(do(office.users.find(user.userid)), updated_at=user.updated_at).run()
    for attempt in (office.users.suspend, office.users.reinstate):
        with pytest.raises(NotPossibleNow, match="CLOSING"):
            do(attempt(user.userid))
        with pytest.raises(NotThere):
            do(attempt("nobody"))
