"""Runs of rows are merged: all rows in the order of their rowids, of equal keys the last one of the input."""

import pickle
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hashrange.core.keys import FIRST_ROWID
from hashrange.engine import external_sort
from hashrange.engine.external_sort import SortedRows, rowid_in, sort_run

inputs = st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=12), max_size=8)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of three rows."""
    monkeypatch.setattr(external_sort, "ROWS_PER_BLOCK", 3)


def make_run(numbers, rowids, number):
    """A run of rows with these keys."""
    return sort_run([(b"%d" % key, number, b"body", FIRST_ROWID + key % rowids) for key in numbers])


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(found=inputs, rowids=st.sampled_from([1, 3, 100]))
@pytest.mark.parametrize("on_disk", [True, False])
def test_merged_rows_are_those_of_the_input_sorted(monkeypatch, tmp_path, found, rowids, on_disk):
    monkeypatch.setattr(external_sort, "MEMORY_BYTES", 1)
    with closing(SortedRows(tmp_path if on_disk else None)) as kept:
        for number, numbers in enumerate(found):
            kept.add(make_run(numbers, rowids, number))
        rows = list(kept)
        assert kept.count == sum(map(len, found))
    latest = {b"%d" % key: number for number, numbers in enumerate(found) for key in numbers}
    assert {row[0]: row[1] for row in rows} == latest
    assert len(rows) == len(latest)
    own = [row[-1] for row in rows if row[-1] >= FIRST_ROWID]
    assert own == sorted({FIRST_ROWID + int(key) % rowids for key in latest})
    collided = [row[-1] for row in rows if row[-1] < FIRST_ROWID]
    assert collided == list(range(1, len(latest) - len(own) + 1))
    assert list(tmp_path.iterdir()) == []


def test_of_different_keys_with_one_rowid_the_first_of_the_input_has_it(tmp_path):
    with closing(SortedRows(tmp_path)) as kept:
        for key in (4, 2, 9):
            kept.add(make_run([key], 1, 0))
        rows = list(kept)
    assert [(row[0], row[-1]) for row in rows] == [(b"4", FIRST_ROWID), (b"2", 1), (b"9", 2)]


def test_memory_holds_one_block_of_each_run(monkeypatch, tmp_path):
    loaded = []
    load = pickle.loads
    monkeypatch.setattr(pickle, "loads", lambda block: loaded.append(1) or load(block))
    with closing(SortedRows(tmp_path)) as kept:
        for number in range(20):
            kept.add(make_run(range(number, 4_000, 20), 4_000, number))
        rows = []
        for row in kept:
            rows.append(row)
            assert 3 * len(loaded) <= len(rows) + 20 * 3
    assert [rowid_in(row) - FIRST_ROWID for row in rows] == list(range(4_000))


def test_a_small_load_never_touches_the_disk():
    with closing(SortedRows(Path("/nowhere at all"))) as kept:
        kept.add(make_run(range(100), 100, 0))
        assert len(list(kept)) == 100
