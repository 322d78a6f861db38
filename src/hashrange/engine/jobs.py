"""Long work in slices: backfill an index, clear a column, purge a deleted table, fill in expiry times.

A job is a row in the database, advanced in the same transaction as the work it records: after a kill it continues where
it stopped. Requests run between slices. When there is no job, the regular rounds (TTL, trimming) run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib import import_module
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import orjson
from msgspec.structs import replace

from hashrange.core.clock import SystemClock
from hashrange.core.errors import InternalServerError
from hashrange.engine import sql, ttl
from hashrange.engine.definition import GlobalIndexDefinition
from hashrange.engine.job_state import (
    ClearColumn,
    FillExpiry,
    FillIndex,
    JobState,
    Purge,
    RemoveCopy,
    RestoreRows,
    UndoLoad,
    dump_state,
    load_state,
)
from hashrange.engine.recovery import backup_store
from hashrange.engine.recovery.table_copy import CopyContext
from hashrange.engine.stream import streams

if TYPE_CHECKING:
    from hashrange.engine.table import Table

ROWS_PER_SLICE = 250
SMALL_TABLE = 1_000
ROUND_SECONDS = 1.0


class Job:
    """A piece of long work on the table with the number `n`, and how far it has come."""

    __slots__ = ("id", "n", "state")

    def __init__(self, identity: int, n: int, state: JobState) -> None:
        self.id = identity
        self.n = n
        self.state = state


class JobContext(CopyContext, Protocol):
    """An engine, as far as jobs use it."""

    @property
    def jobs(self) -> Jobs:
        """The jobs under way."""
        ...

    def maintain(self) -> float:
        """Do a slice of what is due; return the seconds until there is more."""
        ...


S = TypeVar("S", bound=JobState)
Slice = Callable[[JobContext, int, S], S | None]
SLICES: dict[type[JobState], Slice[Any]] = {}
# The modules of the functions that are not at the end of this file; imported when there is such a job.
MODULES: dict[type[JobState], str] = {
    RestoreRows: "hashrange.engine.recovery.restore",
    UndoLoad: "hashrange.engine.bulk_load",
}


def register_job(state_type: type[S]) -> Callable[[Slice[S]], Slice[S]]:
    """Declare the function that does a slice of such jobs and returns the new state, None when the job is done."""

    def declare(function: Slice[S]) -> Slice[S]:
        SLICES[state_type] = function
        return function

    return declare


def find_slice(state: JobState) -> Slice[Any]:
    """Return the function that does a slice of such a job."""
    if type(state) not in SLICES:
        import_module(MODULES[type(state)])
    return SLICES[type(state)]


class Jobs:
    """The jobs that are not done yet, and the thread that works on them."""

    def __init__(self, engine: JobContext) -> None:
        self._engine = engine
        self._pending: dict[int, Job] = {}
        self._job_thread: JobThread | None = None
        self._next_round = 0

    def resume(self) -> None:
        """Read the jobs from the database, as after opening or a rollback."""
        rows = self._engine.store.execute(sql.LOAD_JOBS).fetchall()
        self._pending = {row[0]: Job(row[0], row[2], load_state(row[1], row[3])) for row in rows}
        self.wake()

    def start(self, n: int, state: JobState, *, at_once: bool | None = None) -> None:
        """Start a job inside the caller's transaction; on a small table, or with `at_once`, it is finished at once."""
        job = self.record(n, state)
        self._pending[job.id] = job
        if self._is_small(n) if at_once is None else at_once:
            while not self._advance(job):
                pass
        else:
            self.wake()

    def record(self, n: int, state: JobState) -> Job:
        """Record a job that is done only after a restart, unless it is dropped before."""
        self._engine.store.execute(sql.ADD_JOB, (state.job_type, n, dump_state(state)))
        return Job(self._engine.store.connection.last_insert_rowid(), n, state)

    def drop(self, n: int, state_type: type[JobState] | None = None) -> None:
        """Delete the jobs of a table: all of them, or those of a type."""
        self._engine.store.execute(sql.DELETE_JOBS, (n, None if state_type is None else state_type.job_type))
        dropped = [
            job.id for job in self._pending.values() if job.n == n and isinstance(job.state, state_type or JobState)
        ]
        for identity in dropped:
            del self._pending[identity]

    def _is_small(self, n: int) -> bool:
        newest = self._engine.store.execute(sql.count_rows([f"t{n}"], SMALL_TABLE + 1))
        found = newest.fetchone()
        return found is not None and found[0] <= SMALL_TABLE

    def _advance(self, job: Job) -> bool:
        """Do one slice; store the new state, or delete the job when it is done. Return whether it is done."""
        execute = self._engine.store.execute
        state = find_slice(job.state)(self._engine, job.n, job.state)
        if self._pending.get(job.id) is not job:  # dropped by its own work; the number may be another's by now
            return True
        if state is None:
            self._pending.pop(job.id, None)
            execute(sql.DELETE_JOB, (job.id,))
            return True
        job.state = state
        execute(sql.SAVE_JOB, (dump_state(state), job.id))
        return False

    def step(self) -> float:
        """Do one slice of what is due; return the seconds until there is more."""
        return self._engine.run_in_group(lambda: self._engine.run_or_roll_back(self._step))

    def _step(self) -> float:
        if self._engine.closed:
            return ROUND_SECONDS
        self._engine.store.find_loss()
        job = next(iter(self._pending.values()), None)
        if job is not None:
            self._engine.begin_transaction()
            self._advance(job)
            return 0.0
        now = self._engine.clock.millis()
        if now < self._next_round and self._next_round - now <= ROUND_SECONDS * 1000:
            return (self._next_round - now) / 1000
        self._engine.wall_time()  # notices that the clock was set back
        if self._engine.clock_log.is_dirty:
            self._engine.begin_transaction()
        more = ttl.delete_expired(self._engine) or streams.trim(self._engine)
        backup_store.expire(self._engine)
        if more:
            return 0.0
        self._next_round = now + int(ROUND_SECONDS * 1000)
        return ROUND_SECONDS

    def start_round_now(self) -> None:
        """Let the next round begin now."""
        self._next_round = 0

    @property
    def has_work(self) -> bool:
        """Whether there is anything that needs regular attention."""
        catalog = self._engine.catalog
        return bool(self._pending or catalog.retired) or any(_needs_rounds(table) for table in catalog.tables.values())

    # -- the thread that works on them where no server does ---------------------------------------------------------

    def start_thread(self) -> None:
        """Let a thread of ours do the work (for engines inside a program; a server does it between requests)."""
        if self._job_thread is None and isinstance(self._engine.clock, SystemClock):
            self._job_thread = JobThread(self._engine)
            self.wake()

    def wake(self) -> None:
        """Wake the thread, if there is one and it has work."""
        if self._job_thread is not None and self.has_work:
            self._job_thread.wake()

    def stop(self) -> None:
        """End the thread."""
        if self._job_thread is not None:
            self._job_thread.stop()


def _needs_rounds(table: Table) -> bool:
    return table.ttl_attribute is not None or table.definition.has_log


class JobThread:
    """A thread that calls `maintain`; started by the first need for it."""

    def __init__(self, engine: JobContext) -> None:
        self._engine = engine
        self._due = threading.Event()
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """Start working soon."""
        self._due.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="hashrange-upkeep", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Make the thread end soon; nothing needs to be released."""
        self._due.set()

    def _run(self) -> None:
        delay: float | None = 0.0
        while True:
            self._due.wait(delay)
            self._due.clear()
            if self._engine.closed:
                break
            started = monotonic()
            try:
                pause = self._engine.maintain()
            except InternalServerError:  # rolled back, and tried again later
                pause = ROUND_SECONDS
            busy = monotonic() - started
            delay = max(pause, busy) if self._engine.jobs.has_work else None  # leave half of the time to requests


# -- the work of each type -------------------------------------------------------------------------------------------


@register_job(Purge)
def _purge(engine: JobContext, _n: int, state: Purge) -> Purge | None:
    """Delete some rows of the first table; drop it when it is empty."""
    first, *others = state.names
    engine.store.execute(sql.delete_rows(first, ROWS_PER_SLICE))
    if engine.store.connection.changes():
        return state
    engine.store.execute(sql.drop_table(first))
    return Purge(tuple(others)) if others else None


@register_job(RemoveCopy)
def _remove_copy(engine: JobContext, _n: int, state: RemoveCopy) -> None:
    """Remove the file."""
    engine.store.remove_copy(state.file)


@register_job(ClearColumn)
def _clear_column(engine: JobContext, n: int, state: ClearColumn) -> ClearColumn | None:
    """Empty the column in some rows; at the end, record that an index can use it."""
    engine.store.execute(sql.clear_column(n, state.column, ROWS_PER_SLICE))
    if engine.store.connection.changes():
        return state
    table = table_numbered(engine, n)
    if table is not None:
        kept = tuple(column for column in table.definition.clearing if column != state.column)
        engine.catalog.save(table, replace(table.definition, clearing=kept))
    return None


@register_job(FillIndex)
def _fill_index(engine: JobContext, n: int, state: FillIndex) -> FillIndex | None:
    """Put some items into the index, except those whose values cannot be its key."""
    table = table_numbered(engine, n)
    index = table.indexes_by_name.get(state.index) if table else None
    if table is None or index is None:
        return None
    rows = _rows_after(engine, n, f"g{index.column}", state.last)
    for identity, size, body, present in rows:
        item = orjson.loads(body)
        key = index.key_encoder.encode(item)
        if key is not None and present is None:
            engine.store.execute(sql.set_column(n, f"g{index.column}"), (key, identity))
            index.item_count += 1
            index.size_bytes += size if index.keeps_all else index.measure_entry(item)
    engine.catalog.touch(table)
    if len(rows) == ROWS_PER_SLICE:
        return replace(state, last=rows[-1][0])
    assert isinstance(index.definition, GlobalIndexDefinition)
    filled = replace(index.definition, backfill=False)
    engine.catalog.save(table, table.definition.replace_global_index(filled))
    return None


@register_job(FillExpiry)
def _fill_expiry(engine: JobContext, n: int, state: FillExpiry) -> FillExpiry | None:
    """Store the expiry times of some items."""
    table = table_numbered(engine, n)
    if table is None:
        return None
    rows = _rows_after(engine, n, "x", state.last)
    for identity, _size, body, present in rows:
        expires = table.expiry_of(orjson.loads(body)) if table.ttl_attribute else None
        if expires != present:
            engine.store.execute(sql.set_column(n, "x"), (expires, identity))
    return FillExpiry(rows[-1][0]) if len(rows) == ROWS_PER_SLICE else None


def _rows_after(engine: JobContext, n: int, column: str, last: int) -> list[tuple[Any, ...]]:
    """Return the rows of a slice; fewer than a full slice are the last ones."""
    rows: list[tuple[Any, ...]] = engine.store.execute(sql.rows_after(n, column, ROWS_PER_SLICE), (last,)).fetchall()
    return rows


def table_numbered(engine: JobContext, n: int) -> Table | None:
    """Return the live table of a number."""
    return next((table for table in engine.catalog.tables.values() if table.n == n), None)
