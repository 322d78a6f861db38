"""Runs: items made into rows and sorted by place, a few megabytes at a time, before a table is touched.

Nothing here needs an engine, so that runs can be made in several processes (`make_runs`). What is wrong with an item is
found here, and only here; the runs are kept and merged by `engine.run_merge`.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import marshal
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from itertools import chain, islice
from operator import itemgetter
from typing import Any

from hashrange.core.errors import HashrangeError, SerializationException
from hashrange.core.keys import rowid_of
from hashrange.core.values import Item, WrongWireType, check_item
from hashrange.engine import shape, write
from hashrange.engine.definition import dump_definition, load_definition
from hashrange.engine.import_files import BadLine, LineChunk, read_line
from hashrange.engine.table import Table

RUN_BYTES = 4_000_000
BLOCK_BYTES = 24_000  # merging takes such a block of each run, and the place of each block
FEW_CHUNKS = 2
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # as <malloc.h> numbers them
KEPT_BYTES = 32 << 20
PLAIN = 2  # the form of marshal that looks for no shared values; rows have none

Row = tuple[Any, ...]  # key, size, body, what the index slots hold, place: the order in which rows are inserted
key_in = itemgetter(0)
rowid_in = itemgetter(-1)


class WorkerLost(HashrangeError):
    """A process that made runs has ended before its time."""


@dataclass(frozen=True, slots=True)
class SortedRun:
    """Rows in the order of their places, each key once."""

    count: int  # of the items it was made from
    blocks: list[tuple[int, bytes]]  # the place of the first row, and the rows


def read_block(block: bytes) -> list[Row]:
    """Return the rows in a block."""
    rows: list[Row] = marshal.loads(block)  # noqa: S302 - of our own making, in a file without a name
    return rows


def make_row(table: Table, item: Item) -> Row:
    """Return the row of an item, or raise what a put of it answers."""
    try:
        item, size = check_item(item)
    except WrongWireType:
        item, size = check_item(_convert(table, item))
    write.check_put_size(size)
    key = table.key_of_item(item)
    image = write.prepare(table, item, size)
    return (key, size, image.body, *image.columns, rowid_of(key))


def _convert(table: Table, item: Item) -> Item:
    """Return an item as a put reads it, which drops nulls, or say what is wrong."""
    try:
        converted: Item = shape.convert("PutItem", {"TableName": table.name, "Item": item})["Item"]
        return converted
    except SerializationException as refusal:
        raise SerializationException(f"An attribute value is of the wrong JSON type: {refusal.message}") from None


def sort_items(table: Table, items: Iterable[Item]) -> Generator[SortedRun, None, None]:
    """Yield runs of the items, as they come."""
    source = iter(items)
    while run := _take_run(table, source):
        yield run


def _take_run(table: Table, source: Iterator[Item]) -> SortedRun | None:
    rows: dict[bytes, Row] = {}
    count = size = 0
    for item in source:
        row = make_row(table, item)  # the decoded item is let go of at once: many of them keep the collector busy
        rows[row[0]] = row
        count += 1
        size += len(row[2])
        if size >= RUN_BYTES:
            break
    return _pack(count, rows) if count else None


def sort_chunk(table: Table, chunk: LineChunk) -> SortedRun:
    """Return the run of the lines in a chunk, or raise a BadLine for the first that cannot be stored."""
    rows: dict[bytes, Row] = {}
    count, number = 0, 1
    try:
        for number, line in enumerate(BytesIO(chunk.read()), 1):  # noqa: B007 - tells where it stopped
            item = read_line(line)
            if item is not None:
                row = make_row(table, item)
                rows[row[0]] = row
                count += 1
    except HashrangeError as fault:
        raise BadLine(f"{chunk.locate(number)}: {fault}") from None
    return _pack(count, rows)


def _pack(count: int, found: dict[bytes, Row]) -> SortedRun:
    rows = sorted(found.values(), key=rowid_in)
    size = sum(len(row[2]) for row in rows)
    many = max(1, len(rows) * BLOCK_BYTES // max(size, 1))
    cuts = (rows[at : at + many] for at in range(0, len(rows), many))
    return SortedRun(count, [(rowid_in(cut[0]), marshal.dumps(cut, PLAIN)) for cut in cuts])


# -- in several processes ---------------------------------------------------------------------------------------------


def make_runs(table: Table, chunks: Iterator[LineChunk], workers: int) -> Generator[SortedRun, None, None]:
    """Yield the runs of all chunks in their order, made by so many processes when there is work enough for them."""
    first = list(islice(chunks, FEW_CHUNKS + 1)) if workers > 1 else []
    everything = chain(first, chunks)
    if len(first) > FEW_CHUNKS:
        return _share_out(table, everything, workers)
    return (sort_chunk(table, chunk) for chunk in everything)


def _share_out(table: Table, chunks: Iterator[LineChunk], workers: int) -> Generator[SortedRun, None, None]:
    definition = dump_definition(table.definition)
    under_way: deque[Future[SortedRun]] = deque()
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _start_worker)
    try:
        for chunk in chunks:
            under_way.append(pool.submit(_sort_chunk_of, table.n, definition, chunk))
            if len(under_way) > workers + 1:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()
    except BrokenProcessPool as failure:
        message = "A worker process has ended before its time, perhaps for want of memory; load with --workers 1."
        raise WorkerLost(message) from failure
    finally:
        pool.shutdown(cancel_futures=True)


def _sort_chunk_of(n: int, definition: bytes, chunk: LineChunk) -> SortedRun:
    return sort_chunk(_table_of(n, definition), chunk)


@lru_cache(maxsize=1)
def _table_of(n: int, definition: bytes) -> Table:
    return Table(n, load_definition(definition))


def _start_worker() -> None:
    """Leave Ctrl-C to the process that started this one, end with it, and keep memory for the next chunk."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()  # rows and items form no cycles
    keep_memory()
    threading.Thread(target=_end_with_parent, daemon=True).start()


def keep_memory() -> None:
    """Let the allocator keep what is freed: giving it back and taking it anew is a fifth of the time (glibc alone)."""
    with contextlib.suppress(AttributeError, OSError):
        allocator = ctypes.CDLL(None).mallopt
        allocator(TRIM_THRESHOLD, KEPT_BYTES)
        allocator(MMAP_THRESHOLD, KEPT_BYTES)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
