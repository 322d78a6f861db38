"""Deletion takes everything a user owns, and nothing of anybody else."""

import pytest

from hashrange_systems.checks.history_schema import RollupItem
from hashrange_systems.checks.schema import Waiting
from hashrange_systems.checks.service.status_pages import PageContent
from hashrange_systems.shared.errors import AccountSuspended, ApiKeyInvalid, ResourceMissing, StateConflict
from systems.tests.checks.check_items import NOON
from systems.tests.checks.services import do, draft, fail_at_every_call, interfere, race


def add_user_with_everything(services, name):
    """A user who has one of everything."""
    new = services.sign_up(name)
    userid = new.user.userid
    do(services.channels.verify(new.token))
    do(services.keys.add(userid, "more"))
    do(services.channels.add(userid, "WEBHOOK", f"https://{name}.example/hook"))
    first, second = services.add(userid, 2)
    services.run(userid, first, "uddd")  # results, an incident and an alert
    do(services.checks.pause(userid, second))
    day = NOON.date()
    services.db.create(RollupItem(checkid=first, day=day, rollup={"up": 1}, expires_at=NOON.replace(year=2030))).run()
    do(services.pages.publish(userid, f"page-{name}", PageContent(title=name, checks=[first])))
    return userid, first


def test_deletion_removes_everything_the_user_owns_and_nothing_else(services):
    bob, _ = add_user_with_everything(services, "bob")
    before = services.stored("USER"), services.stored("CHECK", "checks-history")
    ann, first = add_user_with_everything(services, "ann")
    kinds = {
        key.split("/")[1].split("#")[0] for key in services.stored("CHECK", "checks-history") if key.startswith(first)
    }
    assert kinds == {"CHECK", "RESULT", "ROLLUP", "INCIDENT", "ALERT"}
    do(services.users.delete(ann))
    assert (services.stored("USER"), services.stored("CHECK", "checks-history")) == before
    with pytest.raises(ResourceMissing):
        do(services.users.delete(ann))
    assert do(services.users.find(bob)).check_count == 2


def test_what_was_the_users_is_free_again(services):
    ann, _ = add_user_with_everything(services, "ann")
    do(services.users.delete(ann))
    again, first = add_user_with_everything(services, "ann")
    assert again != ann
    assert do(services.pages.find("page-ann")).checks == [first]


def test_a_deletion_cut_short_anywhere_is_completed_by_another(services):
    def prepare(calls):
        return add_user_with_everything(services, f"u{calls}")[0]

    def resolved(_userid):
        assert (services.stored("USER"), services.stored("CHECK", "checks-history")) == ([], [])

    assert fail_at_every_call(services, prepare, _delete, resolved) > 20


async def _delete(services, userid):
    """Delete a user, unless the deletion that was cut short was complete."""
    if await services.db.user(userid) is not None:
        await services.users.delete(userid)


def test_who_is_being_deleted_has_no_keys_and_gets_nothing_new(services):
    new = services.sign_up()
    userid = new.user.userid
    (checkid,) = services.add(userid)
    services.db.close(new.user, updated_at=NOON).run()
    for attempt in (
        lambda: services.checks.create(userid, draft()),
        lambda: services.keys.add(userid, "more"),
        lambda: services.checks.run_now(userid, checkid),
        lambda: services.keys.authenticate(new.key),
    ):
        with pytest.raises(AccountSuspended):
            do(attempt())
    with pytest.raises(StateConflict):
        do(services.users.reinstate(userid))
    do(services.users.delete(userid))
    with pytest.raises(ApiKeyInvalid):
        do(services.keys.authenticate(new.key))


def test_deleting_a_user_many_times_at_once_deletes_them_once(services):
    ann, _ = add_user_with_everything(services, "ann")
    race(5, lambda _: services.users.delete(ann))
    assert (services.stored("USER"), services.stored("CHECK", "checks-history")) == ([], [])


def test_a_deletion_that_another_process_begins_at_the_same_moment_is_not_a_conflict(services):
    ann, _ = add_user_with_everything(services, "ann")

    async def close_too():
        await services.db.close(await services.db.user(ann).required(), updated_at=NOON)

    do(interfere(services, close_too, "UpdateItem").users.delete(ann))
    assert (services.stored("USER"), services.stored("CHECK", "checks-history")) == ([], [])


def test_what_waits_to_be_sent_goes_with_its_check(services):
    ann, first = add_user_with_everything(services, "ann")
    (alert,) = services.db.alerts(first).run()
    assert type(alert) is Waiting
    do(services.users.delete(ann))
    assert services.db.alerts(first).run() == []
