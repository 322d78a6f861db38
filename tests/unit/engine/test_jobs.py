"""Long work in slices: indexes filled and cleared, tables purged, while requests go on; it survives being cut off."""

import random
import signal
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

from hashrange.core.errors import InternalServerError
from hashrange.engine.jobs import ROWS_PER_SLICE
from tests.conformance.table import define_index
from tests.conformance.wire import item
from tests.unit.engine.local import Local
from tests.unit.engine.reference_table import ReferenceTable

ROOT = Path(__file__).parents[3]
ITEMS = 2_000
INDEX = ("g:S / n:N", ["x"])
UPDATE = {
    "TableName": "tab",
    "AttributeDefinitions": [
        {"AttributeName": "g", "AttributeType": "S"},
        {"AttributeName": "n", "AttributeType": "N"},
    ],
    "GlobalSecondaryIndexUpdates": [{"Create": define_index("late", INDEX)}],
}
REMOVE = {"TableName": "tab", "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "late"}}]}


def make_attributes(number):
    """Attributes of which some put an item into the index, some leave it out, and some cannot be its key."""
    g = ["one", "two", "three", 7, None][number % 5]
    return {"n": number % 50 - 25, "x": f"x{number % 9}", "y": "unseen"} | ({} if g is None else {"g": g})


def fill(local, many=ITEMS):
    """Put items into a new table, and into a reference one with the index that is to come."""
    local.create()
    local.reference = ReferenceTable("pk:S", {"late": INDEX})
    for number in range(many):
        put(local, f"k{number}", **make_attributes(number))
    return local


def put(local, pk, **attributes):
    local.put(pk=pk, **attributes)
    local.reference.put(item(pk=pk, **attributes))


def delete(local, pk):
    local.delete(pk=pk)
    local.reference.delete(item(pk=pk))


def retouch(local, pk):
    """Change an attribute that no index knows."""
    local.set({"pk": pk}, y="touched")
    local.reference.update(item(pk=pk), item(y="touched"), set())


def move(local, pk, n):
    """Change an attribute of the index key."""
    local.set({"pk": pk}, n=n)
    local.reference.update(item(pk=pk), item(n=n), set())


@pytest.fixture
def filled(local):
    return fill(local)


def describe_index(local):
    (index,) = local.describe()["GlobalSecondaryIndexes"]
    return index


def assert_index_is_right(local):
    index = describe_index(local)
    assert index["IndexStatus"] == "ACTIVE"
    assert (index["ItemCount"], index["IndexSizeBytes"]) == local.reference.count("late")
    assert local.items(index="late") == local.reference.entries("late")
    described = local.describe()
    assert (described["ItemCount"], described["TableSizeBytes"]) == local.reference.count()


def count_filled(local, column=0):
    return local.engine.store.execute(f"SELECT count(*) FROM t1 WHERE g{column} IS NOT NULL").fetchone()[0]


def jobs_left(local):
    return [row[0] for row in local.engine.store.execute("SELECT kind FROM job ORDER BY id")]


# -- filling an index -------------------------------------------------------------------------------------------------


def test_an_index_is_filled_a_slice_at_a_time(filled):
    filled.call("UpdateTable", **UPDATE)
    before, steps = count_filled(filled), 0
    assert before == 0
    while describe_index(filled)["IndexStatus"] == "CREATING":
        assert filled.engine.maintain() == 0
        after, steps = count_filled(filled), steps + 1
        assert before <= after <= before + ROWS_PER_SLICE
        before = after
    assert steps >= ITEMS / ROWS_PER_SLICE
    assert_index_is_right(filled)
    assert jobs_left(filled) == []


def test_an_index_is_filled_even_if_items_never_stop_coming(filled):
    filled.call("UpdateTable", **UPDATE)
    for step in range(ITEMS // ROWS_PER_SLICE + 2):
        put(filled, f"new{step}", g="one", n=step)
        filled.engine.maintain()
    assert_index_is_right(filled)


def test_an_index_of_a_small_table_is_there_at_once(local):
    fill(local, many=100)
    local.call("UpdateTable", **UPDATE)
    assert_index_is_right(local)


def test_an_index_that_is_being_filled_cannot_be_read(filled):
    filled.call("UpdateTable", **UPDATE)
    filled.engine.maintain()
    refusal = "ValidationException: Cannot read from backfilling global secondary index: late"
    assert filled.refusal("Scan", TableName="tab", IndexName="late") == refusal
    query = {"KeyConditionExpression": "g = :g", "ExpressionAttributeValues": {":g": {"S": "one"}}}
    assert filled.refusal("Query", TableName="tab", IndexName="late", **query) == refusal
    filled.engine.finish_jobs()
    found = filled.call("Query", TableName="tab", IndexName="late", **query)
    assert found["Count"] == len([1 for entry in filled.reference.entries("late") if entry["g"] == {"S": "one"}])


@pytest.mark.parametrize("seed", range(3))
def test_writes_between_the_slices_end_up_in_the_index_once(filled, seed):
    chance, fresh = random.Random(seed), count()
    writes = (
        lambda: put(filled, f"new{next(fresh)}", **make_attributes(chance.choice([0, 1, 2, 4]))),
        lambda: put(filled, f"k{chance.randrange(ITEMS)}", g="moved", n=chance.randrange(9)),
        lambda: put(filled, f"k{chance.randrange(ITEMS)}", y="left"),
        lambda: delete(filled, f"k{chance.randrange(ITEMS)}"),
        lambda: retouch(filled, chance.choice(sorted(pk for (pk,) in filled.reference.items))),
        lambda: move(filled, f"k{chance.randrange(ITEMS)}", chance.randrange(9)),
    )
    filled.call("UpdateTable", **UPDATE)
    while describe_index(filled)["IndexStatus"] == "CREATING":
        for _ in range(25):
            chance.choice(writes)()
        filled.engine.maintain()
    assert_index_is_right(filled)


def test_filling_goes_on_after_reopening(on_disk):
    fill(on_disk)
    on_disk.call("UpdateTable", **UPDATE)
    for _ in range(3):
        on_disk.engine.maintain()
    half = count_filled(on_disk)
    on_disk.reopen()
    assert 0 < count_filled(on_disk) == half
    put(on_disk, "between", g="one", n=1)
    on_disk.engine.finish_jobs()
    assert_index_is_right(on_disk)


def test_filling_survives_kill_9(tmp_path):
    program = """
import os, signal, sys
from pathlib import Path
from tests.unit.engine.local import Local
from tests.unit.engine.test_jobs import UPDATE, delete, fill, put
local = fill(Local(Path(sys.argv[1])))
local.call("UpdateTable", **UPDATE)
for _ in range(4):
    local.engine.maintain()
put(local, "late", g="one", n=1)
delete(local, "k1")
local.engine.begin()
local.engine.jobs._step()  # a slice that is not committed
os.kill(os.getpid(), signal.SIGKILL)
"""
    process = subprocess.run([sys.executable, "-c", program, tmp_path], cwd=ROOT, capture_output=True, check=False)
    assert process.returncode == -signal.SIGKILL, process.stderr.decode()
    local = Local(tmp_path)
    local.reference = ReferenceTable("pk:S", {"late": INDEX})
    for found in local.items():
        local.reference.put(found)
    assert len(local.reference.items) == ITEMS
    assert describe_index(local)["IndexStatus"] == "CREATING"
    assert 0 < count_filled(local) < ITEMS / 2
    local.engine.finish_jobs()
    assert_index_is_right(local)
    local.close()


def test_a_slice_that_fails_is_undone_and_done_again(on_disk):
    fill(on_disk)
    on_disk.call("UpdateTable", **UPDATE)
    on_disk.engine.maintain()
    done = count_filled(on_disk)
    on_disk.engine.store.connection.set_commit_hook(lambda: True)
    with pytest.raises(InternalServerError):
        on_disk.engine.maintain()
    on_disk.engine.store.connection.set_commit_hook(None)
    assert count_filled(on_disk) == done
    on_disk.engine.finish_jobs()
    assert_index_is_right(on_disk)


def test_an_index_given_up_and_made_again_while_it_was_being_filled_is_filled_from_the_start(filled):
    filled.call("UpdateTable", **UPDATE)
    for _ in range(4):
        filled.engine.maintain()
    filled.call("UpdateTable", **REMOVE)
    filled.call("UpdateTable", **UPDATE)
    while describe_index(filled)["IndexStatus"] == "CREATING":
        filled.engine.maintain()
    assert_index_is_right(filled)
    filled.engine.finish_jobs()
    assert_index_is_right(filled)
    assert jobs_left(filled) == []


# -- columns ----------------------------------------------------------------------------------------------------------


def column_of(local, name):
    return local.engine.catalog.find("tab").indexes_by_name[name].column


def test_the_column_of_a_removed_index_is_cleared_in_slices_and_used_again(filled):
    filled.call("UpdateTable", **UPDATE)
    filled.engine.finish_jobs()
    column, left = column_of(filled, "late"), count_filled(filled)
    filled.call("UpdateTable", **REMOVE)
    assert "GlobalSecondaryIndexes" not in filled.describe()
    while jobs_left(filled):
        filled.engine.maintain()
        assert count_filled(filled, column) >= left - ROWS_PER_SLICE
        left = count_filled(filled, column)
    assert left == 0
    filled.call("UpdateTable", **UPDATE)
    assert column_of(filled, "late") == column
    filled.engine.finish_jobs()
    assert_index_is_right(filled)


def test_a_column_that_is_being_cleared_is_not_used(filled):
    filled.call("UpdateTable", **UPDATE)
    filled.engine.finish_jobs()
    column = column_of(filled, "late")
    filled.call("UpdateTable", **REMOVE)
    filled.engine.maintain()
    put(filled, "between", g="one", n=1)
    filled.call("UpdateTable", **UPDATE)
    assert column_of(filled, "late") != column
    filled.engine.finish_jobs()
    assert_index_is_right(filled)
    assert count_filled(filled, column) == 0


def test_a_table_can_get_more_indexes_than_it_has_slots_to_spare(local):
    local.create(gsi={"first": "a0:S"})
    local.put(pk="x", **{f"a{number}": "v" for number in range(12)})
    for number in range(1, 12):
        name = f"a{number}"
        local.call(
            "UpdateTable",
            TableName="tab",
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"}],
            GlobalSecondaryIndexUpdates=[{"Create": define_index(f"by-{name}", f"{name}:S")}],
        )
    local.put(pk="y", **{f"a{number}": "w" for number in range(12)})
    indexes = local.describe()["GlobalSecondaryIndexes"]
    assert [index["ItemCount"] for index in indexes] == [2] * 12
    assert len({column_of(local, index["IndexName"]) for index in indexes}) == 12
    assert all(len(local.items(index=index["IndexName"])) == 2 for index in indexes)


# -- purging ----------------------------------------------------------------------------------------------------------


def physical_tables(local):
    found = local.engine.store.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 't[0-9]*'")
    return [name for (name,) in found]


def test_a_large_table_is_gone_at_once_and_its_rows_go_in_slices(filled):
    filled.call("DeleteTable", TableName="tab")
    assert filled.call("ListTables") == {"TableNames": []}
    filled.create(gsi={"late": INDEX})  # the name is free
    filled.put(pk="new", g="one", n=1)
    left, steps = ITEMS, 0
    while "t1" in physical_tables(filled):
        filled.engine.maintain()
        steps += 1
        if "t1" in physical_tables(filled):
            (now,) = filled.engine.store.execute("SELECT count(*) FROM t1").fetchone()
            assert now >= left - ROWS_PER_SLICE
            left = now
    assert steps >= ITEMS / ROWS_PER_SLICE
    assert jobs_left(filled) == []
    assert filled.items() == filled.items(index="late") == [item(pk="new", g="one", n=1)]


def test_purging_goes_on_after_reopening(on_disk):
    fill(on_disk)
    on_disk.call("DeleteTable", TableName="tab")
    on_disk.engine.maintain()
    on_disk.reopen()
    assert physical_tables(on_disk) == ["t1"]
    on_disk.engine.finish_jobs()
    assert physical_tables(on_disk) == []
    assert jobs_left(on_disk) == []


def test_the_jobs_of_a_deleted_table_do_not_touch_the_next_one(local):
    """Numbers of tables are used again: a job left behind would clear the columns of a stranger."""
    for name in ("tab", "other"):
        local.create(name=name, gsi={"late": "n:N"})
        local.put_many(1_100, name)
        local.call("UpdateTable", **REMOVE | {"TableName": name})
    for name in ("tab", "other"):
        for number in range(1_100):
            local.delete(name, pk=f"k{number}")
        local.call("DeleteTable", TableName=name)
    local.create(gsi={"late": "n:N"})
    local.put_many(50)
    local.engine.finish_jobs()
    assert len(local.items(index="late")) == 50
