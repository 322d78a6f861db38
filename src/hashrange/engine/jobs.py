"""Long work in slices: backfill an index, clear a column, purge a deleted table, fill in expiry times.

A job is a row in the database, advanced in the same transaction as the work it records: after a kill it continues where
it stopped. Requests run between slices. When there is no job, the regular rounds (TTL, trimming) run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib import import_module
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

import orjson
from msgspec.structs import replace

from hashrange.core.clock import SystemClock
from hashrange.core.errors import InternalServerError
from hashrange.core.wire import Wire
from hashrange.engine import sql, ttl
from hashrange.engine.definition import GlobalIndexDefinition
from hashrange.engine.recovery import backup_store
from hashrange.engine.recovery.table_copy import CopyContext
from hashrange.engine.stream import streams

if TYPE_CHECKING:
    from hashrange.engine.table import Table

ROWS_PER_SLICE = 250
SMALL_TABLE = 1_000
ROUND_SECONDS = 1.0


class Job:
    """One piece of long work and how far it has come."""

    __slots__ = ("id", "job_type", "n", "state")

    def __init__(self, identity: int, job_type: str, n: int, state: Wire) -> None:
        self.id = identity
        self.job_type = job_type
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


Slice = Callable[[JobContext, Job], bool]
JOB_TYPES: dict[str, Slice] = {}
# The modules that declare the types that are not at the end of this file; imported when there is such a job.
MODULES = {"restore": "hashrange.engine.recovery.restore", "unfill": "hashrange.engine.bulk_load"}


def register_job(job_type: str) -> Callable[[Slice], Slice]:
    """Declare the function below as the one that does a slice of such jobs; it tells whether the job is done."""

    def declare(function: Slice) -> Slice:
        JOB_TYPES[job_type] = function
        return function

    return declare


def find_slice(job_type: str) -> Slice:
    """Return what does a slice of such jobs."""
    if job_type not in JOB_TYPES:
        import_module(MODULES[job_type])
    return JOB_TYPES[job_type]


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
        self._pending = {row[0]: Job(row[0], row[1], row[2], orjson.loads(row[3])) for row in rows}
        self.wake()

    def start(self, job_type: str, n: int, state: Wire, *, at_once: bool | None = None) -> None:
        """Start a job inside the caller's transaction; on a small table, or with `at_once`, it is finished at once."""
        job = self.record(job_type, n, state)
        self._pending[job.id] = job
        if self._is_small(n) if at_once is None else at_once:
            while not self._advance(job):
                pass
        else:
            self.wake()

    def record(self, job_type: str, n: int, state: Wire) -> Job:
        """Record a job that is picked up only after a restart, should it still be there."""
        execute = self._engine.store.execute
        execute(sql.ADD_JOB, (job_type, n, orjson.dumps(state)))
        return Job(self._engine.store.connection.last_insert_rowid(), job_type, n, state)

    def drop(self, n: int, job_type: str | None = None) -> None:
        """Delete the jobs of a table: all of them, or those of a type."""
        self._engine.store.execute(sql.DELETE_JOBS, (n, job_type))
        dropped = [job.id for job in self._pending.values() if job.n == n and job_type in (None, job.job_type)]
        for identity in dropped:
            del self._pending[identity]

    def _is_small(self, n: int) -> bool:
        newest = self._engine.store.execute(sql.count_rows([f"t{n}"], SMALL_TABLE + 1))
        found = newest.fetchone()
        return found is not None and found[0] <= SMALL_TABLE

    def _advance(self, job: Job) -> bool:
        """Do one slice; store the new state, or delete the job when it is done."""
        execute = self._engine.store.execute
        done = find_slice(job.job_type)(self._engine, job)
        if self._pending.get(job.id) is not job:  # dropped by its own work; the number may be another's by now
            return True
        if done:
            self._pending.pop(job.id, None)
            execute(sql.DELETE_JOB, (job.id,))
        else:
            execute(sql.SAVE_JOB, (orjson.dumps(job.state), job.id))
        return done

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
        """Tell the thread, if there is one, that there is work."""
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
        """Let the thread end; it holds nothing."""
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
            except InternalServerError:  # undone, and tried again later
                pause = ROUND_SECONDS
            busy = monotonic() - started
            delay = max(pause, busy) if self._engine.jobs.has_work else None  # leave half of the time to requests


# -- the types of jobs -----------------------------------------------------------------------------------------------


@register_job("purge")
def _purge(engine: JobContext, job: Job) -> bool:
    """Remove what is left of a deleted table: its rows, its log."""
    execute, names = engine.store.execute, job.state["names"]
    execute(sql.delete_rows(names[0], ROWS_PER_SLICE))
    if engine.store.connection.changes():
        return False
    execute(sql.drop_table(names.pop(0)))
    return not names


@register_job("unlink")
def _unlink(engine: JobContext, job: Job) -> bool:
    """Remove a file of rows, after the commit that no longer needs it."""
    engine.store.remove_copy(job.state["file"])
    return True


@register_job("clear")
def _clear(engine: JobContext, job: Job) -> bool:
    """Empty the column of a removed index, so that another index can use it."""
    released, n = job.state["slot"], job.n
    engine.store.execute(sql.clear_column(n, released, ROWS_PER_SLICE))
    if engine.store.connection.changes():
        return False
    table = table_numbered(engine, n)
    if table is not None:
        kept = tuple(column for column in table.definition.clearing if column != released)
        engine.catalog.save(table, replace(table.definition, clearing=kept))
    return True


@register_job("backfill")
def _backfill(engine: JobContext, job: Job) -> bool:
    """Put items from before an index into it, skipping those whose values cannot be its key."""
    table = table_numbered(engine, job.n)
    index = table.indexes_by_name.get(job.state["index"]) if table else None
    if table is None or index is None:
        return True
    rows = _rows_after(engine, job, f"g{index.column}")
    for identity, size, body, present in rows:
        item = orjson.loads(body)
        key = index.key_encoder.encode(item)
        if key is not None and present is None:
            engine.store.execute(sql.set_column(job.n, f"g{index.column}"), (key, identity))
            index.item_count += 1
            index.size_bytes += size if index.keeps_all else index.measure_entry(item)
    engine.catalog.touch(table)
    if len(rows) == ROWS_PER_SLICE:
        return False
    assert isinstance(index.definition, GlobalIndexDefinition)
    filled = replace(index.definition, backfill=False)
    engine.catalog.save(table, table.definition.replace_global_index(filled))
    return True


@register_job("expiry")
def _fill_expiry(engine: JobContext, job: Job) -> bool:
    """Note when the existing items of a table expire."""
    table = table_numbered(engine, job.n)
    if table is None:
        return True
    rows = _rows_after(engine, job, "x")
    for identity, _size, body, present in rows:
        expires = table.expiry_of(orjson.loads(body)) if table.ttl_attribute else None
        if expires != present:
            engine.store.execute(sql.set_column(job.n, "x"), (expires, identity))
    return len(rows) < ROWS_PER_SLICE


def _rows_after(engine: JobContext, job: Job, column: str) -> list[tuple[Any, ...]]:
    """Return the next rows; when they are fewer than a slice, all that comes later is complete from the start."""
    rows: list[tuple[Any, ...]] = engine.store.execute(
        sql.rows_after(job.n, column, ROWS_PER_SLICE), (job.state["last"],)
    ).fetchall()
    if rows:
        job.state["last"] = rows[-1][0]
    return rows


def table_numbered(engine: JobContext, n: int) -> Table | None:
    """Return the live table of a number."""
    return next((table for table in engine.catalog.tables.values() if table.n == n), None)
