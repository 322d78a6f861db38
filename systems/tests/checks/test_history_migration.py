"""A database of the release before `checks-history`: all of its history is in the new table, and nothing else changes.

Also after a kill at any call, with several processes at once, half moved, and with items that cannot be read.
"""

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from typer.testing import CliRunner

import hashrange
from hashrange import ManualClock, PlanError, ProvisionedThroughputExceededException, SystemClock
from hashrange_systems.checks.cli import app
from hashrange_systems.checks.cli.migrate_command import ProgressPrinter
from hashrange_systems.checks.history_migration import history_migration, move_history
from hashrange_systems.checks.history_schema import Ended, Ongoing, Run
from hashrange_systems.checks.schema import Checks
from hashrange_systems.checks.service.history import History
from hashrange_systems.checks.system import SYSTEM
from hashrange_systems.shared.epoch import DAY_MS, to_ms
from systems.tests.checks.check_items import NOON, TABLES, to_wire
from systems.tests.checks.former_release import LEFT_AT, make_former_directory, read_former_items
from systems.tests.checks.services import Crash, ServiceSet, do
from systems.tests.hosting import make_host

FORMER = read_former_items()
HISTORY = ("RESULT#", "ROLLUP#", "INCIDENT#")
CHECKID = next(item["PK"]["S"] for item in FORMER["CHECK"] if item["SK"]["S"].startswith("ROLLUP#"))
USERID = next(item["userid"]["S"] for item in FORMER["CHECK"] if item["PK"]["S"] == CHECKID and "userid" in item)
MARK = ("HISTORY", "HISTORY")


def read(database):
    """Every item, by table and key."""
    return {name: {key_of(item): item for item in scan(database, name)} for name in TABLES}


def scan(database, name):
    return database.call("Scan", {"TableName": name, "ConsistentRead": True})["Items"]


def key_of(item):
    return item["PK"]["S"], item["SK"]["S"]


def is_history(item):
    return item["SK"]["S"].startswith(HISTORY)


def fill(database):
    for name, items in FORMER.items():
        for item in items:
            put(database, item, name)


def put(database, item, table="CHECK"):
    database.call("PutItem", {"TableName": table, "Item": item})


def expect():
    """What the database holds after the move."""
    checks = {key_of(item): item for item in FORMER["CHECK"]}
    moved = {key: item for key, item in checks.items() if is_history(item)}
    return {
        "USER": {key_of(item): item for item in FORMER["USER"]},
        "CHECK": {key: item for key, item in checks.items() if key not in moved},
        "checks-history": moved,
    }


def read_moved(database):
    """Every item but the mark of the move."""
    found = read(database)
    found["checks-history"].pop(MARK, None)
    return found


@pytest.fixture
def clock():
    """The clock, two hours after the former release has written last."""
    return ManualClock((LEFT_AT + timedelta(hours=2)).timestamp())


@pytest.fixture
def former(database, db):
    """The database of the former release, with the new table."""
    fill(database)
    return database


@pytest.fixture
def embedded(clock):
    """The same in this process."""
    with hashrange.open(clock=clock) as opened:
        hashrange.create_tables(opened, Checks)
        fill(opened)
        yield opened


# ── all of it is there afterwards ────────────────────────────────────────────────────────────────────────────────────
def test_all_history_is_in_the_new_table_to_the_letter_and_nothing_else_has_changed(former, clock):
    move = move_history(former, clock)
    assert (move.moved, move.left) == (25, [])
    assert read_moved(former) == expect()


def test_a_second_move_changes_nothing_and_reads_one_item(former, clock):
    move_history(former, clock)
    before = read(former)
    calls = CountedCalls(former)
    assert move_history(calls, clock).moved == 0
    assert calls.operations == ["GetItem"]
    assert move_history(former, clock, again=True).moved == 0
    assert read(former) == before


def test_the_days_runs_and_incidents_of_a_check_are_those_that_the_former_release_had(former, db, clock):
    move_history(former, clock)
    services = ServiceSet(former, clock)
    history, check = History(services.db, clock), services.check(CHECKID)
    runs = do(history.runs(CHECKID, 0, clock.millis()))
    verdicts = ["UP", "UP", "DOWN", "DOWN", "RECOVERING", "UP", "UP", "DOWN", "RECOVERING", "UP"]
    assert [run.verdict for run in runs] == verdicts
    assert [type(incident) for incident in do(history.incidents(CHECKID))] == [Ended, Ended]
    yesterday, today = do(history.days(check, 2))
    assert (yesterday.rollup.down, yesterday.rollup.runs) == (120_000, 6)
    assert (today.rollup.down, today.rollup.runs) == (60_000, 4)
    stored = db.rollups(CHECKID, day=(yesterday.day, yesterday.day)).run()
    assert stored[0].rollup["down"] == 120_000


def test_a_worker_goes_on_with_the_incident_that_was_open(former, clock):
    move_history(former, clock)
    services = ServiceSet(former, clock)
    (checkid,) = [each.checkid for each in services.db.checks_of(USERID) if each.last_result["status"] == "DOWN"]
    assert [type(each) for each in services.db.incidents(checkid)] == [Ongoing]
    services.run(USERID, checkid, "uu")
    assert [type(each) for each in services.db.incidents(checkid)] == [Ended]
    assert not [item for item in scan(former, "CHECK") if is_history(item)]


def test_what_has_expired_is_moved_too_so_that_it_is_deleted_there(embedded, clock):
    clock.set((NOON + timedelta(days=5000)).timestamp())
    assert move_history(embedded, clock).moved == 25
    assert not [item for item in scan(embedded, "CHECK") if is_history(item)]


def test_an_empty_database_is_marked_and_not_read_again(database, db, clock):
    reports = []
    assert move_history(database, clock, lambda *report: reports.append(report)).moved == 0
    assert [key_of(item) for item in scan(database, "checks-history")] == [MARK]
    assert reports == [], "a new directory has nothing to say"


@pytest.mark.usefixtures("small_pages")
def test_progress_is_reported_after_each_page(embedded, clock):
    reports = []
    move_history(embedded, clock, lambda moved, total: reports.append((moved, total)))
    assert [total for _, total in reports] == [33] * 5  # with the checks and the alerts
    assert [moved for moved, _ in reports] == sorted(moved for moved, _ in reports)
    assert reports[-1][0] == 25


def test_a_move_that_is_stopped_between_two_pages_goes_on(clock):
    class Stopped(BaseException):
        """What the host raises in the report, at Ctrl-C."""

    def stop(_moved, _total):
        raise Stopped

    with make_former(clock) as database:
        with pytest.raises(Stopped):
            move_history(database, clock, stop)
        assert move_history(database, clock).left == []
        assert read_moved(database) == expect()


def test_the_command_prints_every_ten_thousand_items(capsys):
    printer = ProgressPrinter()
    for moved in range(0, 25_001, 500):
        printer.report(moved, 30_000)
    assert capsys.readouterr().err == "10,000 of about 30,000 items\n20,000 of about 30,000 items\n"


def test_the_migration_that_is_declared_makes_the_same_items(embedded, clock):
    """`hashrange migrate` is for databases that may not stop: it copies, and a start deletes what was copied."""
    embedded.call(
        "UpdateTable",
        {
            "TableName": "CHECK",
            "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        },
    )
    run = history_migration.open(embedded)
    preview = run.preview()
    assert (preview.items, preview.failed) == (25, 0)
    run.copy()
    run.switch()
    assert read_moved(embedded)["CHECK"] == {key_of(item): item for item in FORMER["CHECK"]}
    assert move_history(embedded, clock).moved == 25
    assert read_moved(embedded) == expect()


# ── interrupted, and at the same time ────────────────────────────────────────────────────────────────────────────────
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

    def __init__(self, inner, number, act, *, afterwards):
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
        move_history(calls, clock)
    return len(calls.operations)


def make_former(clock):
    opened = hashrange.open(clock=clock)
    hashrange.create_tables(opened, Checks)
    fill(opened)
    return opened


def die():
    raise Crash


@pytest.fixture
def small_pages(monkeypatch):
    """Pages of seven items, so that there are several."""
    monkeypatch.setattr("hashrange_systems.checks.history_migration.PAGE", 7)


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize("afterwards", [False, True])
def test_a_move_that_is_killed_at_any_call_is_completed_by_the_next(clock, afterwards):
    calls = count_calls(clock)
    assert calls > 20
    for number in range(calls):
        with make_former(clock) as database:
            with pytest.raises(Crash):
                move_history(InterruptedAt(database, number, die, afterwards=afterwards), clock)
            assert {key for table in read(database).values() for key in table} >= {
                key_of(item) for items in FORMER.values() for item in items
            }
            assert move_history(database, clock).left == []
            assert read_moved(database) == expect()


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize("afterwards", [False, True])
def test_two_processes_that_move_at_once_move_all_of_it_once(clock, afterwards):
    for number in range(count_calls(clock)):
        with make_former(clock) as database:

            def move_too(database=database):
                assert move_history(database, clock, again=True).left == []

            first = move_history(InterruptedAt(database, number, move_too, afterwards=afterwards), clock)
            assert first.left == []
            assert read_moved(database) == expect()


def test_an_incident_that_an_older_process_ends_meanwhile_is_not_lost(embedded, clock):
    """Whatever the call at which it ends: it is in one of the tables as it ended, and moved by `again`."""
    opened = next(item for item in FORMER["CHECK"] if "INCIDENT#" in item["SK"]["S"] and "endedAt" not in item)
    ended = opened | {"endedAt": {"S": "2026-01-16T14:00:00.000Z"}}
    for number in range(count_calls(clock)):
        with make_former(clock) as database:
            move_history(InterruptedAt(database, number, lambda: put(database, ended), afterwards=False), clock)
            move_history(database, clock, again=True)
            assert read_moved(database)["checks-history"][key_of(ended)] == ended
            assert not [item for item in scan(database, "CHECK") if is_history(item)]


class Throttled(CountedCalls):
    """A database that processes one member of each batch, so many times, and leaves the others."""

    def __init__(self, inner, times):
        super().__init__(inner)
        self.left = times

    def call(self, operation, request, *read):
        rest = {"BatchGetItem": "UnprocessedKeys", "BatchWriteItem": "UnprocessedItems"}.get(operation)
        if rest is None or self.left == 0:
            return super().call(operation, request, *read)
        self.left -= 1
        ((table, members),) = request["RequestItems"].items()
        keys = isinstance(members, dict)
        wanted = members["Keys"] if keys else members
        some = members | {"Keys": wanted[:1]} if keys else wanted[:1]
        response = super().call(operation, {"RequestItems": {table: some}}, *read)
        if len(wanted) > 1:
            response[rest] = {table: members | {"Keys": wanted[1:]} if keys else wanted[1:]}
        return response


def test_a_table_that_is_throttled_is_moved_whole_or_says_that_it_is_not(embedded, clock, monkeypatch):
    module = "hashrange_systems.checks.history_migration"
    monkeypatch.setattr(f"{module}.PAUSES", (0.0,) * 9)
    with pytest.raises(ProvisionedThroughputExceededException, match="start again to go on"):
        move_history(Throttled(embedded, 1000), clock)
    assert read_moved(embedded)["CHECK"] == {key_of(item): item for item in FORMER["CHECK"]}
    monkeypatch.setattr(f"{module}.PAUSES", (0.0,) * 30)
    assert move_history(Throttled(embedded, 50), clock).left == []
    assert read_moved(embedded) == expect()


# ── half moved, and damaged ──────────────────────────────────────────────────────────────────────────────────────────
def test_what_was_moved_half_or_twice_is_moved_once(former, clock):
    for number, item in enumerate(filter(is_history, FORMER["CHECK"])):
        if number % 2:
            put(former, item, "checks-history")
    move_history(former, clock)
    for item in filter(is_history, FORMER["CHECK"]):
        put(former, item)  # as a backup of the old table does that is imported
    move_history(former, clock, again=True)
    assert read_moved(former) == expect()


@pytest.mark.parametrize("ended_in", ["CHECK", "checks-history"])
def test_of_an_incident_in_both_tables_the_end_is_kept(former, db, clock, ended_in):
    going_on = Ongoing(checkid="c1", started_at=NOON)
    ended = Ended(checkid="c1", started_at=NOON, ended_at=NOON + timedelta(minutes=3))
    for table in ("CHECK", "checks-history"):
        put(former, hashrange.dump_item(ended if table == ended_in else going_on), table)
    assert move_history(former, clock).left == []
    assert db.incidents("c1").run() == [ended]
    assert not [item for item in scan(former, "CHECK") if is_history(item)]


def test_an_item_that_differs_from_the_one_in_the_new_table_is_left_and_named(former, db, clock):
    """Neither is lost: who moved a table by hand decides."""
    there, here = (Run(checkid="c1", at=NOON, result={"status": status}) for status in ("UP", "DOWN"))
    put(former, hashrange.dump_item(there), "checks-history")
    put(former, hashrange.dump_item(here))
    move = move_history(former, clock)
    assert move.moved == 25
    assert move.left == ["CHECK c1 RESULT#2026-01-15T12:00:00.000Z: another item is in checks-history"]
    assert db.runs("c1").run() == [there]
    assert hashrange.dump_item(here) in scan(former, "CHECK")


DAMAGED = {
    "a run without a result": {"SK": "RESULT#2026-01-15T12:30:00.000Z", "expiresAt": 1_900_000_000},
    "a run at no time": {"SK": "RESULT#noon", "result": {"status": "UP"}, "expiresAt": 1_900_000_000},
    "a run with a result of another program": {
        "SK": "RESULT#2026-01-15T12:31:00.000Z",
        "result": {"status": "UP", "page": "x" * 10},
        "expiresAt": 1_900_000_000,
    },
    "a roll-up of no day": {"SK": "ROLLUP#yesterday", "rollup": {}, "expiresAt": 1_900_000_000},
    "an incident that ends at no time": {
        "SK": "INCIDENT#2026-01-15T12:32:00.000Z",
        "endedAt": "soon",
        "expiresAt": 1_900_000_000,
    },
    "an incident with a long text": {
        "SK": "INCIDENT#2026-01-15T12:33:00.000Z",
        "evidence": "x" * 1001,
        "expiresAt": 1_900_000_000,
    },
}


def test_a_damaged_item_is_left_and_named_and_harms_nothing_else(former, db, clock):
    damaged = [to_wire({"PK": CHECKID} | item) for item in DAMAGED.values()]
    for item in damaged:
        put(former, item)
    move = move_history(former, clock)
    assert move.moved == 25
    assert len(move.left) == len(DAMAGED)
    for item in damaged:
        assert any(item["SK"]["S"] in named for named in move.left), item
    moved = read_moved(former)
    assert moved["checks-history"] == expect()["checks-history"]
    assert moved["CHECK"] == expect()["CHECK"] | {key_of(item): item for item in damaged}
    services = ServiceSet(former, clock)
    assert len(do(History(db, clock).days(services.check(CHECKID), 3))) == 3
    services.run(USERID, CHECKID, "d")
    do(services.checks.delete(USERID, CHECKID))
    assert db.check(CHECKID).run() is None


def test_a_damaged_item_that_was_repaired_is_moved_by_the_command_only(former, db, clock):
    broken = {"PK": "c1", "SK": "RESULT#2026-01-15T12:30:00.000Z", "expiresAt": 1_900_000_000}
    put(former, to_wire(broken))
    assert len(move_history(former, clock).left) == 1
    put(former, to_wire(broken | {"result": {"status": "UP"}}))
    assert move_history(former, clock).moved == 0
    assert move_history(former, clock, again=True).moved == 1
    assert db.runs("c1").count().run() == 1


def test_a_damaged_item_in_the_new_table_stays_and_so_does_the_one_that_would_replace_it(former, clock):
    here = next(item for item in FORMER["CHECK"] if item["SK"]["S"].startswith("RESULT#"))
    there = {"PK": here["PK"], "SK": here["SK"], "result": {"S": "no map"}}
    put(former, there, "checks-history")
    move = move_history(former, clock)
    assert (move.moved, len(move.left)) == (24, 1)
    found = read(former)
    assert (found["CHECK"][key_of(here)], found["checks-history"][key_of(here)]) == (here, there)


# ── where it happens ─────────────────────────────────────────────────────────────────────────────────────────────────
def prepare(database, report=print, *, owns_database=True):
    """Let the system prepare its data, as its host does before it serves."""
    host = make_host(database, SystemClock(), base_url="http://127.0.0.1:8002/checks")
    assert SYSTEM.prepare is not None
    SYSTEM.prepare(replace(host, owns_database=owns_database), report)


def test_the_host_lets_it_prepare_its_data_and_shows_the_progress_and_it_logs_once_what_it_left(embedded, caplog):
    put(embedded, to_wire({"PK": "c1", "SK": "RESULT#noon", "expiresAt": 1_900_000_000}))
    reports = []
    prepare(embedded, lambda *report: reports.append(report))
    assert reports == [("the history of checks", 25, 34)]
    assert read_moved(embedded)["checks-history"] == expect()["checks-history"]
    assert "RESULT#noon" in caplog.text
    caplog.clear()
    prepare(embedded, lambda *report: reports.append(report))
    assert (len(reports), caplog.text) == (1, "")


def test_what_older_processes_may_still_write_to_is_moved_by_the_command_only(embedded):
    """An older process would make the roll-up of a day from the runs that are not moved yet, and it stays so."""
    with pytest.raises(PlanError, match="End all processes of that release, then run hashrange checks migrate"):
        prepare(embedded, owns_database=False)
    assert read(embedded)["checks-history"] == {}
    move_history(embedded, SystemClock())
    prepare(embedded, owns_database=False)
    assert read_moved(embedded) == expect()


def test_a_database_of_others_without_any_history_is_marked(database, db):
    prepare(database, owns_database=False)
    assert [key_of(item) for item in scan(database, "checks-history")] == [MARK]


@pytest.fixture
def directory(tmp_path):
    """A data directory of the former release, which has no table for the history."""
    return make_former_directory(tmp_path / "data")


def run_command(*arguments):
    return CliRunner().invoke(app, [*arguments], env={"COLUMNS": "200"})


def test_a_command_on_a_directory_of_the_former_release_shows_all_of_its_history(directory):
    outcome = run_command("history", CHECKID, "--hours", "8760", "--json", "--data", str(directory))
    assert outcome.exit_code == 0, outcome.output
    shown = json.loads(outcome.stdout)
    assert (len(shown["runs"]), len(shown["incidents"])) == (10, 2)


def test_the_command_says_how_much_it_has_moved_and_names_what_it_could_not(directory):
    first = run_command("migrate", "--data", str(directory))
    assert (first.exit_code, first.stdout) == (0, "25 items moved\n")
    with hashrange.open(directory) as opened:
        put(opened, to_wire({"PK": "c1", "SK": "RESULT#noon", "expiresAt": 2**31}))
    again = run_command("migrate", "--data", str(directory))
    assert (again.exit_code, again.stdout) == (1, "0 items moved\n")
    assert again.stderr.startswith("error: 1 stay where they were:\n")
    assert "RESULT#noon" in again.stderr


def test_commands_on_a_server_say_what_moves_its_history_until_it_is_moved(server_url):
    with hashrange.connect(server_url) as remote:
        hashrange.create_tables(remote, Checks)
        for item in filter(is_history, FORMER["CHECK"]):
            put(remote, item | {"expiresAt": {"N": str(2**31)}})
        refused = run_command("list", "--target", server_url)
        assert refused.exit_code == 2
        assert "hashrange checks migrate --target" in refused.stderr
        moved = run_command("migrate", "--target", server_url)
        assert (moved.exit_code, moved.stdout) == (0, "25 items moved\n")
        assert run_command("list", "--target", server_url).exit_code == 0
        for name in TABLES:
            remote.call("UpdateTable", {"TableName": name, "DeletionProtectionEnabled": False})
            remote.call("DeleteTable", {"TableName": name})


def test_a_command_on_a_server_without_the_table_says_what_makes_it(server_url):
    with hashrange.connect(server_url) as remote:
        hashrange.create_tables(remote, Checks)
        remote.call("UpdateTable", {"TableName": "checks-history", "DeletionProtectionEnabled": False})
        remote.call("DeleteTable", {"TableName": "checks-history"})
        fill(remote)
        outcome = run_command("history", CHECKID, "--target", server_url)
        assert outcome.exit_code == 2
        assert outcome.stderr.strip().endswith(f"hashrange up --target {server_url} makes them.")
        assert "checks-history" not in remote.call("ListTables", {})["TableNames"]
        for name in ("USER", "CHECK"):
            remote.call("UpdateTable", {"TableName": name, "DeletionProtectionEnabled": False})
            remote.call("DeleteTable", {"TableName": name})


def test_the_fixture_is_of_two_days():
    times = sorted(item["SK"]["S"].partition("#")[2] for item in FORMER["CHECK"] if "RESULT#" in item["SK"]["S"])
    assert times[0].startswith("2026-01-15T12")
    assert times[-1].startswith("2026-01-16T13")
    assert to_ms(LEFT_AT) - to_ms(NOON) == DAY_MS + 7_200_000
