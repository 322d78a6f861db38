"""Copies of a table's rows: as they are, or as they were before a change, rolled back by the change log.

A copy is in a file of the data directory's `backups`, or in a table inside the database (in memory, and for restores of
small tables). Small copies are made inside the call; for large ones a thread writes the file after the commit, while
requests go on. The change log has what was written meanwhile, so the copy can begin anew after a kill. A file is
removed when the transaction that records it is rolled back, and gets its name after the commit.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from hashrange.core.errors import InternalServerError, StorageError
from hashrange.engine import sql
from hashrange.engine.catalog import CatalogContext
from hashrange.engine.job_state import Purge, RemoveCopy
from hashrange.engine.recovery.backup import CopyLocation
from hashrange.engine.sqlite_file import CopyFile
from hashrange.engine.store import SqliteError, take_page

if TYPE_CHECKING:
    from hashrange.engine.table import Table

logger = logging.getLogger("hashrange")
OnCopied = Callable[[StorageError | None], None]
SMALL = 1_000  # rows that are copied inside a call
ROWS_PER_PAGE = 250
RESTART_SECONDS = 1


@dataclass(frozen=True, slots=True)
class CopyQuery:
    """What to copy: a query for key, size (None where only the log has the item) and item."""

    query: str
    parameters: tuple[object, ...]
    tables: tuple[str, ...]  # that the query needs


def rows_now(table: Table) -> CopyQuery:
    """Return the rows as they are."""
    return CopyQuery(sql.current_rows(table.n), (), (f"t{table.n}",))


def rows_until(n: int, sequence: int) -> CopyQuery:
    """Return the rows of table n as they were before the change of a sequence number."""
    return CopyQuery(sql.past_rows(n), (sequence, sequence), (f"t{n}", f"c{n}"))


def is_small_copy(engine: CopyContext, rows: CopyQuery) -> bool:
    """Return whether a copy is small enough to be made inside a call."""
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
    copy = _begin_copy(engine, name)
    try:
        copy.add(engine.store.execute(rows.query, rows.parameters))
        copy.finish()
    except (SqliteError, OSError) as failure:
        copy.discard()
        raise InternalServerError(_explain(engine, failure)) from failure
    engine.copies.finished.append(copy)
    return CopyLocation(file=name)


def _begin_copy(engine: CopyContext, name: str) -> CopyFile:
    try:
        return engine.store.begin_copy(name)
    except StorageError as failure:
        raise InternalServerError(f"The copy could not be begun. {failure}") from failure


def _explain(engine: CopyContext, failure: Exception) -> str:
    """Say why a copy was not written: the disk is full, no descriptor is left ..."""
    return f"The copy could not be written. {engine.store.explain_copy_failure(failure)}"


def read_rows(engine: CopyContext, location: CopyLocation, after: int) -> list[tuple[Any, ...]]:
    """Return a page of the rows of a copy: id, key, size or None, item."""
    if location.file is not None:
        return engine.store.read_copy(location.file, after, ROWS_PER_PAGE)
    return take_page(engine.store.execute(sql.copied_rows_after(location.table), (after, ROWS_PER_PAGE)))


def discard_copy(engine: CopyContext, location: CopyLocation) -> None:
    """Remove a copy: a table's rows in slices, a file after the commit that no longer mentions it."""
    if location.file is not None:
        engine.jobs.start(0, RemoveCopy(location.file), at_once=False)
    elif location.table is not None:
        engine.jobs.start(location.table, Purge((f"t{location.table}",)))


class BackgroundCopies:
    """The copies that are being written on threads of their own, and the files that the open transaction records."""

    def __init__(self, engine: CopyContext) -> None:
        self._engine = engine
        self._running: dict[threading.Thread, CopyFile] = {}
        self.waiting: list[tuple[CopyFile, CopyQuery, OnCopied]] = []  # for the commit
        self.finished: list[CopyFile] = []
        self._restart_at: float | None = None  # when to begin again what was interrupted

    @property
    def names(self) -> set[str]:
        """The names of the files that are being written."""
        return {copy.name for copy in [*self._running.values(), *(copy for copy, _, _ in self.waiting), *self.finished]}

    def restart_later(self, reason: InternalServerError) -> None:
        """Begin again, in a second, the copies of which the database records neither that they failed nor the file."""
        logger.error("A copy of a table is begun again in %d second: %s", RESTART_SECONDS, reason)
        self._restart_at = monotonic() + RESTART_SECONDS

    def restart_now(self) -> None:
        """Begin again what waits for that."""
        self._restart_at = None if self._restart_at is None else 0.0

    def take_restart(self) -> bool:
        """Return whether it is time for that."""
        if self._restart_at is None or monotonic() < self._restart_at:
            return False
        self._restart_at = None
        return True

    def start(self, rows: CopyQuery, name: str, on_copied: OnCopied) -> None:
        """After the commit, write a copy to a file on a thread, then call `on_copied` inside the engine."""
        self.waiting.append((_begin_copy(self._engine, name), rows, on_copied))

    def count(self) -> tuple[int, int]:
        """Return how many copies of this transaction wait, and how many are finished."""
        return len(self.waiting), len(self.finished)

    def discard_after(self, counts: tuple[int, int]) -> None:
        """Throw away the copies that were begun since they were counted."""
        waiting, finished = counts
        for copy in [*(copy for copy, _, _ in self.waiting[waiting:]), *self.finished[finished:]]:
            copy.discard()
        del self.waiting[waiting:], self.finished[finished:]

    def finish_transaction(self, *, kept: bool) -> None:
        """After a commit or a rollback: begin what waited, name what is finished; or throw both away."""
        waiting, self.waiting = self.waiting, []
        for copy, rows, on_copied in waiting:
            if not kept:
                copy.discard()
                continue
            with contextlib.suppress(SqliteError):  # the thread tries again, and reports
                copy.take_snapshot()  # before another request can delete the table
            thread = threading.Thread(
                target=self._run, args=(rows, copy, on_copied), name="hashrange-copy", daemon=True
            )
            self._running[thread] = copy
            thread.start()
        if self.finished:
            self._finish_files(kept=kept)

    def _run(self, rows: CopyQuery, copy: CopyFile, on_copied: OnCopied) -> None:
        failure: StorageError | None = None
        try:
            copy.take_snapshot()
            copy.select(rows.query, rows.parameters)
            copy.finish()
        except (SqliteError, OSError) as cause:
            copy.discard()
            failure = StorageError(_explain(self._engine, cause))
        try:
            self._engine.run_in_group(
                lambda: self._engine.run_or_roll_back(lambda: self._report(on_copied, copy, failure))
            )
        except InternalServerError as reason:
            self.restart_later(reason)
        finally:
            self._running.pop(threading.current_thread(), None)

    def _report(self, on_copied: OnCopied, copy: CopyFile, failure: StorageError | None) -> None:
        if not self._engine.closed:
            self._engine.begin_transaction()
            if failure is None:
                self.finished.append(copy)
            on_copied(failure)

    def _finish_files(self, *, kept: bool) -> None:
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
                copy.interrupt()  # has no effect between two statements
                thread.join(0.02)


class CopyContext(CatalogContext, Protocol):
    """An engine, as far as the parts that copy tables use it."""

    @property
    def copies(self) -> BackgroundCopies:
        """The copies that are being written."""
        ...
