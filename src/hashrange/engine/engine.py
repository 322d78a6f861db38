"""Engine: the embedded database. It owns the store, the catalog and the jobs, and groups requests into commits.

One thread at a time is inside. Everything performed between `begin` and `end` shares one commit; the responses may be
sent only after `end` has returned. `call` does the three for one request, and concurrent callers share commits.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Protocol, TypeVar, TypeVarTuple
from weakref import WeakSet

from msgspec import Struct

from hashrange.core.clock import Clock, SystemClock
from hashrange.core.errors import (
    NOT_SERVED,
    CorruptFile,
    FileLost,
    ForkedProcess,
    InternalServerError,
    RequestInvalid,
    SerializationException,
    StorageError,
    UnknownOperationException,
    ValidationException,
)
from hashrange.core.values import WrongWireType
from hashrange.core.wire import Wire
from hashrange.engine import clock_log, shape, sql
from hashrange.engine.catalog import Catalog
from hashrange.engine.clock_log import ClockLog
from hashrange.engine.context import EngineSettings, resolve_region
from hashrange.engine.jobs import Jobs
from hashrange.engine.operation import Operation
from hashrange.engine.partial_work import Inputs, PartialWork, Paused
from hashrange.engine.recovery import backup_store, restore
from hashrange.engine.recovery.table_copy import BackgroundCopies
from hashrange.engine.store import SqliteError, Store, WriteRefused
from hashrange.engine.stream import streams

Reread = Callable[[Wire], Wire]
Arguments = TypeVarTuple("Arguments")
HALF_DONE = "An operation failed after it had begun to write; nothing was written."
SECONDS_AT_EXIT = 1.0  # for a thread inside an engine to leave it; what it does not commit is not acknowledged
T = TypeVar("T")


class CommitGroup(Struct):
    """Requests that share a commit."""

    done: threading.Event | None = None
    failure: StorageError | None = None


def as_given(request: Wire) -> Wire:
    """Return a request that is JSON's already."""
    return request


def as_converted(request: Wire) -> Wire:
    """Return a request that `shape` has converted."""
    return request


class FaultInjector(Protocol):
    """Makes calls fail on purpose; `hashrange.faults` has the only one."""

    def take_delay(self, operation: Operation, request: Wire, /) -> float:
        """Return how many seconds longer a call takes."""
        ...

    def perform(self, engine: Engine, operation: Operation, request: Wire, /) -> bytes:
        """Run one request inside the engine's group, or let it fail."""
        ...


class Engine:
    """An open database."""

    def __init__(
        self,
        store: Store,
        operations: Mapping[str, Operation],
        *,
        clock: Clock | None = None,
        settings: EngineSettings | None = None,
        faults: FaultInjector | None = None,
    ) -> None:
        self.store = store
        self.operations = operations
        self.faults = faults
        self.clock: Clock = clock or SystemClock()
        self.settings = resolve_region(store, settings or EngineSettings())
        self.endpoint: str | None = None  # host and port, once it is served
        self.written = 0  # rows written since opening; shows whether a failed operation has written anything
        self.in_transaction = False  # there is an open transaction
        self._lock = threading.Lock()
        self._waiting: deque[None] = deque()
        self._group = CommitGroup()
        self._partial: PartialWork | None = None  # of the request that runs, if it has paused
        self._pause_at = inf
        self._last_time = self.last_wall_time = 0
        self._sequence = 0
        self.closed = False
        self._refusal = StorageError("The database is closed.")
        self.jobs = Jobs(self)
        self.catalog = Catalog(self, lambda table: backup_store.keep_deleted_table(self, table))
        self.copies = BackgroundCopies(self)
        self.clock_log = ClockLog(store)
        self._sequence = streams.last_number(self)
        self._last_time = self.last_wall_time = self._sequence >> streams.SEQUENCE_BITS
        self.jobs.resume()
        try:
            self.run_in_group(self._resume)
        except InternalServerError as failure:  # a disk without room for copies must not keep anyone from reading
            self.copies.restart_later(failure)
        _open_engines.add(self)

    def detach_after_fork(self, parent: int) -> None:
        """In a forked process: refuse all further use, and leave the files to the process that opened them."""
        self._lock = threading.Lock()  # another thread may have held it
        self.closed = True
        self._refusal = ForkedProcess(
            f"The database in {self.store.directory or 'memory'} was opened by process {parent}, and this process was "
            "forked from it. Open the database after the fork, in each process that needs one of its own, or connect "
            "to a server (hashrange serve)."
        )
        self.store.detach_after_fork()

    def _resume(self) -> None:
        backup_store.clean_up_files(self)
        self._restart_copies()

    def _restart_copies(self) -> None:
        backup_store.restart_copies(self)
        restore.restart_copies(self)

    def now(self) -> int:
        """Return a time in milliseconds that never decreases, even if the clock is set back, for states and names."""
        self._last_time = max(self._last_time, self.clock.millis())
        return self._last_time

    def wall_time(self) -> int:
        """Return the clock's time in milliseconds, of changes and recovery; notes when it was set back."""
        millis, last = self.clock.millis(), self.last_wall_time
        if millis < last:
            if last - millis < clock_log.TOLERANCE:
                return last
            self.clock_log.note(self._number_at(last), last, millis)
        self.last_wall_time = millis
        return millis

    def next_sequence(self) -> int:
        """Return the next number of the change log: rising, also over restarts and when the clock is set back."""
        return self._number_at(self.wall_time())

    def _number_at(self, millis: int) -> int:
        self._sequence = max(self._sequence + 1, streams.number_at(millis))
        return self._sequence

    # -- groups ---------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Take the engine; what is performed until `end` shares one commit."""
        self._lock.acquire()

    def perform(
        self,
        operation: Operation,
        request: Wire,
        reread: Reread = as_given,
        *,
        inject: bool = True,
        partial: PartialWork | None = None,
        pause_at: float = inf,
    ) -> bytes:
        """Run one request inside the group and return its response, valid once `end` has returned.

        A request that was not read from JSON comes with `reread`, which gives it as JSON would carry it. Later than
        `pause_at` it may raise Paused, to be performed again with `partial`.
        """
        if self.closed:
            raise self._refusal
        if self._group.failure is not None:
            raise InternalServerError(str(self._group.failure))
        if self.faults is not None and inject:
            return self.faults.perform(self, operation, reread(request))
        self._partial, self._pause_at = partial, pause_at
        if partial is not None:
            partial.use_engine(self)
        try:
            if operation.writes and not self.in_transaction:
                self.begin_transaction()
            return self._run(operation, request, reread)
        except SqliteError as failure:
            raise self._void(self.store.translate(failure)) from failure
        except FileLost as failure:
            raise InternalServerError(str(failure)) from failure

    def run_or_roll_back(self, work: Callable[[], T]) -> T:
        """Run some background work inside the group; whatever it fails with, undo the whole group."""
        try:
            return work()
        except SqliteError as failure:
            raise self._void(self.store.translate(failure)) from failure
        except StorageError as failure:
            raise self._void(failure) from failure
        except BaseException:
            self._void(StorageError("Background work failed; nothing was written."))
            raise

    @property
    def may_pause(self) -> bool:
        """Whether the request that runs may pause between parts of its work."""
        return self._pause_at != inf

    def do_parts(
        self, name: str, inputs: Callable[[*Arguments], Inputs], work: Callable[[*Arguments], T],
        entries: Iterable[tuple[*Arguments]],
    ) -> list[T]:  # fmt: skip
        """Return the results of parts of the request's work, each of which depends on its inputs alone, or pause.

        Nothing is kept of the first turn: most requests need no other.
        """
        partial, done = self._partial, []
        if partial is not None:
            return [partial.do((name, at), inputs(*each), work, *each) for at, each in enumerate(entries)]
        for each in entries:
            if perf_counter() > self._pause_at:
                raise Paused
            done.append(work(*each))
        return done

    def begin_transaction(self) -> None:
        """Make sure that there is an open write transaction."""
        if not self.in_transaction:
            self.store.begin()
            self.in_transaction = True

    def _run(self, operation: Operation, request: Wire, reread: Reread) -> bytes:
        if not operation.needs_no_copy:
            request = reread(request)
        if not shape.accept(operation.name, request):
            request = shape.convert(operation.name, reread(request), operation.violations)
        written = self.written
        try:
            return operation.run(self, request)
        except WrongWireType:  # inside a value, where `accept` does not look: null, or `"true"` for a boolean
            if reread is as_converted:  # there are more values than `shape` converts
                raise SerializationException from None
            converted = shape.convert(operation.name, reread(request), operation.violations)
            return self._run(operation, converted, as_converted)
        except ValidationException as refusal:
            self._check_untouched(written, refusal)
            # What the shape forbids is reported first.
            shape.convert(operation.name, reread(request), operation.violations)
            if isinstance(refusal, RequestInvalid) and operation.enveloped:
                raise refusal.enveloped() from None
            raise
        except SqliteError:
            raise  # `perform` undoes the group and says what happened
        except BaseException as failure:
            self._check_untouched(written, failure)
            raise

    def dry_run(self, operation: Operation, request: Wire) -> None:
        """Run a request until its first write, and change nothing; raise whatever error it would meet until then."""
        self._partial, self._pause_at = None, inf
        try:
            if operation.writes:
                self._dry_run_write(operation, request)
            else:
                self._run(operation, request, as_given)
        except SqliteError as failure:
            raise self._void(self.store.translate(failure)) from failure

    def _dry_run_write(self, operation: Operation, request: Wire) -> None:
        self.begin_transaction()
        self.catalog.write_counts()
        copies = self.copies.count()
        try:
            with self.store.writes_refused(), contextlib.suppress(WriteRefused):
                self._run(operation, request, as_given)
        finally:
            self.copies.discard_after(copies)
            if operation.writes == "tables":  # it may have changed definitions in memory before its first write
                self.catalog.reload()

    def _check_untouched(self, written: int, failure: BaseException) -> None:
        if self.written != written:  # a half-done operation must not be committed
            said = str(failure) if isinstance(failure, InternalServerError) else HALF_DONE
            raise self._void(StorageError(said)) from failure

    def _void(self, failure: StorageError) -> InternalServerError:
        """Undo the whole group: none of its responses may be sent."""
        self._group.failure = failure
        self.store.rollback()
        self.in_transaction = False
        if self.copies.finished or self.copies.waiting:
            self.copies.finish_transaction(kept=False)
        self.catalog.reload()
        self.jobs.resume()
        self.clock_log.is_dirty = bool(self.clock_log.set_backs)  # what was rolled back is written again
        return InternalServerError(str(failure))

    def end(self) -> None:
        """Commit the group and release the engine; raise StorageError if nothing of it was committed."""
        group = self._group
        if (
            not self.in_transaction and group.done is None and group.failure is None
        ):  # nothing was written, and no thread waits
            self._lock.release()
            return
        try:
            failure = self._finish()
        finally:
            self._lock.release()
        if failure is not None:
            raise failure

    def _finish(self) -> StorageError | None:
        """Commit the group and begin the next one; return the failure if nothing was committed."""
        group = self._group
        try:
            if self.in_transaction and group.failure is None:
                self._commit()
        finally:
            self._group = CommitGroup()
            if group.done is not None:
                group.done.set()
        return group.failure

    def _commit(self) -> None:
        try:
            if not self.store.in_memory:
                self.catalog.write_counts()
            if self.clock_log.is_dirty:
                self.clock_log.save()
            self.store.commit()
            self.in_transaction = False
        except SqliteError as failure:
            self._void(self.store.translate(failure))
        except BaseException:  # an interrupt: no request of the group may be reported as committed
            self._void(StorageError("The commit was interrupted; it may have been written: read the items to see."))
            raise
        if self.copies.finished or self.copies.waiting:
            self.copies.finish_transaction(kept=not self._group.failure)

    def call(self, name: str, request: Wire, reread: Reread = as_given, *, delay: bool = True) -> bytes:
        """Run one request and return its response once it is durable; threads that wait share the commit."""
        try:
            operation = self.operations[name]
        except KeyError:
            raise UnknownOperationException(NOT_SERVED.format(name)) from None
        if self.faults is not None and delay:
            time.sleep(self.faults.take_delay(operation, request))
        return self.run_in_group(self.perform, operation, request, reread)

    def run_in_group(self, work: Callable[[*Arguments], T], *arguments: *Arguments) -> T:
        """Run some work in a group of its own or, when others wait, in a group with them."""
        group = late = None
        try:
            self._waiting.append(None)  # the thread inside may leave the commit to this one; a deque needs no lock
            with self._lock:  # not `acquire`: an interrupt could fall between having the lock and knowing it
                group = self._group
                try:
                    self._waiting.pop()
                    response = work(*arguments)
                finally:
                    late = self._commit_or_defer(group)
        finally:
            if group is None:
                self._leave_queue()
            elif late is not None:
                late.wait()
        if group.failure is not None:
            raise InternalServerError(str(group.failure))
        return response

    def _commit_or_defer(self, group: CommitGroup) -> threading.Event | None:
        """Commit, unless other threads wait to write: then the last of them commits, and sets the returned event."""
        if self.in_transaction and self._waiting:
            group.done = group.done or threading.Event()
            return group.done
        if self.in_transaction or group.done is not None:
            self._finish()  # the group carries a failure to everyone in it
        else:
            self._group = CommitGroup()
        return None

    def _leave_queue(self) -> None:
        """Leave the queue after an interrupt; commit if the other threads have left the commit to this one."""
        with self._lock:
            self._waiting.pop()
            self._commit_or_defer(self._group)

    @property
    def is_busy(self) -> bool:
        """Whether a thread is inside, or a group is not committed yet."""
        return self._lock.locked()

    @property
    def is_empty(self) -> bool:
        """Whether there are neither tables, nor streams of deleted tables, nor backups."""
        catalog = self.catalog
        return not (catalog.tables or catalog.retired or self.store.execute(sql.LOAD_BACKUPS).fetchone())

    # -- upkeep ---------------------------------------------------------------------------------------------------

    def maintain(self) -> float:
        """Do one bounded slice of background work; return the seconds until there is more to do."""
        if self.copies.take_restart():
            try:
                self.run_in_group(lambda: self.run_or_roll_back(self._restart_copies))
            except InternalServerError as failure:
                self.copies.restart_later(failure)
        return self.jobs.step()

    def finish_jobs(self) -> None:
        """Finish all background work that is due now."""
        self.copies.wait()
        self.copies.restart_now()
        self.jobs.start_round_now()
        while self.maintain() == 0:
            pass

    def close(self) -> None:
        """Finish what is under way and close the file."""
        self.begin()
        was_closed, self.closed = self.closed, True
        with contextlib.suppress(StorageError):  # the group carries it to everyone in it
            self.end()
        if was_closed:
            return
        self.copies.stop()
        with self._lock:
            self.jobs.stop()
            self.store.close()

    def close_at_exit(self) -> None:
        """Close the database of a program that ends without doing so, unless a thread stays inside."""
        if self._lock.acquire(timeout=SECONDS_AT_EXIT):
            self._lock.release()
            self.close()


_open_engines: WeakSet[Engine] = WeakSet()


def _detach_after_fork() -> None:
    for engine in list(_open_engines):
        if not engine.closed:
            engine.detach_after_fork(os.getppid())


def _close_all() -> None:
    for engine in list(_open_engines):
        if not (engine.closed or engine.store.in_memory):
            engine.close_at_exit()


os.register_at_fork(after_in_child=_detach_after_fork)
atexit.register(_close_all)


def open_engine(
    data: Path | None,
    operations: Mapping[str, Operation],
    *,
    fsync: bool = False,
    clock: Clock | None = None,
    settings: EngineSettings | None = None,
    faults: FaultInjector | None = None,
    accept_loss: bool = False,
) -> Engine:
    """Open the database in a directory, or one in memory; if so accepted, without writes that the log has lost."""
    store = Store(data, fsync=fsync, accept_loss=accept_loss)
    try:
        return Engine(store, operations, clock=clock, settings=settings, faults=faults)
    except BaseException as failure:
        store.close()
        if isinstance(failure, SqliteError):
            raise store.translate(failure) from failure
        if isinstance(failure, TypeError | ValueError | LookupError) and not store.in_memory:
            message = f"A definition in {store.directory} is damaged ({failure}); restore the directory from a copy."
            raise CorruptFile(message) from failure
        raise
