"""What is one user's is not there for another: every method of every service is tried."""

import inspect

import pytest

from hashrange_systems.checks.errors import NotThere, SlugTaken
from hashrange_systems.checks.model.refusal import InputRefused
from hashrange_systems.checks.service.draft import Changes
from systems.tests.checks.office import do, draft

# Each service's methods that take a user's id and the name of something: called by one user for another's.
OTHERS = {
    "ledger.find": lambda office, mallory, ann: office.ledger.find(mallory, ann.checkid),
    "ledger.edit": lambda office, mallory, ann: office.ledger.edit(mallory, ann.checkid, Changes(name="mine")),
    "ledger.pause": lambda office, mallory, ann: office.ledger.pause(mallory, ann.checkid),
    "ledger.resume": lambda office, mallory, ann: office.ledger.resume(mallory, ann.checkid),
    "ledger.run_now": lambda office, mallory, ann: office.ledger.run_now(mallory, ann.checkid),
    "ledger.delete": lambda office, mallory, ann: office.ledger.delete(mallory, ann.checkid),
    "keys.revoke": lambda office, mallory, ann: office.keys.revoke(mallory, ann.key_id),
    "channels.find": lambda office, mallory, ann: office.channels.find(mallory, ann.channel_id),
    "channels.ask_again": lambda office, mallory, ann: office.channels.ask_again(mallory, ann.channel_id),
    "channels.remove": lambda office, mallory, ann: office.channels.remove(mallory, ann.channel_id),
}
# Those that take only the user's own id, or are for operators, or for anybody; each is tried below or elsewhere.
OWN_ONLY = {
    "ledger.create",
    "ledger.of_user",
    "ledger.repair_count",
    "keys.add",
    "keys.of_user",
    "channels.add",
    "channels.of_user",
    "pages.publish",
    "pages.unpublish",
}
FOR_OPERATORS = {
    "ledger.by_type",
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
FOR_ANYBODY = {"keys.authenticate", "channels.verify", "pages.find", "pages.checks_on"}


class Victim:
    """A user who has one of everything."""

    def __init__(self, office):
        self.new = office.sign_up("ann")
        self.userid = self.new.user.userid
        self.checkid = office.add(self.userid)[0]
        self.key_id = do(office.keys.of_user(self.userid))[0].key_id
        self.channel_id = self.new.channel.channel_id
        do(office.pages.publish(self.userid, "ann", "Ann", [self.checkid]))
        office.clock.advance(3600)


@pytest.fixture
def ann(office):
    return Victim(office)


@pytest.fixture
def mallory(office):
    return office.sign_up("mallory").user.userid


def everything(office):
    """All that is stored."""
    return [sorted(office.database.call("Scan", {"TableName": table})["Items"], key=str) for table in ("USER", "CHECK")]


def test_every_method_is_tried(office):
    found = {
        f"{name}.{method}"
        for name in ("users", "keys", "channels", "pages", "ledger")
        for method, function in inspect.getmembers(type(getattr(office, name)), inspect.iscoroutinefunction)
        if not method.startswith("_")
    }
    assert found == OTHERS.keys() | OWN_ONLY | FOR_OPERATORS | FOR_ANYBODY


@pytest.mark.parametrize("method", OTHERS)
def test_what_is_anothers_is_not_there_and_stays_as_it_is(office, ann, mallory, method):
    before = everything(office)
    with pytest.raises(NotThere) as refusal:
        do(OTHERS[method](office, mallory, ann))
    assert everything(office) == before
    assert office.target.probes == []
    assert not {ann.userid, ann.checkid, "ann@example.com"} & set(str(refusal.value).split())


@pytest.mark.parametrize("method", OTHERS)
def test_what_is_anothers_cannot_be_told_from_what_is_not(office, ann, mallory, method):
    texts = []
    for checkid, key_id, channel_id in ((ann.checkid, ann.key_id, ann.channel_id), ("nothing",) * 3):
        ann.checkid, ann.key_id, ann.channel_id = checkid, key_id, channel_id
        with pytest.raises(NotThere) as refusal:
            do(OTHERS[method](office, mallory, ann))
        texts.append(str(refusal.value))
    assert texts[0] == texts[1]


@pytest.mark.parametrize("method", OTHERS)
@pytest.mark.parametrize("name", ["", "x" * 5000, "\ud800", "a\x00b", "CHECK", "#"])
def test_what_cannot_be_a_name_is_not_there(office, ann, mallory, method, name):
    ann.checkid = ann.key_id = ann.channel_id = name
    with pytest.raises(NotThere):
        do(OTHERS[method](office, mallory, ann))


def test_a_users_lists_hold_what_is_theirs(office, ann, mallory):
    assert do(office.ledger.of_user(mallory)) == []
    assert [channel.target for channel in do(office.channels.of_user(mallory))] == ["mallory@example.com"]
    assert {key.userid for key in do(office.keys.of_user(mallory))} == {mallory}
    assert do(office.ledger.repair_count(mallory)) == 0


def test_a_check_cannot_be_told_to_write_to_anothers_channel(office, ann, mallory):
    with pytest.raises(InputRefused, match="channels of yours"):
        do(office.ledger.create(mallory, draft(channels=[ann.channel_id])))
    mine = do(office.ledger.create(mallory, draft())).checkid
    with pytest.raises(InputRefused, match="channels of yours"):
        do(office.ledger.edit(mallory, mine, Changes(channels=[ann.channel_id])))


def test_a_page_cannot_show_anothers_check_or_take_anothers_slug(office, ann, mallory):
    before = do(office.pages.find("ann"))
    with pytest.raises(InputRefused, match="checks of yours"):
        do(office.pages.publish(mallory, "mallory", "Mine", [ann.checkid]))
    with pytest.raises(SlugTaken):
        do(office.pages.publish(mallory, "ann", "Mine", []))
    do(office.pages.unpublish(mallory))
    assert do(office.pages.find("ann")) == before


def test_a_key_opens_only_its_own_account(office, ann, mallory):
    key = do(office.keys.add(mallory, "more")).text
    assert do(office.keys.authenticate(key)).userid == mallory
    assert do(office.keys.authenticate(ann.new.key)).userid == ann.userid


def test_what_one_user_does_to_themselves_leaves_the_other_alone(office, ann, mallory):
    office.add(mallory, 2)
    mine = [office.db.check(ann.checkid).run(), office.db.user(ann.userid).run(), do(office.pages.find("ann"))]
    do(office.users.suspend(mallory))
    do(office.users.reinstate(mallory))
    do(office.users.change_tier(mallory, "PRO"))
    do(office.users.change_email(mallory, "other@example.com"))
    do(office.users.delete(mallory))
    assert mine == [office.db.check(ann.checkid).run(), office.db.user(ann.userid).run(), do(office.pages.find("ann"))]
