"""Retries database operations: after transient errors (throttled, unavailable), and after conflicts."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

from hashrange import Conflict, HashrangeError, TransactionCanceledException, is_throttling, is_transient
from hashrange_systems.shared.errors import EditConflict

T = TypeVar("T")

FIRST_PAUSE_S = 0.1
MAX_PAUSE_S = 5.0
MAX_CONFLICTS = 10
CONFLICT_PAUSE_S = 0.02
MOMENTARY = {"None", "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}

Sleep = Callable[[float], Awaitable[object]]


def is_transient_error(error: HashrangeError) -> bool:
    """Return whether the same operation may succeed later; a failed condition is not transient."""
    if isinstance(error, TransactionCanceledException):
        return {reason.get("Code") for reason in error.members.get("CancellationReasons", ())} <= MOMENTARY
    return is_throttling(error, "") or is_transient(error)


def backoff() -> Iterator[float]:
    """Yield pauses in seconds without end: exponential with jitter, up to a maximum."""
    length = FIRST_PAUSE_S
    while True:
        yield length * random.uniform(0.5, 1)  # noqa: S311 - jitter, not a secret
        length = min(length * 2, MAX_PAUSE_S)


async def retry_transient(attempt: Callable[[], Awaitable[T]], sleep: Sleep = asyncio.sleep) -> T:
    """Repeat the attempt while it fails with transient errors; return its result. Cancel it to stop waiting."""
    for pause in backoff():
        try:
            return await attempt()
        except HashrangeError as error:
            if not is_transient_error(error):
                raise
        await sleep(pause)
    raise AssertionError("pauses have no end")


async def retry_on_conflict(attempt: Callable[[], Awaitable[T]], what: str) -> T:
    """Repeat the attempt while it conflicts with other writers; raise EditConflict if they do not stop.

    The attempt must read again whatever its writes depend on.
    """
    for change_phase in range(MAX_CONFLICTS):
        try:
            return await attempt()
        except Conflict:
            await asyncio.sleep(random.uniform(0, CONFLICT_PAUSE_S * change_phase))  # noqa: S311 - jitter, not a secret
    raise EditConflict(what)
