"""What an operation is: a function from a request to the response's bytes, named after its file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hashrange.core.wire import Wire

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine

Run = Callable[["Engine", Wire], bytes]


@dataclass(frozen=True, slots=True)
class Operation:
    """One DynamoDB operation."""

    name: str
    run: Run
    writes: bool  # it may change the database, so it runs inside a write transaction
    enveloped: bool  # it wraps request-validation texts in `1 validation error detected: `
    borrows: bool = False  # it checks every value before use and keeps none: its request may be the caller's own


def operation(*, writes: bool = False, enveloped: bool = False, borrows: bool = False) -> Callable[[Run], Operation]:
    """Declare the function below as the operation of its name: `put_item` is PutItem."""

    def declare(run: Run) -> Operation:
        return Operation(name_operation(run.__name__), run, writes, enveloped, borrows)

    return declare


def name_operation(name: str) -> str:
    """Return DynamoDB's name of an operation: PutItem for put_item."""
    return "".join(word.capitalize() for word in name.split("_"))
