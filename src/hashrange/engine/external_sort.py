"""External merge sort of rows by rowid: sorted runs in a temporary file, merged while they are stored.

Memory holds one block of each run. The file has no name, so a kill leaves nothing behind. A run is sorted where it is
made, which may be another process. Decision 22 compares this with SQLite's sorter and with the earlier merge.
"""

from __future__ import annotations

import contextlib
import heapq
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any

from hashrange.engine.data_directory import translate_os

ROWS_PER_BLOCK = 50
MEMORY_BYTES = 32_000_000  # less than that stays out of the file system

Row = tuple[Any, ...]  # key, size, body, expiry and index keys, rowid: the order in which rows are inserted
key_in = itemgetter(0)
rowid_in = itemgetter(-1)


@dataclass(frozen=True, slots=True)
class SortedRun:
    """Rows in the order of their rowids, in blocks as bytes."""

    count: int
    blocks: list[bytes]


def sort_run(rows: list[Row]) -> SortedRun:
    """Return rows as a sorted run; those with the same rowid keep their order."""
    rows.sort(key=rowid_in)
    cuts = (rows[at : at + ROWS_PER_BLOCK] for at in range(0, len(rows), ROWS_PER_BLOCK))
    return SortedRun(len(rows), [pickle.dumps(cut, pickle.HIGHEST_PROTOCOL) for cut in cuts])


class SortedRows:
    """The rows of all runs, in the order of their rowids; in memory when no directory is given."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        memory, folder = (MEMORY_BYTES, str(directory)) if directory else (0, None)
        self._file = SpooledTemporaryFile(memory, dir=folder)  # noqa: SIM115 - `close` closes it
        self._runs: list[list[tuple[int, int]]] = []  # offset and length of each block
        self._end = 0
        self.count = 0  # of all rows that were added, equal keys included

    def close(self) -> None:
        """Remove the file."""
        with contextlib.suppress(OSError):  # what could not be written is not needed any more
            self._file.close()

    def add(self, run: SortedRun) -> None:
        """Add a run, in the order of the input, or raise a StorageError when the disk is full."""
        self.count += run.count
        blocks = []
        for block in run.blocks:
            blocks.append((self._end, len(block)))
            self._end += len(block)
        self._runs.append(blocks)
        with self._translated():
            self._file.writelines(run.blocks)
            self._file.flush()

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows; of equal keys only the last of the input.

        Of different keys with the same rowid the first has it; the others are given numbers below all rowids of keys.
        """
        collisions = 0
        for _, group in groupby(heapq.merge(*map(self._read, self._runs), key=rowid_in), rowid_in):
            first, *others = group
            if others:
                first, *others = {key_in(row): row for row in (first, *others)}.values()
            yield first
            for row in others:
                collisions += 1
                yield (*row[:-1], collisions)

    def _read(self, blocks: list[tuple[int, int]]) -> Iterator[Row]:
        for offset, length in blocks:
            with self._translated():
                self._file.seek(offset)
                block = self._file.read(length)
            yield from pickle.loads(block)  # noqa: S301 - written by ourselves, to a file without a name

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except OSError as failure:
            raise translate_os(failure, self._directory or Path()) from failure
