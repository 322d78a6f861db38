"""Load many items at once.

All items are read, checked and sorted by rowid (`engine.external_sort`) before the table is touched, so one invalid
item means that nothing is loaded. An empty table is then filled in rowid order without its indexes, which are built at
the end: appending and sorted builds beat millions of random inserts. Until then the table is hidden, and a kill leaves
it empty, not half full. A table that has items, or a change log, takes the write path, with many items per commit.
Files may be read by several processes; nothing that turns lines into rows needs an engine.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from functools import lru_cache, partial
from io import BytesIO
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, Literal, TypeVar

import orjson
from msgspec.structs import replace

from hashrange.core.errors import (
    HashrangeError,
    ResourceInUseException,
    ResourceNotFoundException,
    SerializationException,
)
from hashrange.core.keys import rowid_of
from hashrange.core.values import Item, WrongWireType, check_item
from hashrange.engine import shape, sql, write
from hashrange.engine.definition import Definition, RestoreState, dump_definition, load_definition
from hashrange.engine.external_sort import Row, SortedRows, SortedRun, sort_run
from hashrange.engine.import_files import BadLine, ImportFiles, LineChunk, read_line
from hashrange.engine.job_state import UndoLoad
from hashrange.engine.jobs import JobContext, register_job, table_numbered
from hashrange.engine.table import Table

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine

T = TypeVar("T")
BATCH = 10_000
ROWS_PER_RUN = 5_000
FEW_CHUNKS = 2  # not worth starting a process for
Phase = Literal["reading", "storing", "indexing"]
READING: Final = "reading"
STORING: Final = "storing"
INDEXING: Final = "indexing"
ReportProgress = Callable[[Phase, int, int], None]
"""Called with the phase, and how much of how much is done: bytes read, items stored; of the indexes 0 of 0."""


class WorkerLost(HashrangeError):
    """A process that read files has ended unexpectedly."""


def ignore_progress(_phase: Phase, _done: int, _total: int) -> None:
    """Report nothing."""


def load_items(engine: Engine, table: Table, items: Iterable[Item], report: ReportProgress = ignore_progress) -> int:
    """Put all items; return how many were read. Of equal keys the last wins. If one is invalid, nothing is stored."""
    return load_rows(engine, table, (make_row(table, item) for item in items), report)


def load_rows(engine: Engine, table: Table, rows: Iterable[Row], report: ReportProgress = ignore_progress) -> int:
    """Put the rows that `make_row` made of items, like `load_items`; nothing is stored if the iterator raises."""
    return _load(engine, table, sort_rows(rows), report)


def load_files(
    engine: Engine, table: Table, files: ImportFiles, report: ReportProgress = ignore_progress, workers: int = 1
) -> int:
    """Put all items in some files, read by so many processes; like `load_items`, but an invalid one raises BadLine."""
    chunks = files.read(lambda position: report(READING, position, files.size))
    return _load(engine, table, read_files(table, chunks, workers), report)


def _load(engine: Engine, table: Table, runs: Generator[SortedRun, None, None], report: ReportProgress) -> int:
    _clear_interrupted_load(engine, table)
    definition = table.definition
    with closing(SortedRows(engine.store.directory)) as rows:
        with closing(runs):
            for run in runs:
                rows.add(run)
        if _commit(engine, partial(_hide, engine, table.n, definition)):
            _fill(engine, table.n, rows, report)
        else:
            _store(engine, rows, partial(_put_all, engine, table.n), report)
        return rows.count


# -- storing ----------------------------------------------------------------------------------------------------------


def _commit(engine: Engine, work: Callable[[], T]) -> T:
    return engine.run_in_group(lambda: engine.run_or_roll_back(work))


def _find(engine: JobContext, n: int) -> Table:
    """Return the table as it is now: a rollback, even of another request, replaces all Table objects."""
    table = table_numbered(engine, n)
    if table is None:
        raise ResourceNotFoundException
    return table


def _clear_interrupted_load(engine: Engine, table: Table) -> None:
    """Empty a table that an interrupted load left hidden; refuse one that is being restored."""
    state = table.definition.restoring
    if isinstance(state, RestoreState):
        raise ResourceInUseException(f"Table {table.name} is being restored. Serve its directory until that is done.")
    if state:
        _commit(engine, partial(_reveal, engine, table.n, empty=True))


def _fill(engine: Engine, n: int, rows: SortedRows, report: ReportProgress) -> None:
    try:
        _store(engine, rows, partial(_append, engine, n), report)
        report(INDEXING, 0, 0)
        _commit(engine, partial(_reveal, engine, n, empty=False))
    except BaseException:
        _commit(engine, partial(_unhide, engine, n))
        raise


def _store(engine: Engine, rows: SortedRows, put: Callable[[list[Row]], None], report: ReportProgress) -> None:
    """Store all rows, so many per commit."""
    left, done = iter(rows), 0
    while batch := list(islice(left, BATCH)):
        _commit(engine, partial(put, batch))
        done += len(batch)
        report(STORING, done, rows.count)


def _put_all(engine: Engine, n: int, rows: list[Row]) -> None:
    engine.begin_transaction()
    table = _find(engine, n)
    for key, size, body, *_ in rows:
        # Prepared again: an index may have been added or removed since the item was read.
        image = write.make_image(table, orjson.loads(body), size, checked=True)
        write.apply(engine, table, key, write.load_row(engine, table, key), image)


def _append(engine: Engine, n: int, rows: list[Row]) -> None:
    engine.begin_transaction()
    engine.store.connection.executemany(_find(engine, n).sql.insert, rows)


def _hide(engine: Engine, n: int, definition: Definition) -> bool:
    """Hide a table and drop its indexes, if it can be filled with rows made for that definition."""
    table = _find(engine, n)
    filled = engine.store.execute(sql.find_any_row(n)).fetchone()
    if filled or table.logged or table.definition != definition:
        return False
    engine.begin_transaction()
    engine.catalog.save(table, replace(table.definition, restoring=True))
    for name in table.sql.indexes:
        engine.store.execute(sql.drop_index(name))
    engine.jobs.record(n, UndoLoad())
    return True


def _reveal(engine: JobContext, n: int, *, empty: bool) -> None:
    """Build the indexes, count, and put the table into use."""
    engine.begin_transaction()
    execute, table = engine.store.execute, _find(engine, n)
    if empty:
        execute(sql.delete_rows(f"t{n}"))
    with engine.store.sorting_on_disk():
        for statement in sql.create_indexes(n, table.definition.columns):
            execute(statement)
    engine.catalog.recount(table)
    engine.catalog.find_rowid_collisions(table)
    engine.catalog.save(table, replace(table.definition, restoring=False))
    engine.jobs.drop(n, UndoLoad)


def _unhide(engine: JobContext, n: int) -> None:
    if table_numbered(engine, n) is not None:
        _reveal(engine, n, empty=True)


@register_job(UndoLoad)
def _undo_load(engine: JobContext, n: int, _state: UndoLoad) -> None:
    """Empty a table whose load was interrupted, and put it back into use."""
    _unhide(engine, n)


# -- from items and lines to rows -------------------------------------------------------------------------------------


def make_row(table: Table, item: Item) -> Row:
    """Return the row of an item, or raise the error of a put of it."""
    try:
        item, size = check_item(item)
    except WrongWireType:
        item, size = check_item(_convert(table, item))
    write.check_put_size(size)
    key = table.key_of_item(item)
    image = write.make_image(table, item, size)
    return (key, size, image.body, *image.columns, rowid_of(key))


def _convert(table: Table, item: Item) -> Item:
    """Return an item as a put reads it, which drops nulls, or say what is wrong."""
    try:
        converted: Item = shape.convert("PutItem", {"TableName": table.name, "Item": item})["Item"]
        return converted
    except SerializationException as refusal:
        raise SerializationException(f"An attribute value is of the wrong JSON type: {refusal.message}") from None


def sort_rows(rows: Iterable[Row]) -> Generator[SortedRun, None, None]:
    """Yield runs of rows."""
    left = iter(rows)
    while found := list(islice(left, ROWS_PER_RUN)):
        yield sort_run(found)


def read_chunk(table: Table, chunk: LineChunk) -> SortedRun:
    """Return the rows of the lines in a chunk, or raise a BadLine for the first that cannot be stored."""
    rows: list[Row] = []
    number = 1
    try:
        for number, line in enumerate(BytesIO(chunk.read()), 1):  # noqa: B007 - the line where it stopped
            item = read_line(line)
            if item is not None:
                rows.append(make_row(table, item))
    except HashrangeError as error:
        raise BadLine(f"{chunk.locate(number)}: {error}") from None
    return sort_run(rows)


def read_files(table: Table, chunks: Iterator[LineChunk], workers: int) -> Generator[SortedRun, None, None]:
    """Yield the rows of all chunks in their order, read by so many processes when there is work enough for them."""
    first = list(islice(chunks, FEW_CHUNKS + 1)) if workers > 1 else []
    everything = chain(first, chunks)
    if len(first) > FEW_CHUNKS:
        return _distribute_chunks(table, everything, workers)
    return (read_chunk(table, chunk) for chunk in everything)


def _distribute_chunks(table: Table, chunks: Iterator[LineChunk], workers: int) -> Generator[SortedRun, None, None]:
    definition = dump_definition(table.definition)
    running: deque[Future[SortedRun]] = deque()
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _start_worker)
    try:
        for chunk in chunks:
            running.append(pool.submit(_read_chunk_of, table.n, definition, chunk))
            if len(running) > workers + 1:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
    except BrokenProcessPool as failure:
        message = "A worker process ended unexpectedly, perhaps because memory ran out; load with --workers 1."
        raise WorkerLost(message) from failure
    finally:
        pool.shutdown(cancel_futures=True)


def _read_chunk_of(n: int, definition: bytes, chunk: LineChunk) -> SortedRun:
    return read_chunk(_table_of(n, definition), chunk)


@lru_cache(maxsize=1)
def _table_of(n: int, definition: bytes) -> Table:
    return Table(n, load_definition(definition))


def _start_worker() -> None:
    """Leave Ctrl-C to the process that started this one, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()  # rows and items form no cycles
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
