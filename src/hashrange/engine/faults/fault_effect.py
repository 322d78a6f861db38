"""What an injected fault does to a call: it replaces the response.

An effect either lets the call be rehearsed, which reports an invalid request and changes nothing, or lets it be carried
out (`engine.faults.faulty_engine`). The error texts are in `engine.faults.injected_error`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeAlias

import orjson

from hashrange.core.errors import ServiceError, TransactionConflictException
from hashrange.core.wire import Wire
from hashrange.engine.faults import injected_error
from hashrange.engine.faults.request_members import count_members, is_selection, join_batches, list_tables, split_batch
from hashrange.engine.operation import Operation
from hashrange.engine.transaction import cancel

Outcome: TypeAlias = bytes | ServiceError

TRANSACTIONS = frozenset({"TransactWriteItems", "TransactGetItems", "ExecuteTransaction"})
SINGLE_WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "ExecuteStatement"})
UNDONE = {"BatchWriteItem": "UnprocessedItems", "BatchGetItem": "UnprocessedKeys"}


class Stage(Protocol):
    """Where calls are rehearsed and carried out."""

    def rehearse(self, operation: Operation, request: Wire) -> None:
        """Raise what is wrong with the request itself; change nothing."""
        ...

    def carry_out(self, operation: Operation, request: Wire) -> bytes:
        """Do the work and return its answer."""
        ...

    def find_arn(self, table: str) -> str | None:
        """Return the ARN of a table, if there is one of the name."""
        ...


class AnyOperationEffect:
    """What can happen to every call."""

    __slots__ = ()
    targets: ClassVar[frozenset[str]] = frozenset()  # the operations that it can happen to; none named is all

    def fits(self, request: Wire) -> bool:
        """Tell whether it can happen to such a request."""
        return True


@dataclass(frozen=True, slots=True)
class DelayEffect(AnyOperationEffect):
    """The answer takes longer; whoever calls the engine waits, outside of it."""

    seconds: float = 0.0
    verb: ClassVar[str] = "delay"

    def __post_init__(self) -> None:
        if not self.seconds > 0:
            raise ValueError(f"seconds is how much longer a call takes, more than 0: not {self.seconds}")


@dataclass(frozen=True, slots=True)
class ThrottleEffect(AnyOperationEffect):
    """The call is told to come again later, and nothing is done."""

    error: str = injected_error.PROVISIONED
    verb: ClassVar[str] = "throttle"

    def __post_init__(self) -> None:
        injected_error.check_name(self.error, injected_error.THROTTLINGS)

    def strike(self, stage: Stage, operation: Operation, request: Wire) -> Outcome:
        """Return what is answered instead; raise what is wrong with the request itself."""
        stage.rehearse(operation, request)
        arns = [arn for table in sorted(list_tables(request)) if (arn := stage.find_arn(table))]
        return injected_error.make_throttling(self.error, arns, "Write" if operation.writes else "Read")


@dataclass(frozen=True, slots=True)
class FailEffect(AnyOperationEffect):
    """The call fails, and its caller cannot know whether the work was done: with `after` it was."""

    error: str = injected_error.INTERNAL
    after: bool = False
    verb: ClassVar[str] = "fail"

    def __post_init__(self) -> None:
        injected_error.check_name(self.error, injected_error.FAILURES)

    def strike(self, stage: Stage, operation: Operation, request: Wire) -> Outcome:
        """Return what is answered instead; raise what is wrong with the request itself."""
        if self.after:
            stage.carry_out(operation, request)
        else:
            stage.rehearse(operation, request)
        return injected_error.make_failure(self.error)


@dataclass(frozen=True, slots=True)
class ConflictEffect(AnyOperationEffect):
    """Another transaction is busy with the item: number `at` of a transaction, from 0, or that of a single write."""

    at: int = 0
    verb: ClassVar[str] = "conflict"
    targets: ClassVar[frozenset[str]] = TRANSACTIONS | SINGLE_WRITES

    def __post_init__(self) -> None:
        if self.at < 0:
            raise ValueError(f"at is the number of an item in its transaction, from 0: not {self.at}")

    def fits(self, request: Wire) -> bool:
        """Tell whether there is such an item; a single read never conflicts."""
        return self.at < count_members(request) and not is_selection(request)

    def strike(self, stage: Stage, operation: Operation, request: Wire) -> Outcome:
        """Return what is answered instead; raise what is wrong with the request itself."""
        stage.rehearse(operation, request)
        if operation.name in TRANSACTIONS:
            return cancel(
                count_members(request), {self.at: {"Code": "TransactionConflict", "Message": injected_error.BUSY}}
            )
        return TransactionConflictException(injected_error.BUSY)


@dataclass(frozen=True, slots=True)
class UnprocessedEffect(AnyOperationEffect):
    """A batch comes back with its last members undone; at least the first is done, else AWS would throttle it."""

    last: int = 1
    verb: ClassVar[str] = "unprocessed"
    targets: ClassVar[frozenset[str]] = frozenset(UNDONE)

    def __post_init__(self) -> None:
        if self.last < 1:
            raise ValueError(f"last is how many members of a batch are left undone, at least 1: not {self.last}")

    def fits(self, request: Wire) -> bool:
        """Tell whether there is more than one to be done."""
        return count_members(request) > 1

    def strike(self, stage: Stage, operation: Operation, request: Wire) -> Outcome:
        """Do the first part of the batch; raise what is wrong with the whole of it."""
        stage.rehearse(operation, request)
        last = min(self.last, count_members(request) - 1)
        done, left = split_batch(request["RequestItems"], last)
        told = orjson.loads(stage.carry_out(operation, {**request, "RequestItems": done}))
        told[UNDONE[operation.name]] = join_batches(told[UNDONE[operation.name]], left)
        return orjson.dumps(told)


Effect: TypeAlias = ThrottleEffect | FailEffect | ConflictEffect | UnprocessedEffect
EFFECTS = {
    effect.verb: effect for effect in (ThrottleEffect, FailEffect, ConflictEffect, UnprocessedEffect, DelayEffect)
}
