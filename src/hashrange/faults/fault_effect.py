"""What an injected fault does to a call: it delays or replaces the response.

As on AWS, an invalid request is refused as such. So an effect before the work lets the engine dry_run the call, which
reports an invalid request and changes nothing; an effect after the work lets the call be carried out first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import orjson

from hashrange.core.errors import ServiceError, TransactionConflictException
from hashrange.core.wire import Wire
from hashrange.engine.engine import Engine
from hashrange.engine.operation import Operation
from hashrange.engine.transaction import cancel
from hashrange.faults import injected_error
from hashrange.faults.request_entries import count_entries, is_select, join_batches, list_tables, split_batch

Outcome: TypeAlias = bytes | ServiceError


class AnyOperationEffect:
    """What can happen to every call."""

    __slots__ = ()

    def applies_to(self, operation: Operation | None) -> bool:
        """Return whether it can happen to an operation; None is one that is not served."""
        return True

    def fits(self, operation: Operation, request: Wire) -> bool:
        """Return whether it can happen to such a request."""
        return True


@dataclass(frozen=True, slots=True)
class DelayEffect(AnyOperationEffect):
    """The response takes longer; the caller of the engine waits, outside of it."""

    seconds: float = 0.0
    verb: ClassVar[str] = "delay"

    def __post_init__(self) -> None:
        if not self.seconds > 0:
            raise ValueError(f"seconds is how much longer a call takes, more than 0, not {self.seconds}")


@dataclass(frozen=True, slots=True)
class ThrottleEffect(AnyOperationEffect):
    """The call is throttled, and nothing is done."""

    error: str = injected_error.PROVISIONED
    verb: ClassVar[str] = "throttle"

    def __post_init__(self) -> None:
        injected_error.check_name(self.error, injected_error.THROTTLINGS)

    def apply(self, engine: Engine, operation: Operation, request: Wire) -> Outcome:
        """Return the response; raise the error of an invalid request."""
        dry_run(engine, operation, request)
        tables = map(engine.catalog.get, sorted(list_tables(operation, request)))
        arns = [table.arn for table in tables if table]
        return injected_error.make_throttling(self.error, arns, "Write" if operation.writes else "Read")


@dataclass(frozen=True, slots=True)
class FailEffect(AnyOperationEffect):
    """The call fails, and its caller cannot know whether the work was done: with `after` it was."""

    error: str = injected_error.INTERNAL
    after: bool = False
    verb: ClassVar[str] = "fail"

    def __post_init__(self) -> None:
        injected_error.check_name(self.error, injected_error.FAILURES)

    def apply(self, engine: Engine, operation: Operation, request: Wire) -> Outcome:
        """Return the response; raise the error of an invalid request."""
        if self.after:
            engine.perform(operation, request, inject=False)
        else:
            dry_run(engine, operation, request)
        return injected_error.make_failure(self.error)


@dataclass(frozen=True, slots=True)
class ConflictEffect(AnyOperationEffect):
    """Another transaction is ongoing for an item: number `at` of a transaction, from 0, or that of a single write."""

    at: int = 0
    verb: ClassVar[str] = "conflict"

    def __post_init__(self) -> None:
        if self.at < 0:
            raise ValueError(f"at is the number of an item in its transaction, from 0, not {self.at}")

    def applies_to(self, operation: Operation | None) -> bool:
        """Return whether the operation can meet a transaction."""
        return operation is not None and operation.can_conflict

    def fits(self, operation: Operation, request: Wire) -> bool:
        """Return whether there is such an item; a single read never conflicts."""
        return self.at < count_entries(operation, request) and not is_select(request)

    def apply(self, engine: Engine, operation: Operation, request: Wire) -> Outcome:
        """Return the response; raise the error of an invalid request."""
        dry_run(engine, operation, request)
        if operation.transactional:
            reason = {"Code": "TransactionConflict", "Message": injected_error.ONGOING}
            return cancel(count_entries(operation, request), {self.at: reason})
        return TransactionConflictException(injected_error.ONGOING)


@dataclass(frozen=True, slots=True)
class UnprocessedEffect(AnyOperationEffect):
    """A batch leaves its last entries unprocessed; at least the first is done, else AWS would throttle the batch."""

    last: int = 1
    verb: ClassVar[str] = "unprocessed"

    def __post_init__(self) -> None:
        if self.last < 1:
            raise ValueError(f"last is how many entries of a batch are left unprocessed: at least 1, not {self.last}")

    def applies_to(self, operation: Operation | None) -> bool:
        """Return whether the operation is a batch that can be processed in part."""
        return operation is not None and operation.unprocessed is not None

    def fits(self, operation: Operation, request: Wire) -> bool:
        """Return whether the batch has more than one entry."""
        return count_entries(operation, request) > 1

    def apply(self, engine: Engine, operation: Operation, request: Wire) -> Outcome:
        """Process the first part of the batch; raise the error of an invalid batch."""
        dry_run(engine, operation, request)
        assert operation.entries is not None
        assert operation.unprocessed is not None
        last = min(self.last, count_entries(operation, request) - 1)
        done, left = split_batch(request[operation.entries], last)
        response = orjson.loads(engine.perform(operation, {**request, operation.entries: done}, inject=False))
        response[operation.unprocessed] = join_batches(response[operation.unprocessed], left)
        return orjson.dumps(response)


def dry_run(engine: Engine, operation: Operation, request: Wire) -> None:
    """Raise the error of an invalid request and change nothing; what depends on stored items comes after faults."""
    try:
        engine.dry_run(operation, request)
    except ServiceError as refusal:
        reasons = refusal.members.get("CancellationReasons", ())
        is_invalid = any(reason["Code"] == "ValidationError" for reason in reasons)
        if is_invalid or not refusal.depends_on_items:
            raise


Effect: TypeAlias = ThrottleEffect | FailEffect | ConflictEffect | UnprocessedEffect
EFFECTS = {
    effect.verb: effect for effect in (ThrottleEffect, FailEffect, ConflictEffect, UnprocessedEffect, DelayEffect)
}
