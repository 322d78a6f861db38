"""A database of the release before `kelifax-accounts`: everybody signs in, each mail that waits is sent once.

Also after a kill at any call, with several processes at once, half moved, and with items that cannot be read.
"""

import asyncio
import hashlib
import logging

import pytest

import hashrange
from hashrange import LocalKeys, ManualClock
from hashrange_systems.kelifax.accounts_migration import (
    FormerRecords,
    accounts_migration,
    former_records,
    move_accounts,
)
from hashrange_systems.kelifax.application import APPLICATION, PATTERNS
from hashrange_systems.kelifax.schema import KelifaxAccounts
from hashrange_systems.kelifax.system import SYSTEM
from hashrange_systems.shared.accounts.key_mark import KeysDiffer
from hashrange_systems.shared.accounts.schema import Credentials, Login, Sent, Undeliverable, Waiting
from hashrange_systems.shared.channels.outbox import make_delivery_key
from hashrange_systems.shared.epoch import from_ms, to_ms
from systems.tests.hosting import make_host
from systems.tests.kelifax.former_release import NOON, PASSWORDS, load_former
from systems.tests.kelifax.services import ANN, SITE

KEYS = LocalKeys.generate()
LEFT_AT = NOON + 90_000  # when the release wrote last
RECORDS = "kelifax-records"
LATER = {"expiresAt": {"N": "4000000000"}}
MOVED = ("ADMIN", "MAIL#")
WAITING = {"confirm-digest", "submission-received", "submission-rejected"}


class Crash(BaseException):
    """What a process sees of kill -9."""


def die():
    raise Crash


def is_former(item):
    return item["pk"]["S"] == "ADMIN" or item["sk"]["S"].startswith("MAIL#")


def scan(database, table):
    items = database.call("Scan", {"TableName": table, "ConsistentRead": True})["Items"]
    return {(item["pk"]["S"], item["sk"]["S"]): item for item in items}


def read_records(database):
    """Every record but the mark of the move."""
    return {key: item for key, item in scan(database, RECORDS).items() if key != ("MIGRATION", "accounts")}


def read_accounts(database, clock):
    """What the new table holds, with its secrets open, but the mark of the keys."""
    accounts = KelifaxAccounts.open(database, clock=clock, keys=KEYS)
    found = []
    for pk, sk in scan(database, "kelifax-accounts"):
        if sk == "LOGIN":
            found.append(accounts.login(pk.partition("#")[2]).run())
        elif sk == "CREDENTIALS":
            found.append(accounts.credentials(pk.partition("#")[2]).run())
        elif sk != "KEYS":
            found.append(accounts.message(pk.partition("#")[2], sk.partition("#")[2]).run())
    return sorted(found, key=repr)


def make_former(clock):
    """A database in memory as the former release left it, with the new table."""
    database = hashrange.open(clock=clock)
    hashrange.create_tables(database, *PATTERNS)
    load_former(database)
    return database


def expect(clock):
    """What the tables hold after the move."""
    with make_former(clock) as database:
        move_accounts(database, clock, KEYS)
        return read_records(database), read_accounts(database, clock)


def assert_moved(database, clock, expected):
    assert (read_records(database), read_accounts(database, clock)) == expected


@pytest.fixture
def clock():
    """The clock, ten seconds after the former release has written last."""
    return ManualClock(LEFT_AT + 10)


@pytest.fixture
def former(clock):
    """The database of the former release."""
    with make_former(clock) as database:
        yield database


# ── all of it is there afterwards ────────────────────────────────────────────────────────────────────────────────────
def test_admins_and_mails_are_in_the_new_table_as_they_were_and_nothing_else_has_changed(database, clock):
    hashrange.create_tables(database, *PATTERNS)
    before = {(item["pk"]["S"], item["sk"]["S"]): item for item in load_former(database, **LATER)[RECORDS]}
    move = move_accounts(database, clock, KEYS)
    assert (move.moved, move.left) == (7, [])
    assert read_records(database) == {key: item for key, item in before.items() if not is_former(item)}
    found = read_accounts(database, clock)
    kinds = [type(each) for each in found]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        Login: 2, Credentials: 2, Waiting: 3, Sent: 1, Undeliverable: 1,
    }  # fmt: skip
    stored = str(scan(database, "kelifax-accounts"))
    for account in (each for each in found if isinstance(each, Credentials)):
        item = before["ADMIN", account.owner]
        assert (account.role, account.generation) == (item["role"]["S"], int(item["generation"]["N"]))
        assert account.password_hash == item["passwordHash"]["S"]
        assert account.password_hash not in stored
    for mail in (each for each in found if isinstance(each, Waiting | Sent | Undeliverable)):
        item = before[f"PERSON#{mail.about}", f"MAIL#{mail.message_id}"]
        assert (mail.recipient, mail.topic, mail.delivery) == tuple(
            item[name]["S"] for name in ("recipient", "topic", "delivery")
        )
        assert mail.attempts == int(item["attempts"]["N"])
        assert mail.last_error == item.get("lastError", {}).get("S")
        assert to_ms(mail.expires_at) // 1000 == int(item["expiresAt"]["N"])


def test_a_directory_of_the_former_release_is_moved_at_the_start_and_goes_on(clock, tmp_path):
    """Everybody signs in with the password, sessions are over, and each mail that waits is sent once."""

    async def act():
        with hashrange.open(tmp_path / "data", clock=clock) as database:
            hashrange.create_tables(database, *PATTERNS)
            load_former(database)
            kelifax = open_application(database, clock, tmp_path)
            for name, password in PASSWORDS.items():
                admitted = await kelifax.accounts.sign_in.with_password(name, password)
                assert (await kelifax.accounts.sign_in.find(admitted.cookie)).user.name == name
            assert {each.owner: each.role for each in await kelifax.admins.list_all()} == {
                "ann": "admin",
                "bob": "moderator",
            }
            again = open_application(database, clock, tmp_path)
            for _ in range(3):
                await kelifax.outbox.send_all()
                await again.outbox.send_all()
                clock.advance(600)
            sent = [mail.notification.data["topic"] for each in (kelifax, again) for mail in each.mailbox.mails("")]
            assert sorted(sent) == sorted(WAITING)
            for each in (kelifax, again):
                await each.runtime.close()

    asyncio.run(act())


def test_hashrange_up_moves_before_anything_is_served_and_reports_how_far_it_is(former, clock, tmp_path, monkeypatch):
    monkeypatch.setattr("hashrange_systems.kelifax.accounts_migration.PAGE", 5)
    reports, records = [], len(scan(former, RECORDS))
    host = make_host(former, clock, tmp_path, base_url=SITE)
    prepare(host, lambda *report: reports.append(report))
    assert [key for key, item in read_records(former).items() if is_former(item)] == []
    assert {what for what, _, _ in reports} == {"admins and mails"}
    assert [done for _, done, _ in reports] == sorted(done for _, done, _ in reports)
    assert reports[-1][1] == records
    reports.clear()
    prepare(host, lambda *report: reports.append(report))
    assert reports == []


def test_a_move_that_is_stopped_at_a_report_is_completed_by_the_next(clock, tmp_path, monkeypatch):
    monkeypatch.setattr("hashrange_systems.kelifax.accounts_migration.PAGE", 5)

    def stop(*_report):
        raise Crash

    with make_former(clock) as database:
        host = make_host(database, clock, tmp_path, base_url=SITE)
        for _ in range(3):
            with pytest.raises(Crash):
                prepare(host, stop)
        prepare(host, lambda *_report: None)
        assert [key for key, item in read_records(database).items() if is_former(item)] == []
        assert len(scan(database, "kelifax-accounts")) == 2 * 2 + 5 + 1


def test_a_new_directory_is_marked_and_not_read_again(database, clock, tmp_path):
    hashrange.create_tables(database, *PATTERNS)
    host = make_host(database, clock, tmp_path, base_url=SITE)
    prepare(host, lambda *_report: pytest.fail("there is nothing to move"))
    assert list(scan(database, RECORDS)) == [("MIGRATION", "accounts")]


def test_a_mail_has_the_key_for_receivers_that_it_had(former, clock):
    """So that one that was sent, but not recorded as sent, is not shown twice."""
    move_accounts(former, clock, KEYS)
    (mail,) = [each for each in read_accounts(former, clock) if getattr(each, "topic", "") == "submission-received"]
    former_key = hashlib.sha256(f"{mail.about}\n{mail.message_id}".encode()).hexdigest()[:32]
    assert make_delivery_key(mail) == former_key


def test_a_rejection_that_is_undone_after_the_move_is_not_mailed(clock, tmp_path):
    async def act():
        with make_former(clock) as database:
            kelifax = open_application(database, clock, tmp_path)
            await kelifax.moderation.undo("other-kit", ANN)
            clock.advance(3600)
            await kelifax.outbox.send_all()
            sent = {mail.notification.data["topic"] for mail in kelifax.mailbox.mails("")}
            assert sent == WAITING - {"submission-rejected"}
            await kelifax.runtime.close()

    asyncio.run(act())


def test_what_has_expired_is_moved_too_so_that_it_is_erased_there(former, clock):
    clock.advance(5000 * 86_400)
    assert move_accounts(former, clock, KEYS).moved == 7


def prepare(host, report):
    assert SYSTEM.prepare is not None
    SYSTEM.prepare(host, report)


def open_application(database, clock, directory):
    return APPLICATION.open(make_host(database, clock, directory, base_url=SITE, demo=True))


# ── once ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
class CountedCalls:
    """A database that notes the operations."""

    def __init__(self, inner):
        self.inner, self.operations = inner, []

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def call(self, operation, request, *read):
        self.operations.append(operation)
        return self.inner.call(operation, request, *read)


class InterruptedAt(CountedCalls):
    """A database that does something else before or after its n-th call."""

    def __init__(self, inner, number, act, *, afterwards=False):
        super().__init__(inner)
        self.number, self.act, self.afterwards = number, act, afterwards

    def call(self, operation, request, *read):
        is_now = len(self.operations) == self.number
        if is_now and not self.afterwards:
            self.act()
        response = super().call(operation, request, *read)
        if is_now and self.afterwards:
            self.act()
        return response


def count_calls(clock):
    with make_former(clock) as database:
        calls = CountedCalls(database)
        move_accounts(calls, clock, KEYS)
    return len(calls.operations)


def test_a_second_move_changes_nothing_and_reads_one_item(former, clock):
    move_accounts(former, clock, KEYS)
    before = scan(former, RECORDS), scan(former, "kelifax-accounts")
    calls = CountedCalls(former)
    assert move_accounts(calls, clock, KEYS).moved == 0
    assert calls.operations == ["GetItem"]
    assert move_accounts(former, clock, KEYS, again=True).moved == 0
    after = scan(former, RECORDS), scan(former, "kelifax-accounts")
    assert after == before


@pytest.mark.parametrize("afterwards", [False, True])
def test_a_move_that_is_killed_at_any_call_is_completed_by_the_next(clock, afterwards):
    calls, expected = count_calls(clock), expect(clock)
    assert calls > 20
    for number in range(calls):
        with make_former(clock) as database:
            with pytest.raises(Crash):
                move_accounts(InterruptedAt(database, number, die, afterwards=afterwards), clock, KEYS)
            assert move_accounts(database, clock, KEYS).left == []
            assert_moved(database, clock, expected)


@pytest.mark.parametrize("afterwards", [False, True])
def test_two_processes_that_move_at_once_move_all_of_it_once(clock, afterwards):
    expected = expect(clock)
    for number in range(count_calls(clock)):
        with make_former(clock) as database:

            def move_too(database=database):
                assert move_accounts(database, clock, KEYS, again=True).left == []

            first = move_accounts(InterruptedAt(database, number, move_too, afterwards=afterwards), clock, KEYS)
            assert first.left == []
            assert_moved(database, clock, expected)


def test_a_mail_that_an_older_process_sends_meanwhile_is_not_sent_again(clock):
    """Whatever the call at which it does: what it records is moved, or it is refused, because the mail is gone."""
    key = {"pk": {"S": "PERSON#lena@example.com"}, "sk": {"S": "MAIL#confirm-digest-0ecf840579a4ac78c563e9cb"}}
    for number in range(count_calls(clock)):
        with make_former(clock) as database:
            recorded = []

            def send(database=database, recorded=recorded):
                """Record as the former release does that the mail was claimed and sent."""
                request = {
                    "TableName": RECORDS,
                    "Key": key,
                    "ConditionExpression": "attribute_exists(pk)",
                    "UpdateExpression": "SET delivery=:sent, sentAt=:at, attempts=:two REMOVE outboxShard, sendAt",
                    "ExpressionAttributeValues": {
                        ":sent": {"S": "SENT"}, ":at": {"S": "2026-01-16T13:00:20Z"}, ":two": {"N": "2"},
                    },
                }  # fmt: skip
                try:
                    database.call("UpdateItem", request)
                except hashrange.ConditionalCheckFailedException:
                    return
                recorded.append(True)

            move_accounts(InterruptedAt(database, number, send), clock, KEYS)
            move_accounts(database, clock, KEYS, again=True)
            kinds = {each.topic: type(each) for each in read_accounts(database, clock) if hasattr(each, "topic")}
            assert kinds["confirm-digest"] is (Sent if recorded else Waiting)


# ── half moved, other keys, and damaged ──────────────────────────────────────────────────────────────────────────────
def test_what_hashrange_migrate_has_copied_is_moved_once_and_as_it_is_now(former, clock):
    expected = expect(clock)
    plan = hashrange.provision.plan(former, former_records)
    hashrange.provision.apply(former, plan)
    run = accounts_migration.open(former, keys=KEYS)
    preview = run.preview()
    assert (preview.items, preview.failed) == (7, 0)
    run.copy()
    run.switch()
    assert read_accounts(former, clock) == expected[1]
    records = FormerRecords.open(former, clock=clock)
    (mail,) = [each for each in records.mails().run() if each.topic == "confirm-digest"]
    sent = {"delivery": {"S": "SENT"}, "sentAt": {"S": "2026-01-16T13:00:20Z"}}
    item = scan(former, RECORDS)[f"PERSON#{mail.address}", f"MAIL#{mail.message_id}"]
    waiting = {"outboxShard", "sendAt", "delivery"}
    put(former, {name: value for name, value in item.items() if name not in waiting} | sent)
    assert move_accounts(former, clock, KEYS).left == []
    assert read_records(former) == expected[0]
    kinds = {each.topic: type(each) for each in read_accounts(former, clock) if hasattr(each, "topic")}
    assert kinds["confirm-digest"] is Sent
    assert kinds["submission-received"] is Waiting


def put(database, item, table=RECORDS):
    database.call("PutItem", {"TableName": table, "Item": item})


def test_with_other_keys_nothing_is_moved_and_the_error_says_what_to_do(clock):
    for number in range(6, count_calls(clock), 6):
        with make_former(clock) as database:
            with pytest.raises(Crash):
                move_accounts(InterruptedAt(database, number, die), clock, KEYS)
            before = scan(database, RECORDS), scan(database, "kelifax-accounts")
            with pytest.raises(KeysDiffer, match="set KELIFAX_KEYS to it"):
                move_accounts(database, clock, LocalKeys.generate())
            after = scan(database, RECORDS), scan(database, "kelifax-accounts")
            assert after == before


def test_a_process_whose_keys_end_with_it_moves_nothing(former, clock):
    before = scan(former, RECORDS)
    open_application(former, clock, None)
    assert scan(former, RECORDS) == before


@pytest.mark.parametrize(
    ("key", "damage"),
    [
        (("ADMIN", "bob"), {"role": {"S": "king"}}),
        (("ADMIN", "bob"), {"createdAt": {"S": "yesterday"}}),
        (("PERSON#zoe@techcorp.com", "MAIL#submission-approved-a22ed705b51a17f004988d30"), {"attempts": {"S": "x"}}),
        (("PERSON#lena@example.com", "MAIL#confirm-digest-0ecf840579a4ac78c563e9cb"), {"delivery": {"S": "LOST"}}),
        (("PERSON#lena@example.com", "MAIL#confirm-digest-0ecf840579a4ac78c563e9cb"), {"recipient": None}),
    ],
)
def test_an_item_that_cannot_be_read_stays_is_named_and_harms_nobody_else(clock, tmp_path, caplog, key, damage):
    with make_former(clock) as database:
        item = {name: value for name, value in (scan(database, RECORDS)[key] | damage).items() if value is not None}
        put(database, item)
        with caplog.at_level(logging.WARNING):
            kelifax = open_application(database, clock, tmp_path)
        assert [text for text in caplog.messages if f"{RECORDS} {' '.join(key)}" in text]
        assert read_records(database)[key] == item
        assert [each for each, stored in read_records(database).items() if is_former(stored)] == [key]
        admitted = asyncio.run(kelifax.accounts.sign_in.with_password("ann", PASSWORDS["ann"]))
        assert admitted.cookie


def test_an_account_of_the_same_name_is_kept_and_the_former_one_is_named(former, clock):
    accounts = KelifaxAccounts.open(former, clock=clock, keys=KEYS)
    new = Credentials(owner="bob", created_at=from_ms(clock.millis()), password_hash="another", role="admin")
    accounts.create(new).run()
    accounts.create(Login(name="bob", owner="bob", created_at=from_ms(clock.millis()))).run()
    move = move_accounts(former, clock, KEYS)
    assert (move.moved, move.left) == (6, [f"{RECORDS} ADMIN bob: there is another account of this name already"])
    assert accounts.credentials("bob").run().password_hash == "another"
