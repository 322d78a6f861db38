"""What is one user's is not there for another: every method of every service is tried."""

import inspect

import pytest

from hashrange_systems.checks.errors import SlugTaken
from hashrange_systems.checks.service.check_input import CheckChanges
from hashrange_systems.checks.service.status_pages import PageContent
from hashrange_systems.shared.errors import InvalidInput, ResourceMissing
from systems.tests.checks.check_items import TABLES
from systems.tests.checks.services import do, draft

# Each service's methods that take a user's id and the name of something: called by one user for another's.
OTHERS = {
    "checks.find": lambda services, mallory, ann: services.checks.find(mallory, ann.checkid),
    "checks.edit": lambda services, mallory, ann: services.checks.edit(mallory, ann.checkid, CheckChanges(name="mine")),
    "checks.pause": lambda services, mallory, ann: services.checks.pause(mallory, ann.checkid),
    "checks.resume": lambda services, mallory, ann: services.checks.resume(mallory, ann.checkid),
    "checks.run_now": lambda services, mallory, ann: services.checks.run_now(mallory, ann.checkid),
    "checks.delete": lambda services, mallory, ann: services.checks.delete(mallory, ann.checkid),
    "keys.revoke": lambda services, mallory, ann: services.keys.revoke(mallory, ann.key_id),
    "channels.find": lambda services, mallory, ann: services.channels.find(mallory, ann.channel_id),
    "channels.resend_verification": lambda services, mallory, ann: services.channels.resend_verification(
        mallory, ann.channel_id
    ),
    "channels.remove": lambda services, mallory, ann: services.channels.remove(mallory, ann.channel_id),
    "pages.find_own": lambda services, mallory, ann: services.pages.find_own(mallory, "ann"),
    "pages.unpublish": lambda services, mallory, ann: services.pages.unpublish(mallory, "ann"),
    "pages.announce": lambda services, mallory, ann: services.pages.announce(mallory, "ann", "INFO", "Mine"),
    "pages.withdraw": lambda services, mallory, ann: services.pages.withdraw(mallory, "ann", "x"),
}
# Those that take only the user's own id, or are for operators, or for anybody; each is tried below or elsewhere.
OWN_ONLY = {
    "checks.create",
    "checks.validate",
    "checks.list_by_user",
    "checks.repair_count",
    "users.request_email",
    "keys.add",
    "keys.list_by_user",
    "channels.add",
    "channels.list_by_user",
    "pages.list_by_user",
    "pages.publish",
    "pages.unpublish_all",
}
FOR_OPERATORS = {
    "checks.by_type",
    "users.create",
    "users.find",
    "users.by_email",
    "users.page",
    "users.change_email",
    "users.change_tier",
    "users.suspend",
    "users.reinstate",
    "users.delete",
}
FOR_ANYBODY = {"keys.authenticate", "channels.verify", "pages.find", "pages.checks_on", "users.confirm_email"}


class Victim:
    """A user who has one of everything."""

    def __init__(self, services):
        self.new = services.sign_up("ann")
        self.userid = self.new.user.userid
        self.checkid = services.add(self.userid)[0]
        self.key_id = do(services.keys.list_by_user(self.userid))[0].key_id
        self.channel_id = self.new.channel.channel_id
        do(services.pages.publish(self.userid, "ann", PageContent(title="Ann", checks=[self.checkid])))
        services.clock.advance(3600)


@pytest.fixture
def ann(services):
    return Victim(services)


@pytest.fixture
def mallory(services):
    return services.sign_up("mallory").user.userid


def everything(services):
    """All that is stored."""
    scans = [services.database.call("Scan", {"TableName": table}) for table in TABLES]
    return [sorted(scan["Items"], key=str) for scan in scans]


def test_every_method_is_tried(services):
    found = {
        f"{name}.{method}"
        for name in ("users", "keys", "channels", "pages", "checks")
        for method, function in inspect.getmembers(type(getattr(services, name)), inspect.iscoroutinefunction)
        if not method.startswith("_")
    }
    assert found == OTHERS.keys() | OWN_ONLY | FOR_OPERATORS | FOR_ANYBODY


@pytest.mark.parametrize("method", OTHERS)
def test_what_is_anothers_is_not_there_and_stays_as_it_is(services, ann, mallory, method):
    before = everything(services)
    with pytest.raises(ResourceMissing) as refusal:
        do(OTHERS[method](services, mallory, ann))
    assert everything(services) == before
    assert services.target.probes == []
    assert not {ann.userid, ann.checkid, "ann@example.com"} & set(str(refusal.value).split())


@pytest.mark.parametrize("method", OTHERS)
def test_what_is_anothers_cannot_be_told_from_what_is_not(services, ann, mallory, method):
    texts = []
    for checkid, key_id, channel_id in ((ann.checkid, ann.key_id, ann.channel_id), ("nothing",) * 3):
        ann.checkid, ann.key_id, ann.channel_id = checkid, key_id, channel_id
        with pytest.raises(ResourceMissing) as refusal:
            do(OTHERS[method](services, mallory, ann))
        texts.append(str(refusal.value))
    assert texts[0] == texts[1]


@pytest.mark.parametrize("method", OTHERS)
@pytest.mark.parametrize("name", ["", "x" * 5000, "\ud800", "a\x00b", "CHECK", "#"])
def test_what_cannot_be_a_name_is_not_there(services, ann, mallory, method, name):
    ann.checkid = ann.key_id = ann.channel_id = name
    with pytest.raises(ResourceMissing):
        do(OTHERS[method](services, mallory, ann))


def test_a_users_lists_hold_what_is_theirs(services, ann, mallory):
    assert do(services.checks.list_by_user(mallory)) == []
    assert [channel.target for channel in do(services.channels.list_by_user(mallory))] == ["mallory@example.com"]
    assert {key.userid for key in do(services.keys.list_by_user(mallory))} == {mallory}
    assert do(services.checks.repair_count(mallory)) == 0


def test_a_check_cannot_be_told_to_write_to_anothers_channel(services, ann, mallory):
    with pytest.raises(InvalidInput, match="channels of yours"):
        do(services.checks.create(mallory, draft(channels=[ann.channel_id])))
    mine = do(services.checks.create(mallory, draft())).checkid
    with pytest.raises(InvalidInput, match="channels of yours"):
        do(services.checks.edit(mallory, mine, CheckChanges(channels=[ann.channel_id])))


def test_a_page_cannot_show_anothers_check_or_take_anothers_slug(services, ann, mallory):
    before = do(services.pages.find("ann"))
    with pytest.raises(InvalidInput, match="checks of yours"):
        do(services.pages.publish(mallory, "mallory", PageContent(title="Mine", checks=[ann.checkid])))
    with pytest.raises(SlugTaken):
        do(services.pages.publish(mallory, "ann", PageContent(title="Mine", checks=[])))
    assert do(services.pages.find("ann")) == before


def test_a_key_opens_only_its_own_account(services, ann, mallory):
    key = do(services.keys.add(mallory, "more")).text
    assert do(services.keys.authenticate(key)).userid == mallory
    assert do(services.keys.authenticate(ann.new.key)).userid == ann.userid


def test_what_one_user_does_to_themselves_leaves_the_other_alone(services, ann, mallory):
    services.add(mallory, 2)
    mine = [services.db.check(ann.checkid).run(), services.db.user(ann.userid).run(), do(services.pages.find("ann"))]
    do(services.users.suspend(mallory))
    do(services.users.reinstate(mallory))
    do(services.users.change_tier(mallory, "PRO"))
    do(services.users.change_email(mallory, "other@example.com"))
    do(services.users.delete(mallory))
    db = services.db
    assert mine == [db.check(ann.checkid).run(), db.user(ann.userid).run(), do(services.pages.find("ann"))]
