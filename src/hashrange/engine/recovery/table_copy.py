"""Copies of a table's rows: as they are, or as they were at a time, rolled back by the change log.

A copy is in a file of the data directory's `backups`, or in a table inside the database (in memory, and for restores of
small tables). Small copies are made inside the call; for large ones the call takes a snapshot, and a thread writes the
file while requests go on. A file is removed when the transaction that records it is rolled back, and gets its name
after the commit.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from hashrange.core.errors import InternalServerError, StorageError
from hashrange.engine import sql
from hashrange.engine.catalog import CatalogContext
from hashrange.engine.recovery.backup import CopyLocation
from hashrange.engine.store import CopyFile, SqliteError, take_page
from hashrange.engine.stream.streams import number_at

if TYPE_CHECKING:
    from hashrange.engine.table import Table

logger = logging.getLogger("hashrange")
OnCopied = Callable[[StorageError | None], None]
SMALL = 1_000  # rows that are copied inside a call
ROWS_PER_PAGE = 250


@dataclass(frozen=True, slots=True)
class CopyQuery:
    """What to copy: a query for key, size (None where only the log has the item) and item."""

    query: str
    parameters: tuple[object, ...]
    tables: tuple[str, ...]  # that the query needs


def rows_now(table: Table) -> CopyQuery:
    """Return the rows as they are."""
    return CopyQuery(sql.current_rows(table.n), (), (f"t{table.n}",))


def rows_at(table: Table, moment: int) -> CopyQuery:
    """Return the rows as they were at a time: what changed since is as its first change since found it."""
    bounds = (number_at(moment), moment)
    return CopyQuery(sql.past_rows(table.n), (*bounds, *bounds), (f"t{table.n}", f"c{table.n}"))


def is_small_copy(engine: CopyContext, rows: CopyQuery) -> bool:
    """Tell whether a copy is small enough to be made inside a call."""
    found = engine.store.execute(sql.count_rows(rows.tables, SMALL + 1)).fetchone()
    return found is not None and found[0] <= SMALL


def copy_to_table(engine: CopyContext, rows: CopyQuery) -> CopyLocation:
    """Copy inside the database, at once."""
    n = engine.catalog.next_number()
    execute = engine.store.execute
    execute(sql.create_copy(n))
    execute(sql.fill_copy(n, rows.query), rows.parameters)
    engine.written += 1
    return CopyLocation(table=n)


def copy_to_file(engine: CopyContext, rows: CopyQuery, name: str) -> CopyLocation:
    """Copy into a file, at once."""
    copy = engine.store.begin_copy(name)
    _write_at_once(engine, rows, copy)
    return CopyLocation(file=name)


def _write_at_once(engine: CopyContext, rows: CopyQuery, copy: CopyFile) -> None:
    try:
        copy.add(engine.store.execute(rows.query, rows.parameters))
        copy.finish()
    except (SqliteError, OSError) as failure:
        copy.discard()
        raise InternalServerError(f"The copy could not be written: {failure}") from failure
    engine.copies.finished.append(copy)


def read_rows(engine: CopyContext, location: CopyLocation, after: int) -> list[tuple[Any, ...]]:
    """Return a page of the rows of a copy: id, key, size or None, item."""
    if location.file is not None:
        return engine.store.read_copy(location.file, after, ROWS_PER_PAGE)
    return take_page(engine.store.execute(sql.copied_rows_after(location.table), (after, ROWS_PER_PAGE)))


def discard_copy(engine: CopyContext, location: CopyLocation) -> None:
    """Remove a copy: a table's rows in slices, a file after the commit that no longer mentions it."""
    if location.table is None:
        engine.jobs.start("unlink", 0, {"file": location.file}, at_once=False)
    else:
        engine.jobs.start("purge", location.table, {"names": [f"t{location.table}"]})


class BackgroundCopies:
    """The copies that are being written on threads of their own, and the files that the open transaction records."""

    def __init__(self, engine: CopyContext) -> None:
        self._engine = engine
        self._running: dict[threading.Thread, CopyFile] = {}
        self.finished: list[CopyFile] = []

    def start(self, rows: CopyQuery, name: str, conclude: OnCopied) -> None:
        """Take a snapshot now, write it to a file on a thread, then call `conclude` inside the engine."""
        copy = self._engine.store.begin_copy(name)
        if not all(copy.has_table(table) for table in rows.tables):  # made in this very transaction
            _write_at_once(self._engine, rows, copy)
            conclude(None)
            return
        thread = threading.Thread(target=self._run, args=(rows, copy, conclude), name="hashrange-copy", daemon=True)
        self._running[thread] = copy
        thread.start()

    def _run(self, rows: CopyQuery, copy: CopyFile, conclude: OnCopied) -> None:
        failure: StorageError | None = None
        try:
            copy.select(rows.query, rows.parameters)
            copy.finish()
        except (SqliteError, OSError) as cause:
            copy.discard()
            failure = StorageError(f"The copy could not be written: {cause}")
        with contextlib.suppress(InternalServerError):  # rolled back; started again when the database is opened
            self._engine.run_in_group(
                lambda: self._engine.run_or_roll_back(lambda: self._conclude(conclude, copy, failure))
            )
        self._running.pop(threading.current_thread(), None)

    def _conclude(self, conclude: OnCopied, copy: CopyFile, failure: StorageError | None) -> None:
        if not self._engine.closed:
            self._engine.begin_transaction()
            if failure is None:
                self.finished.append(copy)
            conclude(failure)

    def finish_files(self, *, kept: bool) -> None:
        """Give the files of the transaction that is over their names or, when it was undone, remove them."""
        copies, self.finished = self.finished, []
        for copy in copies:
            try:
                if kept:
                    copy.publish()
                else:
                    copy.discard()
            except OSError:
                logger.exception("A file in backups could not be renamed or removed; the next start does it.")

    def wait(self) -> None:
        """Wait for all of them."""
        for thread in list(self._running):
            thread.join()

    def stop(self) -> None:
        """Interrupt them; they are started again when the database is opened."""
        for thread, copy in list(self._running.items()):
            while thread.is_alive():
                copy.interrupt()  # goes unnoticed between two statements
                thread.join(0.02)


class CopyContext(CatalogContext, Protocol):
    """An engine, as far as the parts that copy tables use it."""

    @property
    def copies(self) -> BackgroundCopies:
        """The copies that are being written."""
        ...
