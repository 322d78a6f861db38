"""Load many items at once.

All items are read, checked and sorted (`engine.sorted_run`, `engine.run_merge`) before the table is touched, so one
invalid item means that nothing is loaded. An empty table is then filled in rowid order without its indexes, which are
built at the end: appending and sorted builds beat millions of random inserts. Until then the table is hidden, and a
kill leaves it empty, not half full. A table that has items, or a change log, takes the write path, with many items
per commit.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, TypeVar

import orjson
from msgspec.structs import replace

from hashrange.core.errors import ResourceInUseException, ResourceNotFoundException
from hashrange.core.values import Item
from hashrange.engine import sql, write
from hashrange.engine.definition import Definition, RestoreState
from hashrange.engine.import_files import ImportFiles
from hashrange.engine.jobs import Job, job_kind, table_numbered
from hashrange.engine.run_merge import RunMerger
from hashrange.engine.sorted_run import Row, SortedRun, make_runs, sort_items

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine
    from hashrange.engine.table import Table

T = TypeVar("T")
BATCH = 10_000
Phase = Literal["reading", "storing", "indexing"]
READING: Final = "reading"
STORING: Final = "storing"
INDEXING: Final = "indexing"
ReportProgress = Callable[[Phase, int, int], None]
"""Told of the phase, and how much of how much is done: bytes read, items stored, nothing of the indexes."""


def ignore_progress(_phase: Phase, _done: int, _total: int) -> None:
    """Report to nobody."""


def load_items(engine: Engine, table: Table, items: Iterable[Item], report: ReportProgress = ignore_progress) -> int:
    """Put all items; returns how many were read. Equal keys: the last one wins. A bad one leaves all as it was."""
    return _load(engine, table, sort_items(table, items), report)


def load_files(
    engine: Engine, table: Table, files: ImportFiles, report: ReportProgress = ignore_progress, workers: int = 1
) -> int:
    """Put all items in some files, read by so many processes; like `load_items`, but a bad one is a BadLine."""
    chunks = files.read(lambda position: report(READING, position, files.size))
    return _load(engine, table, make_runs(table, chunks, workers), report)


def _load(engine: Engine, table: Table, runs: Generator[SortedRun, None, None], report: ReportProgress) -> int:
    _clear_remains(engine, table)
    definition = table.definition
    with closing(RunMerger(engine.store.directory)) as spool:
        with closing(runs):
            for run in runs:
                spool.add(run)
        if _commit(engine, partial(_hide, engine, table.n, definition)):
            _fill(engine, table.n, spool, report)
        else:
            _store(engine, spool, partial(_put_all, engine, table.n), report)
        return spool.count


def _commit(engine: Engine, work: Callable[[], T]) -> T:
    return engine.run_in_group(lambda: engine.run_or_roll_back(work))


def _find(engine: Engine, n: int) -> Table:
    """Return the table as it is now: a rollback, even of others, makes all tables anew."""
    table = table_numbered(engine, n)
    if table is None:
        raise ResourceNotFoundException
    return table


def _clear_remains(engine: Engine, table: Table) -> None:
    """Empty a table that an earlier load, cut off, left hidden; refuse one that is being restored."""
    state = table.definition.restoring
    if isinstance(state, RestoreState):
        raise ResourceInUseException(f"Table {table.name} is being restored. Serve its directory until that is done.")
    if state:
        _commit(engine, partial(_reveal, engine, table.n, empty=True))


def _fill(engine: Engine, n: int, spool: RunMerger, report: ReportProgress) -> None:
    try:
        _store(engine, spool, partial(_append, engine, n), report)
        report(INDEXING, 0, 0)
        _commit(engine, partial(_reveal, engine, n, empty=False))
    except BaseException:
        _commit(engine, partial(_unhide, engine, n))
        raise


def _store(engine: Engine, spool: RunMerger, put: Callable[[list[Row]], None], report: ReportProgress) -> None:
    """Give all rows out, so many to a commit."""
    done = 0
    for rows in spool.merge():
        for at in range(0, len(rows), BATCH):
            batch = rows[at : at + BATCH]
            _commit(engine, partial(put, batch))
            done += len(batch)
            report(STORING, done, spool.count)


def _put_all(engine: Engine, n: int, rows: list[Row]) -> None:
    engine.begin_transaction()
    table = _find(engine, n)
    for key, size, body, *_ in rows:
        # Prepared again: an index may have come or gone since the item was read.
        image = write.prepare(table, orjson.loads(body), size, checked=True)
        write.apply(engine, table, key, write.load(engine, table, key), image)


def _append(engine: Engine, n: int, rows: list[Row]) -> None:
    engine.begin_transaction()
    engine.store.connection.executemany(_find(engine, n).sql.insert, rows)


def _hide(engine: Engine, n: int, definition: Definition) -> bool:
    """Take a table out of use and its indexes away, if it can be filled with rows made for that definition."""
    table = _find(engine, n)
    filled = engine.store.execute(f"SELECT 1 FROM t{n} LIMIT 1").fetchone()
    if filled or table.logged or table.definition != definition:
        return False
    engine.begin_transaction()
    engine.catalog.save(table, replace(table.definition, restoring=True))
    for name in table.sql.indexes:
        engine.store.execute(f"DROP INDEX IF EXISTS {name}")
    engine.jobs.note("unfill", n, {})
    return True


def _reveal(engine: Engine, n: int, *, empty: bool) -> None:
    """Build the indexes, count, and put the table into use."""
    engine.begin_transaction()
    execute, table = engine.store.execute, _find(engine, n)
    if empty:
        execute(f"DELETE FROM t{n}")
    with engine.store.sorting_on_disk():
        for statement in sql.create_indexes(n, table.definition.columns):
            execute(statement)
    engine.catalog.recount(table)
    engine.catalog.find_rowid_collisions(table)
    engine.catalog.save(table, replace(table.definition, restoring=False))
    engine.jobs.drop(n, "unfill")


def _unhide(engine: Engine, n: int) -> None:
    if table_numbered(engine, n) is not None:
        _reveal(engine, n, empty=True)


@job_kind("unfill")
def _unfill(engine: Engine, job: Job) -> bool:
    """Empty a table whose filling was cut off, and put it back into use."""
    _unhide(engine, job.n)
    return True
