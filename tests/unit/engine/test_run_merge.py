"""The spool merges runs: all rows in the order of their places, of equal keys the last one of the input."""

import marshal
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hashrange.core.keys import FIRST_ROWID
from hashrange.engine import run_merge
from hashrange.engine.run_merge import RunMerger
from hashrange.engine.sorted_run import SortedRun, rowid_in

inputs = st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=12), max_size=8)


def make_run(numbers, places, number):
    """A run of rows with these keys; blocks of three."""
    found = {key: (b"%d" % key, number, b"body", FIRST_ROWID + key % places) for key in numbers}
    rows = sorted(found.values(), key=rowid_in)
    cuts = [rows[at : at + 3] for at in range(0, len(rows), 3)]
    return SortedRun(len(numbers), [(cut[0][-1], marshal.dumps(cut, 2)) for cut in cuts])


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(found=inputs, places=st.sampled_from([1, 3, 100]), merge_bytes=st.sampled_from([1, 200, 10_000]))
@pytest.mark.parametrize("on_disk", [True, False])
def test_merged_rows_are_those_of_the_input_sorted(monkeypatch, tmp_path, found, places, merge_bytes, on_disk):
    monkeypatch.setattr(run_merge, "MERGE_BYTES", merge_bytes)
    monkeypatch.setattr(run_merge, "MEMORY_BYTES", 1)
    with closing(RunMerger(tmp_path if on_disk else None)) as kept:
        for number, numbers in enumerate(found):
            kept.add(make_run(numbers, places, number))
        rows = [row for batch in kept.merge() for row in batch]
        assert kept.count == sum(map(len, found))
    latest = {b"%d" % key: number for number, numbers in enumerate(found) for key in numbers}
    assert {row[0]: row[1] for row in rows} == latest
    assert len(rows) == len(latest)
    placed = [row[-1] for row in rows if row[-1] >= FIRST_ROWID]
    assert placed == sorted({FIRST_ROWID + int(key) % places for key in latest})
    displaced = [row[-1] for row in rows if row[-1] < FIRST_ROWID]
    assert displaced == list(range(1, len(latest) - len(placed) + 1))
    assert list(tmp_path.iterdir()) == []


def test_of_different_keys_with_one_place_the_first_of_the_input_has_it(tmp_path):
    with closing(RunMerger(tmp_path)) as kept:
        for key in (4, 2, 9):
            kept.add(make_run([key], 1, 0))
        (rows,) = kept.merge()
    assert [(row[0], row[-1]) for row in rows] == [(b"4", FIRST_ROWID), (b"2", 1), (b"9", 2)]


def test_what_is_at_hand_while_merging_is_bounded(monkeypatch, tmp_path):
    monkeypatch.setattr(run_merge, "MERGE_BYTES", 2_000)
    with closing(RunMerger(tmp_path)) as kept:
        for number in range(20):
            kept.add(make_run(range(number, 4_000, 20), 4_000, number))
        batches = list(kept.merge())
    assert sum(map(len, batches)) == 4_000
    assert max(map(len, batches)) < 2_000 // 25 + 20 * 3
    assert [rowid_in(row) - FIRST_ROWID for batch in batches for row in batch] == list(range(4_000))


def test_a_small_load_never_touches_the_disk():
    with closing(RunMerger(Path("/nowhere at all"))) as kept:
        kept.add(make_run(range(100), 100, 0))
        assert sum(map(len, kept.merge())) == 100
