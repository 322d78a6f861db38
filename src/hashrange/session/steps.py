"""Steps of an operation: generators that yield the calls to make and the pauses between them, without doing either.

`run` and `await` execute the same steps, so that sync and async share one implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct

from hashrange.client.transport import DecodeResponse, decode_all
from hashrange.core.wire import Wire

T = TypeVar("T")

FIRST_DELAY = 0.05
MAX_DELAY = 10.0
MAX_ATTEMPTS = 12


class Call(Struct, frozen=True):
    """An operation to call; its response is sent back into the generator."""

    operation: str
    request: Wire
    pattern: str = ""
    read: DecodeResponse = decode_all


class Pause(Struct, frozen=True):
    """A time to wait before the next step."""

    seconds: float


class Handle(Struct, frozen=True):
    """A user's function to call; its error, if any, is sent back as `error`."""

    function: Callable[[Any], Any]
    argument: Any


Step: TypeAlias = Call | Pause | Handle
Steps: TypeAlias = Generator[Step, Wire, T]


def backoff() -> Iterator[Pause]:
    """Yield the delays of exponential backoff with full jitter, one for each attempt."""
    import random

    longest = FIRST_DELAY
    for _ in range(MAX_ATTEMPTS):
        yield Pause(random.uniform(0, longest))  # noqa: S311 - jitter is no secret
        longest = min(longest * 2, MAX_DELAY)
