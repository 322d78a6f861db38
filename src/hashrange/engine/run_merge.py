"""Sorted runs of rows (`engine.sorted_run`) on their way into a table, and their merger.

A block of a run is kept with the place of its first row. Blocks are read back in the order of those places: when it is
the turn of one, everything below its place is at hand. So memory holds one block of each run, and what is being given
out. The file has no name: a kill leaves nothing behind.
"""

from __future__ import annotations

import contextlib
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from tempfile import SpooledTemporaryFile

from hashrange.engine.sorted_run import Row, SortedRun, key_in, read_block, rowid_in
from hashrange.engine.store import translate_os

MEMORY_BYTES = 32_000_000  # less than that stays out of the file system
MERGE_BYTES = 8_000_000

Segment = tuple[int, list[Row]]


class RunMerger:
    """Runs, in the order of the input; in memory when no directory is given."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        memory, folder = (MEMORY_BYTES, str(directory)) if directory else (0, None)
        self._file = SpooledTemporaryFile(memory, dir=folder)  # noqa: SIM115 - `close` closes it
        self._blocks: list[tuple[int, int, int]] = []  # first place, offset, length
        self._end = 0
        self._displaced = 0
        self.count = 0

    def close(self) -> None:
        """Let go of everything."""
        with contextlib.suppress(OSError):  # what could not be written is not needed any more
            self._file.close()

    def add(self, run: SortedRun) -> None:
        """Keep a run, or raise a StorageError when there is no room."""
        self.count += run.count
        for first, block in run.blocks:
            self._blocks.append((first, self._end, len(block)))
            self._end += len(block)
        with self._translated():
            self._file.writelines(block for _, block in run.blocks)
            self._file.flush()

    def merge(self) -> Iterator[list[Row]]:
        """Yield all rows, many at a time, in the order of their places; of equal keys only the last of the input.

        Of different keys with the same place the first has it; the others are given numbers below all places.
        """
        segments: list[Segment] = []
        loaded = 0
        for first, offset, length in sorted(self._blocks):
            if loaded >= MERGE_BYTES:
                ready, segments = _split(segments, first)
                loaded = 0
                yield self._settle(ready)
            segments.append((offset, read_block(self._read(offset, length))))
            loaded += length
        ready, _ = _split(segments, None)
        yield self._settle(ready)

    def _settle(self, rows: list[Row]) -> list[Row]:
        """Return sorted rows, all that have their places, with each key and each place once."""
        if len(set(map(rowid_in, rows))) == len(rows):
            return rows
        settled: dict[int, Row] = {}
        for row in {key_in(row): row for row in rows}.values():
            place = rowid_in(row)
            if place in settled:
                self._displaced += 1
                place = self._displaced
            settled[place] = (*row[:-1], place)
        return list(settled.values())

    def _read(self, offset: int, length: int) -> bytes:
        with self._translated():
            self._file.seek(offset)
            return self._file.read(length)

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except OSError as failure:
            raise translate_os(failure, self._directory or Path()) from failure


def _split(segments: list[Segment], place: int | None) -> tuple[list[Row], list[Segment]]:
    """Return the rows below a place (None: all), sorted, and what is left of the segments."""
    ready: list[Row] = []
    left: list[Segment] = []
    for offset, rows in sorted(segments, key=key_in):  # the order of the input, which the sort below keeps
        at = len(rows) if place is None else bisect_left(rows, place, key=rowid_in)
        ready += rows[:at]
        if at < len(rows):
            left.append((offset, rows[at:]))
    ready.sort(key=rowid_in)
    return ready, left
