"""Retries: the one backoff of all systems, and database operations that are repeated after errors and conflicts."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import count
from typing import TypeVar

from hashrange import Conflict, HashrangeError, TransactionCanceledException, is_throttling, is_transient
from hashrange_systems.shared.errors import EditConflict

T = TypeVar("T")

MAX_CONFLICTS = 10
MOMENTARY = {"None", "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}

Sleep = Callable[[float], Awaitable[object]]
Draw = Callable[[], float]  # returns a random number from 0 to 1


def jitter(length_s: float, share: float = 0.5, draw: Draw = random.random) -> float:  # noqa: S311 - not a secret
    """Return a length that is shorter by a random part of this share."""
    return length_s * (1 - share + share * draw())


@dataclass(frozen=True, slots=True)
class Backoff:
    """Pauses that double with each attempt, up to a maximum."""

    first_s: float
    max_s: float

    def find_longest(self, attempt: int) -> float:
        """Return the seconds to wait after an attempt, where nobody else waits for the same; the first one is 1."""
        return min(self.first_s * 2.0 ** min(max(attempt - 1, 0), 20), self.max_s)

    def find_pause(self, attempt: int, draw: Draw = random.random) -> float:  # noqa: S311 - not a secret
        """Return these seconds, shortened at random by up to a half, so that not all come back at once."""
        return jitter(self.find_longest(attempt), draw=draw)


AFTER_ERROR = Backoff(0.1, 5.0)
AFTER_CONFLICT = Backoff(0.01, 0.2)


def is_transient_error(error: HashrangeError) -> bool:
    """Return whether the same operation may succeed later; a failed condition is not transient."""
    if isinstance(error, TransactionCanceledException):
        return {reason.get("Code") for reason in error.members.get("CancellationReasons", ())} <= MOMENTARY
    return is_throttling(error, "") or is_transient(error)


async def retry_transient(attempt: Callable[[], Awaitable[T]], sleep: Sleep = asyncio.sleep) -> T:
    """Repeat the attempt while it fails with transient errors; return its result. Cancel it to stop waiting."""
    for number in count(1):
        try:
            return await attempt()
        except HashrangeError as error:
            if not is_transient_error(error):
                raise
        await sleep(AFTER_ERROR.find_pause(number))
    raise AssertionError("numbers have no end")


async def retry_on_conflict(attempt: Callable[[], Awaitable[T]], what: str) -> T:
    """Repeat the attempt while it conflicts with other writers; raise EditConflict if they do not stop.

    The attempt must read again whatever its writes depend on.
    """
    for number in range(1, MAX_CONFLICTS + 1):
        try:
            return await attempt()
        except Conflict:
            await asyncio.sleep(AFTER_CONFLICT.find_pause(number))
    raise EditConflict(what)
