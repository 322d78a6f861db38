"""The rowid is derived from the key; rows with a collided rowid, and rows of format 1, are found as well."""

from contextlib import contextmanager
from functools import partial
from itertools import count

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hashrange.core.keys import FIRST_ROWID, KeyAttribute, KeyEncoder, rowid_of
from hashrange.engine import read, write
from hashrange.engine.data_directory import MAIN_FILE
from hashrange.engine.store import UNCHECKED_FORMAT
from tests.conformance.paging import read_all
from tests.conformance.wire import item
from tests.unit.engine.local import Local, sort_items
from tests.unit.engine.reference_table import ReferenceTable
from tests.unit.engine.test_write_random import GLOBAL, INDEXES, KEYS, LOCAL, Writer, assert_agree, histories

key_encoder = KeyEncoder((KeyAttribute("pk", "S"),), (KeyAttribute("sk", "S"),))


def key_of(pk, sk):
    key = key_encoder.encode(item(pk=pk, sk=sk))
    assert key is not None
    return key


def get(local, **key):
    return local.call("GetItem", TableName="tab", Key=item(**key)).get("Item")


def stored_ids(local):
    return [identity for (identity,) in local.engine.store.execute("SELECT id FROM t1 ORDER BY id")]


def has_collisions(local):
    return local.engine.catalog.find("tab").has_collisions


# -- the rowid of a key -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pk", "sk", "rowid"),
    [
        ("a", "b", 0x7A2D_EF84_D6EE_6162),
        ("SHOP#1", "PRODUCT#0042", 0x44F9_F67A_DAD4_3432),
        ("user", "2026-01-31T12:00:00Z", 0x6364_F59F_8AC0_305A),
    ],
)
def test_a_rowid_is_part_of_the_format_and_never_changes(pk, sk, rowid):
    assert rowid_of(key_of(pk, sk)) == rowid


@given(st.text(min_size=1), st.text(min_size=1))
def test_a_rowid_is_a_positive_number_of_64_bits_above_all_others(pk, sk):
    assert FIRST_ROWID <= rowid_of(key_of(pk, sk)) < 1 << 63


@given(st.text(min_size=1), st.integers(0, 10**6))
def test_keys_that_differ_at_the_end_alone_are_close_together_in_their_order(pk, start):
    rowids = [rowid_of(key_of(pk, f"ORDER#{start:08}{number:02}")) for number in range(100)]
    assert rowids == sorted(set(rowids))
    assert rowids[-1] - rowids[0] < 1 << 16


@given(st.text(min_size=1), st.lists(st.text(min_size=1), min_size=2))
def test_the_keys_of_a_partition_are_close_together(pk, sks):
    assert len({rowid_of(key_of(pk, sk)) >> 37 for sk in sks}) == 1


# -- two keys, one rowid ----------------------------------------------------------------------------------------------


def find_colliding_keys():
    """Two sort keys of partition `p` whose rowids are the same."""
    seen = {}
    sks = (f"{number:x}-xx" for number in count())
    return next((other, sk) for sk in sks if (other := seen.setdefault(rowid_of(key_of("p", sk)), sk)) != sk)


COLLIDING_KEYS = find_colliding_keys()


@pytest.fixture(params=["memory", "disk"])
def local(request, tmp_path):
    opened = Local(tmp_path if request.param == "disk" else None)
    opened.create("pk:S / sk:S")
    yield opened
    opened.close()


def test_two_keys_with_the_same_rowid_are_two_items(local):
    first, second = COLLIDING_KEYS
    assert rowid_of(key_of("p", first)) == rowid_of(key_of("p", second))
    local.put(pk="p", sk=first, n=1)
    assert not has_collisions(local)
    assert get(local, pk="p", sk=second) is None
    local.put(pk="p", sk=second, n=2)
    assert has_collisions(local)
    assert stored_ids(local) == [1, rowid_of(key_of("p", first))]
    assert get(local, pk="p", sk=first) == item(pk="p", sk=first, n=1)
    assert get(local, pk="p", sk=second) == item(pk="p", sk=second, n=2)
    local.put(pk="p", sk=second, n=3)
    local.set({"pk": "p", "sk": first}, n=4)
    assert local.items() == sort_items([item(pk="p", sk=first, n=4), item(pk="p", sk=second, n=3)])


def test_a_collided_row_is_found_when_the_other_is_deleted(local):
    first, second = COLLIDING_KEYS
    local.put(pk="p", sk=first)
    local.put(pk="p", sk=second)
    local.delete(pk="p", sk=first)
    assert get(local, pk="p", sk=first) is None
    assert get(local, pk="p", sk=second) == item(pk="p", sk=second)
    local.put(pk="p", sk=first, again="yes")
    assert get(local, pk="p", sk=first) == item(pk="p", sk=first, again="yes")
    local.delete(pk="p", sk=second)
    assert local.items() == [item(pk="p", sk=first, again="yes")]


def test_after_opening_it_is_known_whether_a_row_gave_way(tmp_path):
    local = Local(tmp_path)
    local.create("pk:S / sk:S")
    first, second = COLLIDING_KEYS
    for sk in COLLIDING_KEYS:
        local.put(pk="p", sk=sk)
    local.reopen()
    assert has_collisions(local)
    assert [get(local, pk="p", sk=sk) for sk in COLLIDING_KEYS] == [item(pk="p", sk=sk) for sk in COLLIDING_KEYS]
    local.delete(pk="p", sk=second)
    local.reopen()
    assert not has_collisions(local)
    assert get(local, pk="p", sk=first) == item(pk="p", sk=first)
    local.close()


def test_a_row_that_gave_way_in_a_transaction_that_was_undone_is_not_there(tmp_path):
    local = Local(tmp_path)
    local.create("pk:S / sk:S")
    first, second = COLLIDING_KEYS
    local.put(pk="p", sk=first)
    puts = [{"Put": {"TableName": "tab", "Item": item(pk="p", sk=second)}}]
    check = {"TableName": "tab", "Key": item(pk="p", sk="none"), "ConditionExpression": "attribute_exists(pk)"}
    refusal = local.refusal("TransactWriteItems", TransactItems=[*puts, {"ConditionCheck": check}])
    assert refusal.startswith("TransactionCanceledException")
    assert get(local, pk="p", sk=second) is None
    assert local.items() == [item(pk="p", sk=first)]
    local.close()


# -- when nearly all rowids are taken ---------------------------------------------------------------------------------


@contextmanager
def few_rowids():
    """Three rowids for all keys."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (read, write):
            patch.setattr(module, "rowid_of", lambda key: FIRST_ROWID | rowid_of(key) % 3)
        yield


@settings(max_examples=40, deadline=None)
@given(histories)
def test_with_three_rowids_for_all_keys_everything_is_as_with_many(history):
    with few_rowids():
        local = Local()
        local.create(KEYS, lsi=LOCAL, gsi=GLOBAL)
        reference = ReferenceTable(KEYS, INDEXES)
        Writer(local, reference).run(history)
        assert_agree(local, reference)
        assert_gets(local, reference)
        local.close()


def assert_gets(local, reference):
    """Each item, and no other, is found by its key, alone and in a batch."""
    keys = [item(pk=pk, sk=sk) for pk in "ab" for sk in range(-1, 6)]
    found = [local.call("GetItem", TableName="tab", Key=dict(key)).get("Item") for key in keys]
    assert found == [reference.items.get(reference.key(key)) for key in keys]
    batch = local.call("BatchGetItem", RequestItems={"tab": {"Keys": [dict(key) for key in keys]}})
    assert sort_items(batch["Responses"]["tab"]) == sort_items([each for each in found if each])


# -- rows from before there were rowids -------------------------------------------------------------------------------


def make_older(directory):
    """Turn a directory into one of format 1: rows numbered in the order of their insertion."""
    connection = apsw.Connection(str(directory / MAIN_FILE))
    connection.execute("CREATE TEMP TABLE o AS SELECT id, row_number() OVER (ORDER BY item) AS number FROM t1")
    connection.execute("UPDATE t1 SET id = (SELECT number FROM o WHERE o.id = t1.id)")
    connection.execute("PRAGMA user_version = 1")
    connection.close()


@settings(max_examples=25, deadline=None)
@given(histories, histories)
def test_a_directory_of_format_1_is_taken_over_as_it_is(tmp_path_factory, before, after):
    directory = tmp_path_factory.mktemp("older")
    local = Local(directory)
    local.create(KEYS, lsi=LOCAL, gsi=GLOBAL)
    reference = ReferenceTable(KEYS, INDEXES)
    Writer(local, reference).run(before)
    local.engine.close()
    make_older(directory)
    local = Local(directory)
    assert local.engine.store.execute("PRAGMA user_version").fetchone() == (UNCHECKED_FORMAT,)
    assert has_collisions(local) == bool(reference.items)
    assert_gets(local, reference)
    Writer(local, reference).run(after)
    assert_agree(local, reference)
    assert_gets(local, reference)
    local.close()


def test_a_restored_table_has_its_rows_under_the_rowids_of_their_keys(tmp_path):
    local = Local(tmp_path)
    local.create("pk:S / sk:N", recovery=True)
    for number in range(30):
        local.put(pk=f"k{number % 3}", sk=number)
    local.engine.close()
    make_older(tmp_path)
    local = Local(tmp_path)
    arn = local.call("CreateBackup", TableName="tab", BackupName="backup")["BackupDetails"]["BackupArn"]
    local.call("RestoreTableFromBackup", TargetTableName="copy", BackupArn=arn)
    local.engine.finish_jobs()
    table = local.engine.catalog.find("copy")
    rows = local.engine.store.execute(f"SELECT id, k FROM t{table.n}").fetchall()
    assert [identity for identity, _ in rows] == [rowid_of(key) for _, key in rows]
    assert len(rows) == 30
    assert not table.has_collisions
    found = read_all(partial(local.call, "Scan"), TableName="copy")
    assert sort_items(found) == local.items()
    local.close()
