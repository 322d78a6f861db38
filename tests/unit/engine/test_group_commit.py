"""Groups: requests that share a commit share its outcome; nothing of a failed one is kept, and the next one works."""

import contextlib
import signal
import threading
import time
from dataclasses import replace

import pytest

from hashrange.core.errors import InternalServerError, ServiceError, StorageError
from hashrange.engine import write
from hashrange.operations import OPERATIONS
from tests.conformance.table import define_index
from tests.conformance.wire import item
from tests.unit.engine.local import Local
from tests.unit.engine.reference_table import ReferenceTable

INDEXES = {"all": "g:S", "keys": ("n:N", "KEYS_ONLY")}
GSI_CREATE = {
    "AttributeDefinitions": [{"AttributeName": "z", "AttributeType": "S"}],
    "GlobalSecondaryIndexUpdates": [{"Create": define_index("late", "z:S")}],
}


@pytest.fixture(params=["memory", "disk"])
def db(request, tmp_path):
    """A database with a table of two indexes and ten items, and the same as a reference table in `db.reference`."""
    local = Local(tmp_path / "data" if request.param == "disk" else None)
    local.create(gsi=INDEXES)
    local.reference = ReferenceTable("pk:S", INDEXES)
    for number in range(10):
        put(local, f"old{number}", g="here", n=number)
    yield local
    local.close()


def put(local, pk, **attributes):
    local.put(pk=pk, **attributes)
    local.reference.put(item(pk=pk, **attributes))


def put_request(pk, **attributes):
    return "PutItem", {"TableName": "tab", "Item": item(pk=pk, **attributes)}


def assert_agrees(local):
    """Rows, index entries and counters are those of the reference table."""
    described = local.describe()
    assert local.items() == local.reference.entries()
    assert (described["ItemCount"], described["TableSizeBytes"]) == local.reference.count()
    for index in described["GlobalSecondaryIndexes"]:
        assert local.items(index=index["IndexName"]) == local.reference.entries(index["IndexName"])
        assert (index["ItemCount"], index["IndexSizeBytes"]) == local.reference.count(index["IndexName"])


def meet(engine, requests):
    """Run the requests on a thread each, such that all of them are in one group; return answers and errors in order."""
    outcomes = [None] * len(requests)

    def run(position, name, request):
        try:
            outcomes[position] = engine.call(name, request)
        except BaseException as failure:  # noqa: BLE001 an interrupt is an outcome, too
            outcomes[position] = failure

    threads = [
        threading.Thread(target=run, args=(position, *request), daemon=True)
        for position, request in enumerate(requests)
    ]
    engine.begin()
    for thread in threads:
        thread.start()
    wait_for_waiting(engine, len(requests))
    engine.end()
    for thread in threads:
        thread.join(200)
        assert not thread.is_alive()
    return outcomes


def wait_for_waiting(engine, count):
    deadline = time.monotonic() + 200
    while len(engine._waiting) < count:
        assert time.monotonic() < deadline
        time.sleep(0.001)


@contextlib.contextmanager
def commits_counted(engine):
    commits = []
    engine.store.connection.set_commit_hook(lambda: bool(commits.append(None)))
    yield commits
    engine.store.connection.set_commit_hook(None)


@contextlib.contextmanager
def commits_failing(engine):
    """SQLite itself refuses every commit inside the block, and rolls back."""
    engine.store.connection.set_commit_hook(lambda: True)
    yield
    engine.store.connection.set_commit_hook(None)


# -- sharing ----------------------------------------------------------------------------------------------------------


def test_threads_that_wait_share_one_commit(db):
    requests = [put_request(f"new{number}", n=number) for number in range(8)]
    with commits_counted(db.engine) as commits:
        outcomes = meet(db.engine, requests)
    assert outcomes == [b"{}"] * 8
    assert len(commits) == 1
    for number in range(8):
        db.reference.put(item(pk=f"new{number}", n=number))
    assert_agrees(db)


def test_reads_alone_need_no_commit(db):
    with commits_counted(db.engine) as commits:
        meet(db.engine, [("ListTables", {}) for _ in range(4)])
    assert commits == []


def test_every_thread_sees_its_own_writes(db):
    wrong = []

    def work(worker):
        for number in range(40):
            mine = item(pk=f"w{worker}", n=number)
            db.engine.call("PutItem", {"TableName": "tab", "Item": mine})
            if db.call("GetItem", TableName="tab", Key=item(pk=f"w{worker}")) != {
                "Item": item(pk=f"w{worker}", n=number)
            }:
                wrong.append((worker, number))

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong == []
    for worker in range(6):
        db.reference.put(item(pk=f"w{worker}", n=39))
    assert_agrees(db)


def test_counting_threads_lose_no_increment(db):
    def work():
        for _ in range(30):
            db.call(
                "UpdateItem",
                TableName="tab",
                Key=item(pk="counter"),
                UpdateExpression="ADD c :one",
                ExpressionAttributeValues={":one": {"N": "1"}},
            )

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert db.call("GetItem", TableName="tab", Key=item(pk="counter"))["Item"]["c"] == {"N": "180"}


def test_a_refusal_in_a_group_hurts_nobody_else(db):
    bad = ("PutItem", {"TableName": "tab", "Item": item(nothing="here")})
    absent = ("PutItem", {"TableName": "other", "Item": item(pk="x")})
    outcomes = meet(db.engine, [put_request("a"), bad, absent, put_request("b")])
    assert (outcomes[0], outcomes[3]) == (b"{}", b"{}")
    assert [outcome.name for outcome in outcomes[1:3]] == ["ValidationException", "ResourceNotFoundException"]
    db.reference.put(item(pk="a"))
    db.reference.put(item(pk="b"))
    assert_agrees(db)


# -- failing ----------------------------------------------------------------------------------------------------------


def test_a_failed_commit_fails_everyone_in_the_group_and_leaves_nothing(db):
    requests = [put_request(f"new{number}", g="here", n=number) for number in range(4)]
    requests += [("DeleteItem", {"TableName": "tab", "Key": item(pk="old1")}), put_request("old2", g="there")]
    with commits_failing(db.engine):
        outcomes = meet(db.engine, requests)
    assert [type(outcome) for outcome in outcomes] == [InternalServerError] * 6
    assert_agrees(db)
    put(db, "next", g="here", n=99)
    assert_agrees(db)


def test_a_server_group_whose_commit_fails_is_void_and_the_next_one_works(db):
    engine = db.engine
    with commits_failing(engine):
        engine.begin()
        for name in ("a", "b"):
            engine.perform(OPERATIONS["PutItem"], put_request(name)[1])
        with pytest.raises(StorageError):
            engine.end()
    assert_agrees(db)
    engine.begin()
    engine.perform(OPERATIONS["PutItem"], put_request("c")[1])
    engine.end()
    db.reference.put(item(pk="c"))
    assert_agrees(db)


def test_a_commit_that_is_interrupted_is_acknowledged_to_nobody(db):
    def interrupt():
        raise KeyboardInterrupt

    db.engine.store.connection.set_commit_hook(interrupt)
    outcomes = meet(db.engine, [put_request(f"new{number}") for number in range(4)])
    db.engine.store.connection.set_commit_hook(None)
    assert [type(outcome) for outcome in outcomes].count(KeyboardInterrupt) == 1
    assert [type(outcome) for outcome in outcomes].count(InternalServerError) == 3
    assert_agrees(db)
    put(db, "next")
    assert_agrees(db)


def test_after_a_failure_inside_a_group_the_rest_of_it_is_refused(db):
    engine = db.engine
    page_count = engine.store.execute("PRAGMA page_count").fetchone()[0]
    engine.store.execute(f"PRAGMA max_page_count={page_count + 2}")
    engine.begin()
    engine.perform(OPERATIONS["PutItem"], put_request("small")[1])
    with pytest.raises(InternalServerError, match="full"):
        engine.perform(OPERATIONS["PutItem"], put_request("large", x="x" * 100_000)[1])
    with pytest.raises(InternalServerError, match="full"):
        engine.perform(OPERATIONS["GetItem"], {"TableName": "tab", "Key": item(pk="old1")})
    with pytest.raises(StorageError, match="full"):
        engine.end()
    engine.store.execute("PRAGMA max_page_count=1000000")
    assert_agrees(db)
    put(db, "large", x="x" * 100_000)
    assert_agrees(db)


def break_operation(local, name, run):
    local.engine.operations = {**OPERATIONS, name: replace(OPERATIONS[name], run=run)}


def test_an_operation_that_breaks_after_writing_is_undone_with_its_group(db):
    def put_and_break(engine, request):
        table = engine.catalog.find("tab")
        mine = item(pk="half", g="here", n=1)
        write.apply(engine, table, table.key_of_item(mine), None, write.make_image(table, mine, 20))
        raise KeyError("a mistake of ours")

    break_operation(db, "DeleteItem", put_and_break)
    outcomes = meet(db.engine, [put_request("a"), ("DeleteItem", {"TableName": "tab", "Key": item(pk="a")})])
    broken = outcomes[1]
    assert isinstance(broken, InternalServerError)
    assert "nothing was written" in str(broken)
    assert "Item" not in db.call("GetItem", TableName="tab", Key=item(pk="half"))
    if outcomes[0] == b"{}":  # it came later, hence into the next group
        db.reference.put(item(pk="a"))
    assert_agrees(db)


def test_an_operation_that_breaks_before_writing_hurts_nobody_else(db):
    def break_at_once(engine, request):
        raise KeyError("a mistake of ours")

    break_operation(db, "ListTables", break_at_once)
    outcomes = meet(db.engine, [put_request("a"), ("ListTables", {}), put_request("b")])
    assert isinstance(outcomes[1], KeyError)
    db.reference.put(item(pk="a"))
    db.reference.put(item(pk="b"))
    assert_agrees(db)


def test_what_a_failed_group_did_to_tables_is_undone(db):
    with commits_failing(db.engine):
        for name, request in (
            ("CreateTable", {**define_other()}),
            ("UpdateTable", {"TableName": "tab", **GSI_CREATE}),
            ("DeleteTable", {"TableName": "tab"}),
        ):
            with pytest.raises(InternalServerError):
                db.engine.call(name, request)
    assert db.call("ListTables") == {"TableNames": ["tab"]}
    assert_agrees(db)
    db.call("CreateTable", **define_other())
    db.call("UpdateTable", TableName="tab", **GSI_CREATE)
    db.call("DeleteTable", TableName="tab")
    db.engine.finish_jobs()
    assert db.call("ListTables") == {"TableNames": ["other"]}


def define_other():
    return {
        "TableName": "other",
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
    }


def test_background_work_that_breaks_off_is_undone(db):
    def write_and_break():
        db.engine.begin_transaction()
        db.engine.store.execute("DELETE FROM t1")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        db.engine.run_in_group(lambda: db.engine.run_or_roll_back(write_and_break))
    assert_agrees(db)


# -- interrupted and closed -------------------------------------------------------------------------------------------


class Interrupt(Exception):
    pass


@pytest.fixture
def interrupts():
    """SIGUSR1 raises `Interrupt` in the main thread."""

    def interrupt(*_):
        raise Interrupt

    before = signal.signal(signal.SIGUSR1, interrupt)
    yield
    signal.signal(signal.SIGUSR1, before)


def interrupt_while_waiting(engine, pause):
    """Call the engine while a thread has it, which sends the interrupt and lets go of the engine after a pause."""
    held = threading.Event()

    def hold():
        engine.begin()
        held.set()
        wait_for_waiting(engine, 1)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
        time.sleep(pause)
        engine.end()

    holder = threading.Thread(target=hold, daemon=True)
    holder.start()
    held.wait()
    with pytest.raises(Interrupt):
        engine.call(*put_request("interrupted"))
    holder.join(200)


def test_an_interrupt_while_waiting_leaves_nobody_waiting_for_ever(db, interrupts):
    interrupt_while_waiting(db.engine, pause=0.05)
    assert not db.engine._waiting
    put(db, "next")
    assert_agrees(db)


@pytest.mark.timeout(200)
def test_an_interrupt_in_the_moment_the_engine_becomes_free_leaves_it_free(interrupts):
    local = Local()  # not closed by a fixture: that would wait for an engine that nobody leaves any more
    local.create()
    for _ in range(100):
        interrupt_while_waiting(local.engine, pause=0)
        assert not local.engine._waiting
        assert not local.engine._lock.locked()
    local.close()


def test_closing_finishes_the_group_that_is_under_way(tmp_path):
    local = Local(tmp_path)
    local.create()
    outcomes = []
    local.engine._waiting.append(None)  # someone is expected, so that the writer leaves the commit to them
    writer = threading.Thread(target=lambda: outcomes.append(local.engine.call(*put_request("acknowledged"))))
    writer.start()
    deadline = time.monotonic() + 200
    while not (local.engine._group.done and not local.engine._lock.locked()):
        assert time.monotonic() < deadline
        time.sleep(0.001)
    local.close()
    writer.join(200)
    assert outcomes == [b"{}"]
    again = Local(tmp_path)
    assert again.items() == [item(pk="acknowledged")]
    again.close()


def test_a_closed_database_says_so(db):
    db.close()
    for name, request in (put_request("a"), ("GetItem", {"TableName": "tab", "Key": item(pk="a")}), ("ListTables", {})):
        with pytest.raises(StorageError, match="closed"):
            db.engine.call(name, request)
    assert db.engine.maintain() > 0  # nothing to do any more
    db.close()


def test_an_operation_nobody_serves_is_unknown(db):
    with pytest.raises(ServiceError) as caught:
        db.engine.call("PutItems", {})
    assert caught.value.name == "UnknownOperationException"
    assert caught.value.message == "hashrange does not serve the operation PutItems"
