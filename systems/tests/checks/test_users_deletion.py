"""Deletion takes everything a user owns, and nothing of anybody else."""

import pytest

from hashrange_systems.checks.errors import KeyUnknown, NotPossibleNow, NotThere, Suspended
from hashrange_systems.checks.schema import Rollup, Waiting
from systems.tests.checks.monitors import NOON
from systems.tests.checks.office import crash_everywhere, do, draft, race


def furnish(office, name):
    """A user who has one of everything."""
    new = office.sign_up(name)
    userid = new.user.userid
    do(office.channels.verify(new.token))
    do(office.keys.add(userid, "more"))
    do(office.channels.add(userid, "WEBHOOK", f"https://{name}.example/hook"))
    first, second = office.add(userid, 2)
    office.run(userid, first, "uddd")  # results, an incident and an alert
    do(office.ledger.pause(userid, second))
    day = NOON.date()
    office.db.create(Rollup(checkid=first, day=day, rollup={"up": 1}, expires_at=NOON.replace(year=2030))).run()
    do(office.pages.publish(userid, f"page-{name}", name, [first]))
    return userid, first


def test_deletion_removes_everything_the_user_owns_and_nothing_else(office):
    bob, _ = furnish(office, "bob")
    before = office.stored("USER"), office.stored("CHECK")
    ann, first = furnish(office, "ann")
    kinds = {key.split("/")[1].split("#")[0] for key in office.stored("CHECK") if key.startswith(first)}
    assert kinds == {"CHECK", "RESULT", "ROLLUP", "INCIDENT", "ALERT"}
    do(office.users.delete(ann))
    assert (office.stored("USER"), office.stored("CHECK")) == before
    with pytest.raises(NotThere):
        do(office.users.delete(ann))
    assert do(office.users.find(bob)).check_count == 2


def test_what_was_the_users_is_free_again(office):
    ann, _ = furnish(office, "ann")
    do(office.users.delete(ann))
    again, first = furnish(office, "ann")
    assert again != ann
    assert do(office.pages.find("page-ann")).checks == [first]


def test_a_deletion_cut_short_anywhere_is_completed_by_another(office):
    def prepare(calls):
        return furnish(office, f"u{calls}")[0]

    def settled(_userid):
        assert (office.stored("USER"), office.stored("CHECK")) == ([], [])

    assert crash_everywhere(office, prepare, _delete, settled) > 20


async def _delete(office, userid):
    """Delete a user, unless the deletion that was cut short was complete."""
    if await office.db.user(userid) is not None:
        await office.users.delete(userid)


def test_who_is_being_deleted_has_no_keys_and_gets_nothing_new(office):
    new = office.sign_up()
    userid = new.user.userid
    (checkid,) = office.add(userid)
    office.db.close(new.user, updated_at=NOON).run()
    for attempt in (
        lambda: office.ledger.create(userid, draft()),
        lambda: office.keys.add(userid, "more"),
        lambda: office.ledger.run_now(userid, checkid),
        lambda: office.keys.authenticate(new.key),
    ):
        with pytest.raises(Suspended):
            do(attempt())
    with pytest.raises(NotPossibleNow):
        do(office.users.reinstate(userid))
    do(office.users.delete(userid))
    with pytest.raises(KeyUnknown):
        do(office.keys.authenticate(new.key))


def test_deleting_a_user_many_times_at_once_deletes_them_once(office):
    ann, _ = furnish(office, "ann")
    race(5, lambda _: office.users.delete(ann))
    assert (office.stored("USER"), office.stored("CHECK")) == ([], [])


def test_what_waits_to_be_sent_goes_with_its_check(office):
    ann, first = furnish(office, "ann")
    (alert,) = office.db.alerts(first).run()
    assert type(alert) is Waiting
    do(office.users.delete(ann))
    assert office.db.alerts(first).run() == []
