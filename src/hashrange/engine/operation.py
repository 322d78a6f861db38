"""What an operation is: a function from a request to the response's bytes, and every fact about it.

The facts stand in the `@operation(...)` of its file, or in AWS's service model (`engine.service_model`); servers,
clients, fault injection and documentation read them here and keep no lists of operations.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

from hashrange.core.wire import Wire
from hashrange.engine.service_model import ServiceOperation, find_service_operation
from hashrange.engine.shape.constraint_message import ALL_TOGETHER, ViolationReport

EngineT = TypeVar("EngineT")
Writes: TypeAlias = Literal["items", "tables"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One DynamoDB operation."""

    name: str
    run: Callable[[Any, Wire], bytes]  # takes the Engine, whose module imports this one
    writes: Writes | None = None  # what it may change, inside a write transaction; "tables" includes their settings
    enveloped: bool = False  # it wraps request-validation texts in `1 validation error detected: `
    needs_no_copy: bool = False  # it checks every value before use and keeps none: the caller's own dict is safe
    entries: str | None = None  # the request's member with the entries of a batch or transaction
    unprocessed: str | None = None  # the response's member with the entries of a batch that were not processed
    transactional: bool = False  # all of its entries take effect, or none
    pauses: bool = False  # it may take long, and lets other requests run between the parts of its work
    violations: ViolationReport = ALL_TOGETHER  # how it reports members that break the model's constraints

    @property
    def can_conflict(self) -> bool:
        """Whether an ongoing transaction on one of its items refuses it: transactions and single-item writes."""
        return self.transactional or (self.writes == "items" and self.entries is None)

    @property
    def service(self) -> ServiceOperation:
        """What AWS's model says of it."""
        return find_service_operation(self.name)


def operation(
    *,
    writes: Writes | None = None,
    enveloped: bool = False,
    needs_no_copy: bool = False,
    entries: str | None = None,
    unprocessed: str | None = None,
    transactional: bool = False,
    pauses: bool = False,
    violations: ViolationReport = ALL_TOGETHER,
) -> Callable[[Callable[[EngineT, Wire], bytes]], Operation]:
    """Declare the function below as the operation of its name: `put_item` is PutItem."""

    def declare(run: Callable[[EngineT, Wire], bytes]) -> Operation:
        return Operation(
            name=name_operation(run.__name__),
            run=run,
            writes=writes,
            enveloped=enveloped,
            needs_no_copy=needs_no_copy,
            entries=entries,
            unprocessed=unprocessed,
            transactional=transactional,
            pauses=pauses,
            violations=violations,
        )

    return declare


def name_operation(name: str) -> str:
    """Return DynamoDB's name of an operation: PutItem for put_item."""
    return "".join(word.capitalize() for word in name.split("_"))


def name_method(operation: str) -> str:
    """Return Python's name of an operation: put_item for PutItem."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", operation).lower()
