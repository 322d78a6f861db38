"""Loading many items: the same items, indexes and counts as if each had been put; nothing at all if one is bad."""

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hashrange.core.errors import DiskFull, InternalServerError, ResourceInUseException, ServiceError
from hashrange.core.keys import FIRST_ROWID, rowid_of
from hashrange.engine import bulk_load, external_sort, read, sql, write
from tests.conformance.table import define_index
from tests.conformance.wire import item
from tests.unit.engine.local import Local
from tests.unit.engine.reference_table import ReferenceTable

ROOT = Path(__file__).parents[3]
GLOBAL = {"all": "g:S / n:N", "keys": ("n:N", "KEYS_ONLY"), "some": ("g:S", ["x"])}
LOCAL = {"local": ("pk:S / n:N", ["x"])}
KEYS = "pk:S / sk:N"
FILE, MEMORY = 1, 2  # where SQLite sorts

keys = st.builds(item, pk=st.sampled_from("ab"), sk=st.integers(0, 4))
attributes = st.fixed_dictionaries(
    {},
    optional={
        "g": st.sampled_from([{"S": "g"}, {"S": "h"}]),
        "n": st.sampled_from([{"N": "-1.5"}, {"N": "20"}]),
        "x": st.sampled_from([{"S": "some text"}, {"L": [{"BOOL": True}]}]),
        "y": st.just({"B": "AAEC"}),
    },
)
items = st.lists(st.builds(lambda key, rest: key | rest, keys, attributes), min_size=5, max_size=40)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Batches of ten, so that a few items are several commits, from runs that are as small."""
    monkeypatch.setattr(bulk_load, "BATCH", 10)
    monkeypatch.setattr(bulk_load, "ROWS_PER_RUN", 8)
    monkeypatch.setattr(external_sort, "ROWS_PER_BLOCK", 3)


def create(local, **options):
    local.create(KEYS, gsi=GLOBAL, lsi=LOCAL, **options)
    local.reference = ReferenceTable(KEYS, GLOBAL | LOCAL)
    return local


def load(local, found, stored=lambda _: None):
    """Load items; `stored` is told how many have been stored."""

    def report(phase, done, _total):
        if phase == bulk_load.STORING:
            stored(done)

    return bulk_load.load_items(local.engine, local.engine.catalog.locate("tab"), iter(found), report)


def copies(found):
    return orjson.loads(orjson.dumps(found))


def numbered(many, pk="p", start=0):
    return [item(pk=pk, sk=number, g="g", n=number, x="x" * number) for number in range(start, start + many)]


def rowids(local):
    """The row ids in the order of the table, and the keys."""
    return local.engine.store.execute("SELECT id, k FROM t1 ORDER BY id").fetchall()


def assert_agrees(local):
    described = local.describe()
    assert local.items() == local.reference.entries()
    assert (described["ItemCount"], described["TableSizeBytes"]) == local.reference.count()
    for index in described["GlobalSecondaryIndexes"] + described["LocalSecondaryIndexes"]:
        assert local.items(index=index["IndexName"]) == local.reference.entries(index["IndexName"])
        assert (index["ItemCount"], index["IndexSizeBytes"]) == local.reference.count(index["IndexName"])


def assert_empty_and_usable(local):
    local.reference.items.clear()
    assert_agrees(local)
    mine = item(pk="new", sk=1, g="g", n=1)
    local.call("PutItem", TableName="tab", Item=copies(mine))
    local.reference.put(mine)
    assert_agrees(local)


# -- what is loaded ---------------------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    before=st.just([]) | items,
    found=items,
    logged=st.booleans(),
    few_rowids=st.booleans(),
)
def test_a_table_is_the_same_as_if_every_item_had_been_put(monkeypatch, before, found, logged, few_rowids):
    for module in (read, bulk_load, write):
        monkeypatch.setattr(module, "rowid_of", choose_one_of_three if few_rowids else rowid_of)
    local = create(Local(), view="NEW_IMAGE" if logged else None)
    for each in before:
        local.call("PutItem", TableName="tab", Item=copies(each))
        local.reference.put(each)
    assert load(local, copies(found)) == len(found)
    for each in found:
        local.reference.put(each)
    assert_agrees(local)
    for each in local.items():
        key = {name: each[name] for name in ("pk", "sk")}
        assert local.call("GetItem", TableName="tab", Key=key)["Item"] == each
    local.close()


def choose_one_of_three(key):
    """One of three rowids, so that most keys collide with another."""
    return FIRST_ROWID + key[-1] % 3


def test_of_items_with_the_same_key_the_last_one_wins_over_all_batches(local):
    create(local)
    rounds = [item(pk="p", sk=number % 7, n=number) for number in range(100)]
    load(local, copies(rounds))
    for each in rounds:
        local.reference.put(each)
    assert_agrees(local)
    assert {int(each["n"]["N"]) for each in local.items()} == set(range(93, 100))


def test_rows_have_the_rowids_of_their_keys(on_disk):
    create(on_disk)
    load(on_disk, [*numbered(40), *numbered(40, pk="q"), *numbered(40, pk="r")])
    found = rowids(on_disk)
    assert len(found) == 120
    assert all(rowid == rowid_of(key) for rowid, key in found)
    assert not on_disk.engine.catalog.locate("tab").has_collisions


def test_rows_are_appended_in_the_order_of_their_rowids(local, monkeypatch):
    create(local)
    seen = []
    append = bulk_load._append
    monkeypatch.setattr(bulk_load, "_append", lambda engine, n, rows: (seen.extend(rows), append(engine, n, rows)))
    load(local, [*numbered(40), *numbered(40, pk="q")])
    assert [row[-1] for row in seen] == [rowid for rowid, _ in rowids(local)]


def test_of_keys_with_the_same_rowid_the_first_has_it_and_the_others_are_numbered(local, monkeypatch):
    create(local)
    for module in (read, bulk_load, write):
        monkeypatch.setattr(module, "rowid_of", lambda _key: FIRST_ROWID + 7)
    load(local, numbered(25))
    assert [rowid for rowid, _ in rowids(local)] == [*range(1, 25), FIRST_ROWID + 7]
    assert local.engine.catalog.locate("tab").has_collisions
    for each in numbered(25):
        local.reference.put(each)
        assert local.call("GetItem", TableName="tab", Key=item(pk="p", sk=int(each["sk"]["N"])))["Item"] == each
    assert_agrees(local)


def test_an_index_that_comes_while_items_are_read_has_them_too(local):
    local.create("pk:S")

    def found():
        yield from (item(pk=f"k{number}", g="g") for number in range(30))
        local.call(
            "UpdateTable",
            TableName="tab",
            AttributeDefinitions=[{"AttributeName": "g", "AttributeType": "S"}],
            GlobalSecondaryIndexUpdates=[{"Create": define_index("late", "g:S")}],
        )
        yield from (item(pk=f"k{number}", g="h") for number in range(30, 40))

    load(local, found())
    assert len(local.items(index="late")) == 40
    assert local.describe()["GlobalSecondaryIndexes"][0]["ItemCount"] == 40


def test_values_are_made_canonical(local):
    create(local)
    load(local, [{"pk": {"S": "p"}, "sk": {"N": "1.0e0"}, "s": {"SS": ["b", "a"]}, "n": {"N": "007"}}])
    assert local.items() == [{"pk": {"S": "p"}, "sk": {"N": "1"}, "s": {"SS": ["a", "b"]}, "n": {"N": "7"}}]


def test_a_stream_has_a_record_of_every_item(local):
    create(local, view="NEW_IMAGE")
    load(local, numbered(25))
    assert len(local.records()) == 25


def test_expiry_times_are_known_at_once(local):
    create(local)
    local.call(
        "UpdateTimeToLive",
        TableName="tab",
        TimeToLiveSpecification={"AttributeName": "expires", "Enabled": True},
    )
    load(local, [item(pk="p", sk=number, expires=local.seconds - 10 + number) for number in range(20)])
    local.engine.finish_jobs()
    assert [int(each["sk"]["N"]) for each in local.items()] == sorted(range(10, 20), key=str)


def test_an_empty_table_that_is_loaded_into_is_not_there_for_others_until_it_is_full(local):
    create(local)
    refusals = []
    load(local, numbered(25), lambda _: refusals.append(local.refusal("Scan", TableName="tab")))
    assert refusals == ["ResourceNotFoundException: Requested resource not found"] * 3
    assert len(local.items()) == 25


def test_a_table_with_items_can_be_used_while_it_is_loaded_into(local):
    create(local)
    load(local, numbered(1))
    seen = []
    load(local, numbered(25, start=1), lambda _: seen.append(len(local.items())))
    assert seen == [11, 21, 26]


# -- what goes wrong --------------------------------------------------------------------------------------------------

BAD = {
    "no key": ({"pk": {"S": "p"}}, "Missing the key sk"),
    "wrong key": ({"pk": {"N": "1"}, "sk": {"N": "1"}}, "Type mismatch for key pk"),
    "wrong index key": (item(pk="p", sk=1, g=5), "Type mismatch for Index Key g"),
    "no value": ({"pk": {"S": "p"}, "sk": {"N": "1"}, "x": {}}, "empty"),
    "plain value": ({"pk": "p", "sk": 1}, "wrong JSON type"),
    "wrong content": ({"pk": {"S": "p"}, "sk": {"N": 1}}, "wrong JSON type: NUMBER_VALUE cannot be converted"),
    "unknown type": ({"pk": {"S": "p"}, "sk": {"N": "1"}, "x": {"Q": "?"}}, "empty"),
    "no number": ({"pk": {"S": "p"}, "sk": {"N": "one"}}, "cannot be converted to a numeric value"),
    "too large": (item(pk="p", sk=1, x="x" * 409_600), "size has exceeded"),
    "too deep": ({"pk": {"S": "p"}, "sk": {"N": "1"}, "x": {"L": []}}, "nested levels"),
}
deepest = BAD["too deep"][0]["x"]
for _ in range(40):
    deepest["L"].append({"L": []})
    deepest = deepest["L"][0]


@pytest.mark.parametrize(("bad", "text"), BAD.values(), ids=BAD)
def test_an_item_that_cannot_be_stored_leaves_an_empty_table_empty(local, bad, text):
    create(local)
    with pytest.raises(ServiceError, match=text):
        load(local, [*numbered(25), copies(bad), *numbered(5, start=30)])
    assert_empty_and_usable(local)


def test_an_item_that_cannot_be_stored_leaves_a_full_table_as_it_was(local):
    create(local)
    load(local, numbered(5))
    with pytest.raises(ServiceError):
        load(local, [*numbered(25, start=5), {"pk": {"S": "p"}}])
    for each in numbered(5):
        local.reference.put(each)
    assert_agrees(local)


@pytest.mark.parametrize("present", [0, 5])
def test_an_interrupt_while_reading_leaves_the_table_as_it_was(local, present):
    create(local)
    load(local, numbered(present))

    def interrupted():
        yield from numbered(25, start=present)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load(local, interrupted())
    for each in numbered(present):
        local.reference.put(each)
    assert_agrees(local)


@pytest.mark.parametrize("present", [0, 5])
def test_an_interrupt_while_storing_leaves_an_empty_table_empty_and_a_full_one_with_the_commits_before(local, present):
    create(local)
    load(local, numbered(present))

    def interrupt(done):
        if done == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load(local, numbered(25, start=present), interrupt)
    assert len(local.items()) == local.describe()["ItemCount"] == (25 if present else 0)
    if not present:
        assert_empty_and_usable(local)


@pytest.mark.parametrize("present", [0, 5])
def test_a_full_disk_leaves_the_table_as_it_was_and_usable(on_disk, present):
    create(on_disk)
    load(on_disk, numbered(present))
    for each in numbered(present):
        on_disk.reference.put(each)
    page_count = on_disk.engine.store.execute("PRAGMA page_count").fetchone()[0]
    on_disk.engine.store.execute(f"PRAGMA max_page_count={page_count + 20}")
    large = [item(pk="p", sk=100, x="x" * 300_000)]
    with pytest.raises(InternalServerError, match="full"):
        load(on_disk, large)
    on_disk.engine.store.execute("PRAGMA max_page_count=100000")
    assert_agrees(on_disk)
    on_disk.reopen()
    on_disk.engine.finish_jobs()
    assert_agrees(on_disk)
    load(on_disk, numbered(20))
    for each in numbered(20):
        on_disk.reference.put(each)
    assert_agrees(on_disk)


@pytest.mark.parametrize("present", [0, 5])
def test_a_disk_too_full_to_sort_on_is_told_and_nothing_is_changed(on_disk, monkeypatch, present):
    create(on_disk)
    load(on_disk, numbered(present))
    monkeypatch.setattr(external_sort, "MEMORY_BYTES", 1_000)
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: open("/dev/full", "w+b"))  # noqa: PTH123, SIM115
    with pytest.raises(DiskFull, match="is full"):
        load(on_disk, numbered(50, start=5))
    for each in numbered(present):
        on_disk.reference.put(each)
    assert_agrees(on_disk)


def test_what_is_sorted_on_disk_leaves_no_file_behind(on_disk, monkeypatch):
    create(on_disk)
    monkeypatch.setattr(external_sort, "MEMORY_BYTES", 1_000)
    files = set(on_disk.directory.iterdir())
    load(on_disk, numbered(50))
    assert len(on_disk.items()) == 50
    assert set(on_disk.directory.iterdir()) == files


def test_the_indexes_are_sorted_in_files_and_all_else_in_memory(on_disk, monkeypatch):
    create(on_disk)
    kinds = []
    create_indexes = sql.create_indexes

    def watch(n, columns):
        kinds.append(on_disk.engine.store.execute("PRAGMA temp_store").fetchone()[0])
        return create_indexes(n, columns)

    monkeypatch.setattr(sql, "create_indexes", watch)
    load(on_disk, numbered(50))
    assert [*kinds, on_disk.engine.store.execute("PRAGMA temp_store").fetchone()[0]] == [FILE, MEMORY]


KILLED = """
import os, signal, sys
from pathlib import Path
from hashrange.engine import bulk_load
from tests.unit.engine.local import Local
from tests.unit.engine.test_bulk_load import create, load, numbered
bulk_load.BATCH = 10
local = create(Local(Path(sys.argv[1])))
load(local, numbered(95), lambda done: os.kill(os.getpid(), signal.SIGKILL) if done == 50 else None)
"""


@pytest.fixture
def killed(tmp_path):
    """A database whose loading was killed half-way."""
    process = subprocess.run([sys.executable, "-c", KILLED, tmp_path], cwd=ROOT, capture_output=True, check=False)
    assert process.returncode == -signal.SIGKILL, process.stderr.decode()
    local = Local(tmp_path)
    local.reference = ReferenceTable(KEYS, GLOBAL | LOCAL)
    assert local.engine.store.execute("SELECT count(*) FROM t1").fetchone() == (50,)
    yield local
    local.close()


def test_kill_9_leaves_the_table_empty_and_usable(killed):
    assert killed.refusal("Scan", TableName="tab").startswith("ResourceNotFoundException")
    killed.engine.finish_jobs()
    assert_empty_and_usable(killed)


def test_loading_again_after_kill_9_loads_everything_for_good(killed):
    load(killed, numbered(30))
    for each in numbered(30):
        killed.reference.put(each)
    assert_agrees(killed)
    killed.reopen()
    killed.engine.finish_jobs()
    assert_agrees(killed)


def test_a_table_that_is_being_restored_is_not_loaded_into(local):
    local.create()
    local.put_many(1_100)
    backup = local.call("CreateBackup", TableName="tab", BackupName="copy")["BackupDetails"]["BackupArn"]
    local.call("RestoreTableFromBackup", TargetTableName="back", BackupArn=backup)
    with pytest.raises(ResourceInUseException, match="is being restored"):
        bulk_load.load_items(local.engine, local.engine.catalog.locate("back"), iter([]))
