"""Work as a value: generators that ask for calls and pauses, and never make one themselves.

A session drives the same work with or without blocking, so that nothing is written twice for sync and async.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias, TypeVar

from msgspec import Struct

from hashrange.client.transport import Read, read_all
from hashrange.core.wire import Wire

T = TypeVar("T")


class Call(Struct, frozen=True):
    """An operation to be run; the answer is sent back into the work."""

    operation: str
    request: Wire
    pattern: str = ""
    read: Read = read_all


class Pause(Struct, frozen=True):
    """Some time to be let pass."""

    seconds: float


Step: TypeAlias = Call | Pause
Work: TypeAlias = Generator[Step, Wire, T]
