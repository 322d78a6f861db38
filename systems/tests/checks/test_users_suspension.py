"""Suspension takes a user's checks out of the schedule, reinstatement puts them back; both can be interrupted."""

import pytest

from hashrange_systems.checks.history_schema import Ended
from hashrange_systems.checks.schema import ActiveUser, Paused, Scheduled, SuspendedCheck, SuspendedUser
from hashrange_systems.checks.service.status_pages import PageContent
from hashrange_systems.shared.errors import AccountSuspended, ResourceMissing, StateConflict
from systems.tests.checks.services import do, draft, fail_at_every_call, interfere, race, winners


def test_a_suspended_users_checks_leave_the_schedule_and_come_back(services):
    user = services.sign_up().user
    checks = services.add(user.userid, 3)
    do(services.checks.pause(user.userid, checks[2]))
    assert type(do(services.users.suspend(user.userid))) is SuspendedUser
    assert services.due() == []
    assert [type(services.check(checkid)) for checkid in checks] == [SuspendedCheck, SuspendedCheck, Paused]
    assert type(do(services.users.reinstate(user.userid))) is ActiveUser
    assert services.due() == sorted(checks[:2])
    assert [type(services.check(checkid)) for checkid in checks] == [Scheduled, Scheduled, Paused]


def test_who_comes_back_gets_the_slots_that_would_have_been_next(services):
    user = services.sign_up(tier="PRO").user
    checks = services.add(user.userid, 20)
    do(services.users.suspend(user.userid))
    services.clock.advance(3600)
    now = services.clock.millis()
    do(services.users.reinstate(user.userid))
    due_times = [services.check(checkid).next_run_at.timestamp() * 1000 - now for checkid in checks]
    assert all(0 < due_at <= 300_000 for due_at in due_times)
    assert len(set(due_times)) > 15  # not all at the same moment


def test_a_suspended_user_can_do_nothing_but_look_stop_and_delete(services):
    new = services.sign_up()
    userid = new.user.userid
    checkid, other = services.add(userid, 2)
    do(services.users.suspend(userid))
    for attempt in (
        lambda: services.keys.authenticate(new.key),
        lambda: services.keys.add(userid, "more"),
        lambda: services.channels.add(userid, "EMAIL", "bob@example.com"),
        lambda: services.pages.publish(userid, "ann", PageContent(title="Ann", checks=[])),
        lambda: services.checks.create(userid, draft()),
        lambda: services.checks.resume(userid, checkid),
        lambda: services.checks.run_now(userid, checkid),
    ):
        with pytest.raises(AccountSuspended):
            do(attempt())
    assert len(do(services.checks.list_by_user(userid))) == 2
    assert type(do(services.checks.pause(userid, checkid))) is Paused
    do(services.checks.delete(userid, other))
    do(services.users.reinstate(userid))
    assert do(services.keys.authenticate(new.key)).userid == userid
    assert services.due() == []  # what was paused meanwhile stays so


def test_an_open_incident_ends_as_interrupted_with_a_suspension(services):
    user = services.sign_up().user
    (checkid,) = services.add(user.userid)
    services.run(user.userid, checkid, "uddd")
    do(services.users.suspend(user.userid))
    (incident,) = services.db.incidents(checkid).run()
    assert (type(incident), incident.interrupted) == (Ended, True)
    assert services.db.runs(checkid).run()[0].verdict == "PAUSED"


def test_a_suspension_cut_short_anywhere_is_completed_by_another(services):
    def prepare(calls):
        user = services.sign_up(f"u{calls}").user
        return user.userid, services.add(user.userid, 3)

    def resolved(subject):
        userid, checks = subject
        assert type(services.db.user(userid).run()) is SuspendedUser
        assert [type(services.check(checkid)) for checkid in checks] == [SuspendedCheck] * 3
        assert not set(checks) & set(services.due())
        assert [len(services.db.runs(checkid).run()) for checkid in checks] == [1] * 3  # one PAUSED sample each

    assert fail_at_every_call(services, prepare, lambda at, made: at.users.suspend(made[0]), resolved) > 5


def test_a_reinstatement_cut_short_anywhere_is_completed_by_another(services):
    def prepare(calls):
        user = services.sign_up(f"u{calls}").user
        checks = services.add(user.userid, 3)
        do(services.users.suspend(user.userid))
        return user.userid, checks

    def resolved(subject):
        userid, checks = subject
        assert type(services.db.user(userid).run()) is ActiveUser
        assert [type(services.check(checkid)) for checkid in checks] == [Scheduled] * 3
        assert set(checks) <= set(services.due())

    assert fail_at_every_call(services, prepare, lambda at, made: at.users.reinstate(made[0]), resolved) > 5


def test_suspensions_and_reinstatements_at_once_leave_no_check_that_contradicts_its_user(services):
    user = services.sign_up().user
    checks = services.add(user.userid, 3)

    def attempt(number):
        return services.users.suspend(user.userid) if number % 2 else services.users.reinstate(user.userid)

    race(6, attempt)
    suspended = isinstance(services.db.user(user.userid).run(), SuspendedUser)
    do(services.users.suspend(user.userid) if suspended else services.users.reinstate(user.userid))
    expected = SuspendedCheck if suspended else Scheduled
    assert {type(services.check(checkid)) for checkid in checks} == {expected}


def test_a_suspension_gives_way_to_a_reinstatement_made_meanwhile(services):
    user = services.sign_up().user
    checks = services.add(user.userid, 3)
    slow = interfere(services, lambda: services.users.reinstate(user.userid))
    assert do(slow.users.suspend(user.userid)).status == "ACTIVE"
    assert services.due() == sorted(checks)


def test_a_reinstatement_gives_way_to_a_suspension_made_meanwhile(services):
    user = services.sign_up().user
    services.add(user.userid, 3)
    do(services.users.suspend(user.userid))
    slow = interfere(services, lambda: services.users.suspend(user.userid))
    assert do(slow.users.reinstate(user.userid)).status == "SUSPENDED"
    assert services.due() == []


def test_a_check_added_while_its_user_is_suspended_is_out_of_the_schedule_or_not_there(services):
    user = services.sign_up(tier="PRO").user

    def attempt(number):
        return services.users.suspend(user.userid) if number == 3 else services.checks.create(user.userid, draft())

    winners(race(8, attempt))
    do(services.users.suspend(user.userid))
    assert services.due() == []


def test_both_can_be_said_twice_and_neither_of_nobody(services):
    user = services.sign_up().user
    assert do(services.users.reinstate(user.userid)).status == "ACTIVE"
    do(services.users.suspend(user.userid))
    assert do(services.users.suspend(user.userid)).status == "SUSPENDED"
    services.db.close(do(services.users.find(user.userid)), updated_at=user.updated_at).run()
    for attempt in (services.users.suspend, services.users.reinstate):
        with pytest.raises(StateConflict, match="CLOSING"):
            do(attempt(user.userid))
        with pytest.raises(ResourceMissing):
            do(attempt("nobody"))
