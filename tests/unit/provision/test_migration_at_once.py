"""A move copies and switches at once, where no other process writes: whatever happens, nothing is lost or replaced."""

from contextlib import suppress
from typing import Protocol

import orjson
import pytest
from typer.testing import CliRunner

import hashrange
from hashrange import Get, Item, Key, LocalKeys, Patterns, PlanError, Secret, Table
from hashrange.cli.app import app
from hashrange.provision import Dropped, Migration, create_tables
from tests.unit.provision.test_interrupted_job import Killed, KillingTransport

NAME = f"{__name__}:migration"
users = Table("move-users", "pk", "sk", deletion_protection=False)
notes = Table("move-notes", "pk", deletion_protection=False)
accounts = Table("move-accounts", "pk", deletion_protection=False)


class FormerKey(Item, table=users, pk="USER#{user}", sk="KEY#{number}"):
    user: Key[str]
    number: Key[str]
    secret: Secret[str]


class Profile(Item, table=users, pk="USER#{user}", sk="PROFILE"):
    """Stays where it is."""

    user: Key[str]


class FormerNote(Item, table=notes, pk="NOTE#{number}"):
    number: Key[str]
    text: str


class Former(Patterns, Protocol):
    def key(self, user: str, number: str) -> Get[FormerKey]: ...
    def profile(self, user: str) -> Get[Profile]: ...
    def note(self, number: str) -> Get[FormerNote]: ...


class ApiKey(Item, table=accounts, pk="KEY#{number}"):
    number: Key[str]
    owner: str
    secret: Secret[str]


class Note(Item, table=accounts, pk="NOTE#{number}"):
    number: Key[str]
    text: str


class Accounts(Patterns, Protocol):
    def key(self, number: str) -> Get[ApiKey]: ...
    def note(self, number: str) -> Get[Note]: ...


migration = Migration("users to accounts", source=Former, target=Accounts)


@migration.convert(FormerKey)
def convert_key(key: FormerKey) -> ApiKey:
    return ApiKey(number=key.number, owner=key.user, secret=key.secret)


@migration.convert(FormerNote)
def convert_note(note: FormerNote) -> Note | Dropped:
    return Dropped("empty") if note.text == "" else Note(number=note.number, text=note.text)


KEYS = LocalKeys.generate()


def fill(database):
    create_tables(database, Former)
    db = Former.open(database, keys=KEYS)
    db.batch([FormerKey(user="ann", number=str(number), secret=f"s{number}") for number in range(4)]).run()
    db.batch([Profile(user="ann"), FormerNote(number="1", text="tea"), FormerNote(number="2", text="")]).run()


@pytest.fixture
def source(database):
    fill(database)
    return database


def scan(database, name):
    return sorted(database.call("Scan", {"TableName": name})["Items"], key=orjson.dumps)


def read_target(database):
    db = Accounts.open(database, keys=KEYS)
    found = [db.key(str(number)).run() for number in range(6)] + [db.note(str(number)).run() for number in range(4)]
    return [item for item in found if item is not None]


MOVED_KEYS = [ApiKey(number=str(number), owner="ann", secret=f"s{number}") for number in range(4)]
EXPECTED = [*MOVED_KEYS, Note(number="1", text="tea")]


class CountingTransport:
    def __init__(self, database):
        self.database, self.calls = database, []

    def call(self, operation, request, *read):
        self.calls.append(operation)
        return self.database.call(operation, request, *read)


def test_items_are_moved_without_a_stream_and_the_source_stays(source):
    before = scan(source, "move-users")
    report = migration.open(source, keys=KEYS).move()
    assert (report.items, report.written, report.not_converted) == (6, 5, 1)
    assert read_target(source) == EXPECTED
    assert scan(source, "move-users") == before
    assert migration.open(source, keys=KEYS).phase == "switched"


def test_a_second_move_changes_nothing_and_costs_next_to_nothing(source):
    migration.open(source, keys=KEYS).move()
    Accounts.open(source, keys=KEYS).put(ApiKey(number="0", owner="ben", secret="new")).run()
    source.call("DeleteItem", {"TableName": "move-accounts", "Key": {"pk": {"S": "KEY#1"}}})
    counting = CountingTransport(source)
    assert migration.open(counting, keys=KEYS).move().items == 0
    assert sorted(counting.calls) == ["DescribeTable", "DescribeTable", "Query"]
    assert [item.number for item in read_target(source)] == ["0", "2", "3", "1"]


def test_without_a_source_nothing_is_created(database):
    run = migration.open(database, keys=KEYS)
    run.move()
    run.require_moved()
    assert database.call("ListTables", {})["TableNames"] == []


def test_a_source_table_that_does_not_exist_has_no_items(database):
    create_tables(database, users)
    Former.open(database, keys=KEYS).create(FormerKey(user="ann", number="0", secret="s0")).run()
    migration.open(database, keys=KEYS).move()
    assert read_target(database) == EXPECTED[:1]


def test_an_empty_source_is_looked_at_again_the_next_time(database):
    create_tables(database, Former)
    run = migration.open(database, keys=KEYS)
    run.move()
    run.require_moved()
    assert run.phase == "new"
    fill(database)
    run.move()
    assert read_target(database) == EXPECTED


def count_calls():
    with hashrange.open() as database:
        fill(database)
        counting = KillingTransport(database, 10_000)
        migration.open(counting, keys=KEYS).move()
        return 10_000 - counting.left


@pytest.mark.parametrize("kill_after", range(count_calls()))
def test_killed_at_any_call_it_is_completed_by_the_next_one(kill_after):
    with hashrange.open() as database:
        fill(database)
        with suppress(Killed):
            migration.open(KillingTransport(database, kill_after), keys=KEYS).move()
        Former.open(database, keys=KEYS).create(FormerNote(number="3", text="meanwhile")).run()
        run = migration.open(database, keys=KEYS)
        was_moved = run.phase == "switched"
        run.move()
        assert run.phase == "switched"
        meanwhile = [] if was_moved else [Note(number="3", text="meanwhile")]
        assert read_target(database) == [*EXPECTED, *meanwhile]


@pytest.mark.parametrize("steps", [["copy"], ["copy", "follow"]])
def test_what_the_steps_of_the_command_have_begun_is_completed(source, steps):
    for name in ("move-users", "move-notes"):
        stream = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
        source.call("UpdateTable", {"TableName": name, "StreamSpecification": stream})
    followed = Migration("users to accounts", source=Streamed, target=Accounts)
    followed.convert(StreamedKey)(convert_key)
    run = followed.open(source, keys=KEYS)
    for step in steps:
        getattr(run, step)()
    db = Streamed.open(source, keys=KEYS)
    db.put(StreamedKey(user="ann", number="0", secret="changed")).run()
    followed.open(source, keys=KEYS).move()
    assert [item.secret for item in read_target(source)] == ["changed", "s1", "s2", "s3"]


streamed = Table("move-users", "pk", "sk", stream="NEW_AND_OLD_IMAGES", deletion_protection=False)


class StreamedKey(Item, table=streamed, pk="USER#{user}", sk="KEY#{number}"):
    user: Key[str]
    number: Key[str]
    secret: Secret[str]


class Streamed(Patterns, Protocol):
    def key(self, user: str, number: str) -> Get[StreamedKey]: ...


def test_after_a_return_to_the_source_it_can_be_moved_again(source):
    run = migration.open(source, keys=KEYS)
    run.move()
    run.back()
    Former.open(source, keys=KEYS).create(FormerNote(number="3", text="later")).run()
    run.move()
    assert (run.phase, read_target(source)) == ("switched", [*EXPECTED, Note(number="3", text="later")])


# ── what cannot be moved ─────────────────────────────────────────────────────────────────────────────────────────────
def damage(database):
    item = {"pk": {"S": "NOTE#9"}, "number": {"S": "9"}}
    database.call("PutItem", {"TableName": "move-notes", "Item": item})


def test_a_damaged_item_is_named_before_anything_is_written(source):
    damage(source)
    with pytest.raises(PlanError) as caught:
        migration.open(source, keys=KEYS).move()
    assert "1 could not be converted. The first: pk='NOTE#9' in move-notes" in str(caught.value)
    assert "leave them in the source as they are: move(leave_failed=True)" in str(caught.value)
    assert "move-accounts" not in source.call("ListTables", {})["TableNames"]


def test_a_damaged_item_can_be_left_in_the_source(source):
    damage(source)
    report = migration.open(source, keys=KEYS).move(leave_failed=True)
    assert (report.failed, report.written, bool(report)) == (1, 5, False)
    assert read_target(source) == EXPECTED
    assert "move-notes" in report.failures[0]


def test_with_other_keys_nothing_is_moved(source):
    with pytest.raises(PlanError, match=r"4 could not be converted\. The first: .*The value was sealed with key"):
        migration.open(source, keys=LocalKeys.generate()).move()
    migration.open(source, keys=KEYS).move()
    assert read_target(source) == EXPECTED


def test_two_items_that_become_the_same_one_are_named_and_not_moved(source):
    Former.open(source, keys=KEYS).create(FormerKey(user="ben", number="1", secret="x")).run()
    with pytest.raises(PlanError, match=r"USER#\w+, sk KEY#1\) and .*KEY#1\) both become move-accounts \(pk KEY#1\)"):
        migration.open(source, keys=KEYS).move()
    report = migration.open(source, keys=KEYS).move(leave_failed=True)
    assert (report.collided, report.written) == (1, 4)
    assert read_target(source) == [EXPECTED[0], *EXPECTED[2:]]
    assert Accounts.open(source, keys=KEYS).key("1").run() is None


def test_what_a_program_has_written_to_the_target_is_neither_replaced_nor_deleted(source):
    create_tables(source, Accounts)
    db = Accounts.open(source, keys=KEYS)
    mine = [ApiKey(number="0", owner="ben", secret="mine"), ApiKey(number="5", owner="ben", secret="mine too")]
    db.batch(mine).run()
    with pytest.raises(PlanError) as caught:
        migration.open(source, keys=KEYS).move()
    assert "1 differing: move-accounts (pk KEY#0); 1 surplus: move-accounts (pk KEY#5)" in str(caught.value)
    assert "leave them in the target as they are: move(keep_differences=True)" in str(caught.value)
    assert migration.open(source, keys=KEYS).phase == "new"
    migration.open(source, keys=KEYS).move(keep_differences=True)
    assert read_target(source) == [mine[0], *EXPECTED[1:4], mine[1], EXPECTED[4]]


def test_an_error_names_the_command_and_every_option_that_is_needed(source):
    damage(source)
    command = "hashrange migrate {step} shop:accounts --target data"
    with pytest.raises(PlanError, match="move shop:accounts --target data --leave-failed --keep-diff"):
        migration.open(source, keys=KEYS, command=command).move(keep_differences=True)


def test_the_progress_goes_from_the_first_to_the_last_item_once(source):
    seen = []
    migration.open(source, keys=KEYS).move(report=lambda done, total: seen.append((done, total)))
    assert seen == sorted(seen)
    assert seen[-1] == (7, 7)


# ── where others may write ───────────────────────────────────────────────────────────────────────────────────────────
def test_where_others_may_write_the_steps_are_asked_for(source):
    command = "hashrange migrate {step} shop:accounts --target aws"
    run = migration.open(source, keys=KEYS, command=command)
    with pytest.raises(PlanError) as caught:
        run.require_moved()
    for step in ("copy", "follow", "switch"):
        assert f"hashrange migrate {step} shop:accounts --target aws" in str(caught.value)
    assert "move-accounts" not in source.call("ListTables", {})["TableNames"]
    run.move()
    run.require_moved()


def test_a_source_with_other_items_only_is_read_once(database):
    create_tables(database, Former)
    Former.open(database, keys=KEYS).create(Profile(user="ann")).run()
    migration.open(database, keys=KEYS).require_moved()
    counting = CountingTransport(database)
    migration.open(counting, keys=KEYS).require_moved()
    assert "Scan" not in counting.calls


# ── the command ──────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_command_moves_a_directory(tmp_path):
    keys = tmp_path / "keys.json"
    with hashrange.open(tmp_path / "data") as database:
        create_tables(database, Former)
        Former.open(database, keys=LocalKeys(keys)).create(FormerKey(user="ann", number="0", secret="s0")).run()
        damage(database)
    arguments = ["migrate", "move", NAME, "--target", str(tmp_path / "data"), "--keys", str(keys)]
    refused = CliRunner().invoke(app, arguments)
    assert (refused.exit_code, "--leave-failed" in refused.output) == (2, True)
    moved = CliRunner().invoke(app, [*arguments, "--leave-failed"])
    assert moved.exit_code == 1
    assert "1 item could not be converted" in moved.output
    assert "is switched." in moved.output
    assert CliRunner().invoke(app, arguments).exit_code == 0
