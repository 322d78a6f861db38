"""Consumers: functions that handle the changes of a table's stream as typed items, at least once.

    announcements = db.consumer("announcements", checkpoints)

    @announcements.on(Paid)
    def announce(change: ItemChange[Paid]) -> None: ...

    announcements.run()               # handles what is there; `follow()` continues for ever

`stream_shards` finds the shards and stores the checkpoints. As a Lambda function, a consumer needs neither.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from inspect import iscoroutinefunction
from itertools import islice
from typing import Any, Generic, Literal

import orjson
from msgspec import Struct
from typing_extensions import TypeVar

from hashrange.core.errors import (
    DeclarationError,
    ExpiredIteratorException,
    HandlerFailed,
    HashrangeError,
    StreamTrimmed,
    TrimmedDataAccessException,
)
from hashrange.core.wire import Wire
from hashrange.schema.declare.model import Model
from hashrange.schema.declare.table import Table
from hashrange.session.item_change import ItemChange, read_change, records_of, table_of_record
from hashrange.session.outage import Outage
from hashrange.session.runnable import Runnable, Task
from hashrange.session.session import Session
from hashrange.session.steps import Call, Handle, Pause, Steps, backoff
from hashrange.session.stream_shards import (
    Checkpoint,
    CheckpointStore,
    Shard,
    advance,
    find_shards,
    is_ready,
    unlisted,
)

M = TypeVar("M", bound=Model)
R = TypeVar("R", bound=Awaitable[object] | None)

PAGE = 100  # records in one request: a checkpoint is written after each page
EMPTY_PAGES = 3  # AWS returns an empty page now and then although more records follow
RETENTION = 24 * 3600.0  # seconds for which a stream keeps a record
LONGEST_WAIT = 0.1  # seconds after which `stop()` is noticed
CLOCK_SKEW = 1.0  # seconds by which the clock of the database may be ahead
SAVE_INTERVAL = 3600.0  # seconds after which the checkpoint of a quiet shard is written again
MAX_LETTER = 300_000  # bytes of a record that a dead letter contains with its images
DEAD = "DEAD#"


class Handler(Struct, Generic[M], frozen=True):
    """A function, and the class whose changes it handles."""

    function: Callable[[ItemChange[M]], Any]
    model: type[M]
    table: Table

    @property
    def name(self) -> str:
        """The name of the function, as errors and dead letters contain it."""
        return getattr(self.function, "__qualname__", repr(self.function))


class DeadLetter(Struct, frozen=True):
    """A change that a handler could not handle."""

    handler: str
    error: str
    record: Wire  # the stream record; without its images if they are too large
    shard: str
    attempts: int


class Consumer(Runnable[int]):
    """Handles the changes of tables: `run()` or `await` handles those that are there, and returns their number."""

    def __init__(
        self,
        session: Session,
        tables: Sequence[Table],
        name: str,
        checkpoints: Table,
        *,
        attempts: int = 5,
        after_attempts: Literal["set aside", "stop"] = "set aside",
    ) -> None:
        _check_checkpoints(name, checkpoints)
        self.session, self.tables, self.name = session, tables, name
        self.attempts, self.after_attempts = attempts, after_attempts
        self._store = CheckpointStore(session, checkpoints, name)
        self._handlers: list[Handler[Any]] = []
        self._page_handler: Callable[[list[ItemChange[Any]]], None] | None = None
        self._iterators: dict[tuple[str, str], str] = {}  # by shard and last handled record
        self._stopped = threading.Event()
        self._handled = 0  # records, in all passes
        self.stops_at: Callable[[Exception], bool] = _never  # raise such an error of a handler

    def on(self, model: type[M]) -> Callable[[Callable[[ItemChange[M]], R]], Callable[[ItemChange[M]], R]]:
        """Call the decorated function for each change of an item that is of this class before it or after it."""
        table = _table_of(self.session, model)
        self._check_table(model, table)

        def register(function: Callable[[ItemChange[M]], R]) -> Callable[[ItemChange[M]], R]:
            self._handlers.append(Handler(function, model, table))
            return function

        return register

    def on_page(self, function: Callable[[list[ItemChange[Any]]], None]) -> None:
        """Call a function with all changes of a page; if it fails, the handlers of `on` get them one by one."""
        self._page_handler = function

    def follow(self, *, every: float = 1.0) -> Runnable[int]:
        """Handle changes as they happen, until `stop()`; looks for new ones after so many seconds.

        While the database cannot be reached or throttles, it tries again; the outage is logged once.
        """
        return Task(self.session, partial(self._follow, every))

    def stop(self) -> None:
        """Let `follow` return after the record that is being handled; may be called from any thread."""
        self._stopped.set()

    def steps(self) -> Steps[int]:
        """Return the steps of one pass: every change that is there when it begins, and a checkpoint after each page."""
        handled = yield from self._read_tables()
        self._stopped.clear()
        return handled

    def _read_tables(self) -> Steps[int]:
        handled, begin = 0, self._now()
        for table in dict.fromkeys(handler.table for handler in self._handlers):
            handled += yield from self._consume(table, begin)
        return handled

    # ── Lambda ───────────────────────────────────────────────────────────────────────────────────────────────────────
    def lambda_handler(self, event: Mapping[str, Any], context: object = None) -> Wire:
        """Handle the event of a Lambda function; return the first record that failed, from which Lambda continues.

        The event source mapping needs `FunctionResponseTypes: [ReportBatchItemFailures]`. Lambda keeps the checkpoint.
        """
        del context
        task = Task(self.session, partial(self._handle_event, event))
        if any(iscoroutinefunction(handler.function) for handler in self._handlers):
            from asyncio import run

            return run(_wait_for(task))
        return task.run()

    def _handle_event(self, event: Mapping[str, Any]) -> Steps[Wire]:
        by_name = {self.session.name_of(table): table for table in self.tables}
        for record in records_of(event):
            table = table_of_record(record, by_name)
            for handler in self._handlers_of(table):
                error = yield from self._try_once(handler, record)
                if error is not None:
                    return {"batchItemFailures": [{"itemIdentifier": record["dynamodb"]["SequenceNumber"]}]}
        return {"batchItemFailures": []}

    # ── dead letters and checkpoints ─────────────────────────────────────────────────────────────────────────────────
    def dead_letters(self) -> Runnable[list[DeadLetter]]:
        """Read the changes that were set aside after their last attempt, the oldest of each shard first."""
        return Task(self.session, self._dead_letters)

    def redrive(self) -> Runnable[int]:
        """Handle the dead letters once more; delete those that succeed, and return their number."""
        return Task(self.session, self._redrive)

    def forget(self) -> Runnable[None]:
        """Delete the checkpoints: the next run begins with the oldest record that the streams keep."""
        return Task(self.session, self._forget)

    def _dead_letters(self) -> Steps[list[DeadLetter]]:
        items = yield from self._store.query(DEAD)
        return [_read_letter(item) for item in items]

    def _redrive(self) -> Steps[int]:
        letters = yield from self._dead_letters()
        done = 0
        for letter in letters:
            for handler in self._handlers:
                if handler.name == letter.handler and (yield from self._try_once(handler, letter.record)) is None:
                    yield from self._store.delete([_letter_key(letter)])
                    done += 1
        return done

    def _forget(self) -> Steps[None]:
        for table in dict.fromkeys(handler.table for handler in self._handlers):
            known = yield from self._store.load(f"{self.session.name_of(table)}/")
            yield from self._store.delete(known)
        self._iterators.clear()

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────
    def _follow(self, every: float) -> Steps[int]:
        before, outage = self._handled, Outage(f"consumer {self.name}")
        while not self._stopped.is_set():
            pause = every
            try:
                yield from self._read_tables()
                outage.end()
            except HashrangeError as error:
                found = outage.pause(error)
                if found is None:
                    raise
                pause = found
                self._iterators.clear()  # the pass begins again at the checkpoints
            yield from self._wait(pause)
        self._stopped.clear()
        return self._handled - before

    def _wait(self, seconds: float) -> Steps[None]:
        """Wait so long, but not longer than until `stop()`."""
        while seconds > 0 and not self._stopped.is_set():
            yield Pause(min(seconds, LONGEST_WAIT))
            seconds -= LONGEST_WAIT

    def _consume(self, table: Table, begin: float) -> Steps[int]:
        """Read every shard that is ready; the children of a shard that has ended are ready in the next round."""
        handled, ended = 0, True
        while ended and not self._stopped.is_set():
            ended = False
            shards = yield from find_shards(self.session, table)
            checkpoints = yield from self._store.load(f"{self.session.name_of(table)}/")
            yield from self._drop_unlisted(list(unlisted(checkpoints, shards)))
            for shard in [shard for shard in shards if is_ready(shard, checkpoints)]:
                count, is_finished = yield from self._read_shard(table, shard, checkpoints.get(shard.name), begin)
                handled, ended = handled + count, ended or is_finished
        return handled

    def _drop_unlisted(self, gone: list[Checkpoint]) -> Steps[None]:
        """Delete the checkpoints of shards that no longer exist; raise if one may have had unread records."""
        for checkpoint in gone:
            if not checkpoint.is_finished and self._is_outdated(checkpoint):
                raise self._trimmed(checkpoint)
        yield from self._store.delete([checkpoint.shard for checkpoint in gone])

    def _read_shard(
        self, table: Table, shard: Shard, checkpoint: Checkpoint | None, begin: float
    ) -> Steps[tuple[int, bool]]:
        """Handle the records of a shard from its checkpoint; return their number, and whether the shard has ended.

        Records that are newer than the beginning of the pass end it: others may be written without a pause.
        """
        handled, empty = 0, 0
        held = self._iterators.pop(_position(shard, checkpoint), None)
        iterator: str | None = held or (yield from self._find(shard, checkpoint))
        while iterator is not None and empty < EMPTY_PAGES and not self._stopped.is_set():
            try:
                page = yield Call("GetRecords", {"ShardIterator": iterator, "Limit": PAGE}, self.name)
            except ExpiredIteratorException:
                iterator = yield from self._find(shard, checkpoint)
                continue
            checkpoint = yield from self._handle_page(table, shard, page, checkpoint)
            handled, iterator = handled + len(page["Records"]), page.get("NextShardIterator")
            empty = 0 if page["Records"] else empty + 1
            if _newest(page) > begin + CLOCK_SKEW:
                break
        if iterator is not None:
            self._iterators[_position(shard, checkpoint)] = iterator
        return handled, iterator is None

    def _find(self, shard: Shard, checkpoint: Checkpoint | None) -> Steps[str]:
        """Return the iterator after a checkpoint; raise if records after it may have been trimmed."""
        request: Wire = {"StreamArn": shard.arn, "ShardId": shard.id, "ShardIteratorType": "TRIM_HORIZON"}
        if checkpoint is not None and checkpoint.sequence:
            after = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": checkpoint.sequence}
            try:
                return str((yield Call("GetShardIterator", {**request, **after}, self.name))["ShardIterator"])
            except TrimmedDataAccessException as error:
                if self._is_outdated(checkpoint):
                    raise self._trimmed(checkpoint) from error
        elif checkpoint is not None and self._is_outdated(checkpoint):  # it was empty; what came may be gone again
            raise self._trimmed(checkpoint)
        return str((yield Call("GetShardIterator", request, self.name))["ShardIterator"])

    def _handle_page(
        self, table: Table, shard: Shard, page: Wire, checkpoint: Checkpoint | None
    ) -> Steps[Checkpoint | None]:
        """Handle the records of a page, then write the checkpoint; also if a handler stops the consumer."""
        done: list[Wire] = []
        is_last = "NextShardIterator" not in page
        try:
            is_done = yield from self._handle_together(table, page["Records"])
            for record in page["Records"]:
                for handler in () if is_done else self._handlers_of(table):
                    yield from self._handle(handler, shard, record)
                done.append(record)
                self._handled += 1
                if self._stopped.is_set():
                    is_last = is_last and len(done) == len(page["Records"])
                    break
        except HandlerFailed:
            if done:
                reached = advance(checkpoint, shard.name, records=done, now=self._now())
                yield from self._store.save(reached, checkpoint)
            raise
        new = advance(checkpoint, shard.name, records=done, now=self._now(), is_finished=is_last)
        if done or is_last or checkpoint is None or new.read_until - checkpoint.read_until > SAVE_INTERVAL:
            yield from self._store.save(new, checkpoint)
            return new
        return checkpoint

    # ── handling ─────────────────────────────────────────────────────────────────────────────────────────────────────
    def _handle_together(self, table: Table, records: Sequence[Wire]) -> Steps[bool]:
        """Call the handler of pages; return whether it handled all of these records."""
        if self._page_handler is None:
            return False
        try:
            changes = [
                read_change(self.session, table, record, handler.model)
                for record in records
                for handler in self._handlers_of(table)
            ]
        except HashrangeError:  # an item that does not fit its declaration: `_handle` sets it aside
            return False
        concerned = [change for change in changes if change.before is not None or change.after is not None]
        outcome = (yield Handle(self._page_handler, concerned)) if concerned else {}
        return outcome.get("error") is None

    def _handle(self, handler: Handler[Any], shard: Shard, record: Wire) -> Steps[None]:
        """Call a handler until it succeeds; after the last attempt set the record aside, or stop."""
        error = yield from self._try_once(handler, record)
        for pause in islice(backoff(), self.attempts - 1):
            if error is None:
                return
            yield pause
            error = yield from self._try_once(handler, record)
        if error is None:
            return
        if self.stops_at(error):
            raise error
        if self.after_attempts == "stop":
            raise HandlerFailed(
                f"{handler.name} failed {self.attempts} times with {error!r}; "
                f"the next run of {self.name!r} begins with this record",
                read_change(self.session, handler.table, record),
            ) from error
        letter = DeadLetter(handler.name, repr(error), _shorten(record), shard.name, self.attempts)
        yield from self._store.put(_letter_key(letter), _dump_letter(letter))

    def _try_once(self, handler: Handler[Any], record: Wire) -> Steps[Exception | None]:
        """Call a handler if the change concerns it; return its error."""
        try:
            change = read_change(self.session, handler.table, record, handler.model)
        except HashrangeError as error:  # an item that does not fit its declaration
            return error
        if change.before is None and change.after is None:
            return None
        outcome = yield Handle(handler.function, change)
        failure: Exception | None = outcome.get("error")
        return failure

    def _handlers_of(self, table: Table | None) -> Iterator[Handler[Any]]:
        return (handler for handler in self._handlers if handler.table is table)

    def _now(self) -> float:
        return self.session.clock.millis() / 1000

    def _is_outdated(self, checkpoint: Checkpoint) -> bool:
        """Return whether changes after a checkpoint may be older than what streams keep."""
        return self._now() - checkpoint.read_until >= RETENTION

    def _trimmed(self, checkpoint: Checkpoint) -> StreamTrimmed:
        return StreamTrimmed(
            f"{self.name!r} has not read {checkpoint.shard} for a day, and changes after the record "
            f"{checkpoint.sequence or '(none)'} may be lost: repair what depends on them, then run forget()",
            checkpoint.shard,
            checkpoint.sequence,
        )

    def _check_table(self, model: type[Model], table: Table) -> None:
        location = f"consumer {self.name}"
        if table not in self.tables:
            known = ", ".join(known.name for known in self.tables)
            raise DeclarationError(
                "HR301",
                location,
                f"{model.__name__} is stored in {table.name}, which no pattern reads or writes",
                known,
            )
        if table.stream != "NEW_AND_OLD_IMAGES":
            raise DeclarationError(
                "HR302",
                location,
                f"{table.name} has {'the stream ' + table.stream if table.stream else 'no stream'}, "
                "and handlers get the items before and after a change",
                'declare Table(..., stream="NEW_AND_OLD_IMAGES")',
            )


def _never(_error: Exception) -> bool:
    return False


def _table_of(session: Session, model: Any) -> Table:
    if not (isinstance(model, type) and issubclass(model, Model)):
        raise TypeError(f"on() takes a class of items, whose changes are handled, not {model!r}")
    return session.table_of(model)


def _check_checkpoints(name: str, table: Table) -> None:
    if table.sk is None or table.stream is not None:
        why = "no sort key" if table.sk is None else "a stream, so that each checkpoint would be a change"
        raise DeclarationError(
            "HR303",
            f"consumer {name}",
            f"{table.name} has {why}",
            'keep the checkpoints in a table of their own: Table("checkpoints", "consumer", "shard")',
        )


def _position(shard: Shard, checkpoint: Checkpoint | None) -> tuple[str, str]:
    return shard.name, checkpoint.sequence if checkpoint is not None else ""


def _newest(page: Wire) -> float:
    """Return the time of the last record of a page, in seconds; 0 without records."""
    return float(page["Records"][-1]["dynamodb"].get("ApproximateCreationDateTime", 0)) if page["Records"] else 0


async def _wait_for(task: Task[Wire]) -> Wire:
    return await task


# ── dead letters ─────────────────────────────────────────────────────────────────────────────────────────────────────
def _letter_key(letter: DeadLetter) -> str:
    return f"{DEAD}{letter.shard}/{letter.record['dynamodb']['SequenceNumber'].zfill(40)}/{letter.handler}"


def _shorten(record: Wire) -> Wire:
    if len(orjson.dumps(record)) <= MAX_LETTER:
        return record
    images = {"NewImage", "OldImage"}
    return {**record, "dynamodb": {name: value for name, value in record["dynamodb"].items() if name not in images}}


def _dump_letter(letter: DeadLetter) -> Wire:
    return {
        "handler": {"S": letter.handler},
        "error": {"S": letter.error[:10_000]},
        "record": {"S": orjson.dumps(letter.record).decode()},
        "shard_name": {"S": letter.shard},
        "attempts": {"N": str(letter.attempts)},
    }


def _read_letter(item: Wire) -> DeadLetter:
    return DeadLetter(
        handler=item["handler"]["S"],
        error=item["error"]["S"],
        record=orjson.loads(item["record"]["S"]),
        shard=item["shard_name"]["S"],
        attempts=int(item["attempts"]["N"]),
    )
