"""A database of the release before the accounts had a table: it is moved before a process serves; nothing is lost."""

import asyncio
import json
import threading

import pytest

import hashrange
from hashrange import LocalKeys, ManualClock
from hashrange_systems.aura import accounts_migration
from hashrange_systems.aura.accounts_migration import move_accounts
from hashrange_systems.aura.application import PATTERNS
from hashrange_systems.aura.work_schema import AuraAccounts, Work
from hashrange_systems.shared.accounts.key_mark import KeysDiffer
from hashrange_systems.shared.channels.channels import CONFIRM
from systems.tests.aura.former_release import ANN, BOB, FILE, HOOK, LEFT_AT, SECOND, WORK_TABLE, load_former
from systems.tests.aura.services import AuraServices

ACCOUNTS_TABLE = "aura-historia-accounts"
ITEMS = 15  # that are moved: 2 addresses, 3 keys, 3 channels, 6 messages and an ended session
FORMER = ("EMAIL#", "KEY#", "MESSAGE#")  # and channels and sessions in MEMBER#


class Killed(Exception):
    """The process ended."""


class KillSwitch:
    """A database that raises Killed before, or after, one of its calls."""

    def __init__(self, database, at=None, *, after=False):
        self.database, self.at, self.after, self.calls = database, at, after, 0

    def __getattr__(self, name):
        return getattr(self.database, name)

    def call(self, *request):
        self.calls += 1
        if self.calls == self.at and not self.after:
            raise Killed
        answer = self.database.call(*request)
        if self.calls == self.at:
            raise Killed
        return answer


@pytest.fixture
def clock():
    """The clock when the former release wrote last."""
    return ManualClock(LEFT_AT)


@pytest.fixture
def keyring(tmp_path):
    """The file with the keys of the former release."""
    path = tmp_path / "keys.json"
    path.write_text(json.dumps(json.loads(FILE.read_text("utf-8"))["keyring"]), "utf-8")
    path.chmod(0o600)
    return path


@pytest.fixture
def former(clock):
    """A database that the former release left."""
    with hashrange.open(clock=clock) as database:
        hashrange.create_tables(database, *PATTERNS)
        load_former(database)
        yield database


def scan(database, table):
    return {(item["pk"]["S"], item["sk"]["S"]): item for item in database.call("Scan", {"TableName": table})["Items"]}


def list_left(database):
    """The keys of what is left in the working table of the former accounts."""
    return [
        key
        for key in scan(database, WORK_TABLE)
        if key[0].startswith(FORMER) or (key[0].startswith("MEMBER#") and key[1].startswith(("CHANNEL#", "SESSION#")))
    ]


def show(database, keyring):
    """What the accounts have, with the secrets as they are: sealed texts differ each time."""
    items = scan(database, ACCOUNTS_TABLE)
    sealed = [key for key, item in items.items() if "secret" in item]
    channels = AuraAccounts.open(database, keys=LocalKeys(keyring))
    secrets = {key: channels.channel(key[0][6:], key[1][8:]).run().secret for key in sealed}
    return {
        key: {name: value for name, value in item.items() if name != "secret"} for key, item in items.items()
    }, secrets


@pytest.fixture
def expected(former, clock, keyring, tmp_path):
    """What a move that nothing interrupts ends with."""
    with hashrange.open(clock=clock) as other:
        hashrange.create_tables(other, *PATTERNS)
        load_former(other)
        assert move_accounts(other, clock, LocalKeys(keyring)).left == []
        return show(other, keyring)


def test_a_database_of_the_last_release_opens_and_every_key_signs_in(former, clock, keyring, sandbox):
    texts = json.loads(FILE.read_text("utf-8"))["apiKeys"]
    before = scan(former, WORK_TABLE)
    services = AuraServices(former, clock, sandbox, AURA_KEYS=str(keyring))

    async def act():
        found = {}
        for address, name in ((ANN, "ann"), (BOB, "bob")):
            member = await services.members.by_email(address.upper())
            assert [(await services.accounts.keys.authenticate(text)).user.member_id for text in texts[name]] == [
                member.member_id for _ in texts[name]
            ]
            for text in texts[name]:
                assert await services.accounts.sign_in.find((await services.accounts.sign_in.with_key(text)).cookie)
            channels = await services.accounts.channels.list_by_owner(member.member_id)
            found[name] = (member, {str(each.shown): each for each in channels})
        return found

    found = asyncio.run(act())
    (ann, anns), (bob, bobs) = found["ann"], found["bob"]
    assert (ann.operator, bob.operator) == (True, False)
    assert (set(anns), set(bobs)) == ({ANN, SECOND}, {HOOK})
    assert [anns[each].confirmed_at is not None for each in (ANN, SECOND)] == [True, False]
    assert bobs[HOOK].confirmed_at == bobs[HOOK].created_at, "a webhook was used without a confirmation"
    assert bobs[HOOK].secret.startswith("whsec_")
    assert bobs[HOOK].subscription == "EVERYTHING"
    assert list_left(former) == []
    stays = {key: item for key, item in before.items() if key[1] == "MEMBER" or key[0].startswith("CHANGES#")}
    assert stays.items() <= scan(former, WORK_TABLE).items()


def test_every_message_that_waits_is_sent_once_and_the_others_keep_their_state(former, clock, keyring, sandbox):
    waiting = [item for item in scan(former, WORK_TABLE).values() if item.get("sent") == {"S": "WAITING"}]
    services = AuraServices(former, clock, sandbox, AURA_KEYS=str(keyring))
    services.senders["WEBHOOK"] = services.mailbox

    async def act():
        states = []
        for address in (ANN, BOB):
            member = await services.members.by_email(address)
            states += [type(each).__name__ for each in await services.notices.list_messages(member.member_id)]
        await services.notify()  # of no change that the former release has told of
        await services.outbox.send_all()
        ann, bob = [(await services.members.by_email(each)).member_id for each in (ANN, BOB)]
        return states, services.mailbox.mails(ann), services.mailbox.mails(bob)

    states, anns, bobs = asyncio.run(act())
    assert sorted(states) == ["Sent", "Sent", "Undeliverable", "Waiting", "Waiting", "Waiting"]
    assert len(waiting) == len(anns) + len(bobs) == 3
    assert {(mail.recipient, mail.notification.subject) for mail in anns} == {
        (SECOND, "Confirm this address"),
        (ANN, "Vase 2: Price"),
    }
    (hook,) = bobs
    assert hook.notification.data["url"] == "https://a.de/2"


def test_a_change_that_the_former_release_has_told_in_part_is_told_to_nobody_twice(former, clock, keyring, sandbox):
    """It was killed between writing the messages of a change and marking it: the ids of messages are the same."""
    (told,) = [item for key, item in scan(former, WORK_TABLE).items() if key[1].endswith("#c2")]
    (new,) = [change for change in Work.open(former, clock=clock).changes_of("a.de").run() if change.change_id == "c2"]
    former.call("DeleteItem", {"TableName": WORK_TABLE, "Key": {name: told[name] for name in ("pk", "sk")}})
    fields = new.model_dump(exclude={"notified"})
    services = AuraServices(former, clock, sandbox, AURA_KEYS=str(keyring))
    before = len(scan(former, ACCOUNTS_TABLE))
    asyncio.run(tell_again(services, fields))
    assert len(scan(former, ACCOUNTS_TABLE)) == before


async def tell_again(services, fields):
    from hashrange_systems.aura.work_schema import NewChange

    await services.work.create(NewChange(**fields))
    assert await services.watches.notify_changes() == 1


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_move_that_is_killed_at_any_call_goes_on_and_ends_with_the_same_items(clock, keyring, expected, after):
    keys, at = LocalKeys(keyring), 1
    while True:
        with hashrange.open(clock=clock) as database:
            hashrange.create_tables(database, *PATTERNS)
            load_former(database)
            switch = KillSwitch(database, at, after=after)
            try:
                move_accounts(switch, clock, keys)
            except Killed:
                pass
            else:
                break
            assert move_accounts(database, clock, keys).left == []
            assert show(database, keyring) == expected, at
            assert list_left(database) == [], at
        at += 1
    assert at > 20


def test_a_second_move_changes_nothing(former, clock, keyring, expected):
    keys = LocalKeys(keyring)
    first = move_accounts(former, clock, keys)
    stored = scan(former, WORK_TABLE), scan(former, ACCOUNTS_TABLE)
    for again in (False, True):
        assert move_accounts(former, clock, keys, again=again).moved == 0
    assert first.moved == ITEMS
    assert (scan(former, WORK_TABLE), scan(former, ACCOUNTS_TABLE)) == stored
    assert show(former, keyring) == expected


def test_two_processes_that_move_at_once_end_with_the_same_items(former, clock, keyring, expected):
    found, keys = [], LocalKeys(keyring)
    threads = [
        threading.Thread(target=lambda: found.append(move_accounts(former, clock, keys, again=True))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [each.left for each in found] == [[]] * 4
    assert sum(each.moved for each in found) == ITEMS, "each item is moved by one"
    assert show(former, keyring) == expected


def test_a_message_that_was_sent_after_the_move_waits_no_more_when_a_late_process_moves(
    former, clock, keyring, sandbox
):
    """A process has read what is left, and another one has moved and sent it meanwhile."""
    late = accounts_migration.AccountMover(
        accounts_migration.FormerAccounts.open(former, clock=clock, keys=LocalKeys(keyring)),
        AuraAccounts.open(former, clock=clock, keys=LocalKeys(keyring)),
        accounts_migration.AccountMove(),
    )
    members = Work.open(former, clock=clock).members().run()
    read = {member.member_id: late.list_former(member, print) for member in members}
    services = AuraServices(former, clock, sandbox, AURA_KEYS=str(keyring))
    services.senders["WEBHOOK"] = services.mailbox
    asyncio.run(services.outbox.send_all())
    stored = scan(former, ACCOUNTS_TABLE)
    for items in read.values():
        for item in items:
            late.move_item(item)
    assert scan(former, ACCOUNTS_TABLE) == stored
    assert late.found == accounts_migration.AccountMove()


def test_another_key_is_refused_says_what_to_do_and_changes_nothing(former, clock, tmp_path, sandbox):
    before = scan(former, WORK_TABLE), scan(former, ACCOUNTS_TABLE)
    with pytest.raises(KeysDiffer, match="set AURA_KEYS") as refused:
        AuraServices(former, clock, sandbox, AURA_KEYS=str(tmp_path / "other.json"))
    assert "Nothing was changed" in str(refused.value)
    assert (scan(former, WORK_TABLE), scan(former, ACCOUNTS_TABLE)) == before


def test_after_the_move_another_key_is_refused_too(former, clock, keyring, tmp_path, sandbox):
    AuraServices(former, clock, sandbox, AURA_KEYS=str(keyring))
    with pytest.raises(KeysDiffer, match="AURA_KEYS"):
        AuraServices(former, clock, sandbox, AURA_KEYS=str(tmp_path / "other.json"))


def damage(database, prefix, **attributes):
    """Give the first item with a key of this beginning attributes of a wrong type; return its key and what it was."""
    key, item = next(
        each for each in scan(database, WORK_TABLE).items() if f"{each[0][0]} {each[0][1]}".startswith(prefix)
    )
    database.call("PutItem", {"TableName": WORK_TABLE, "Item": item | attributes})
    return key, item


def test_damaged_items_stay_are_named_and_harm_nobody_else(former, clock, keyring, expected):
    keys, wrong = LocalKeys(keyring), {"N": "1"}
    damaged = [
        damage(former, "KEY#", name=wrong),
        damage(former, "MESSAGE#", subject=wrong),
        damage(former, "EMAIL#", member_id=wrong),
        damage(former, f"MEMBER#{find_owner(former, HOOK)} CHANNEL#", target=wrong),
    ]
    found = move_accounts(former, clock, keys)
    assert found.moved == ITEMS - len(damaged)
    assert set(list_left(former)) == {key for key, _ in damaged}
    assert len(found.left) == len(damaged), found.left
    assert all(any(key[0] in text for text in found.left) for key, _ in damaged), found.left
    for _, item in damaged:
        former.call("PutItem", {"TableName": WORK_TABLE, "Item": item})
    mended = move_accounts(former, clock, keys)  # the mark names what is left: the next start tries again
    assert (mended.moved, mended.left) == (len(damaged), [])
    assert show(former, keyring) == expected


def find_owner(database, target):
    """The member of a channel."""
    (found,) = [key for key, item in scan(database, WORK_TABLE).items() if item.get("target") == {"S": target}]
    return found[0].removeprefix("MEMBER#")


def test_an_item_whose_place_is_taken_stays_and_is_named(former, clock, keyring):
    (claimed,) = [item for key, item in scan(former, WORK_TABLE).items() if key[0] == f"EMAIL#{BOB}"]
    login = {"pk": {"S": f"LOGIN#{BOB}"}, "sk": {"S": "LOGIN"}, "name": {"S": BOB}, "owner": {"S": "somebody"}}
    login["createdAt"] = {"S": "2026-01-15T12:00:00.000Z"}
    former.call("PutItem", {"TableName": ACCOUNTS_TABLE, "Item": login})
    found = move_accounts(former, clock, LocalKeys(keyring))
    assert list_left(former) == [(claimed["pk"]["S"], claimed["sk"]["S"])]
    assert len(found.left) == 1
    assert BOB in found.left[0]
    assert scan(former, ACCOUNTS_TABLE)[login["pk"]["S"], "LOGIN"] == login


def test_a_question_keeps_no_text(former, clock, keyring):
    move_accounts(former, clock, LocalKeys(keyring))
    asked = [item for item in scan(former, ACCOUNTS_TABLE).values() if item.get("topic") == {"S": CONFIRM}]
    assert [item["content"] for item in asked] == [{"M": {}}] * 2


def test_the_declared_migration_previews_the_same_items(former, keyring):
    found = accounts_migration.accounts_migration.open(former, keys=LocalKeys(keyring)).preview()
    assert found.failed == 0
    assert sum(found.outcomes.values()) == ITEMS
