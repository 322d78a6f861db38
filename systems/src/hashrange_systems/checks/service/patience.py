"""Tries again what the database refused only for the moment: throttled, too busy, or out of reach."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

from hashrange import HashrangeError, TransactionCanceledException, is_throttling, is_transient

T = TypeVar("T")

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 5.0
MOMENTARY = {"None", "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}

Sleep = Callable[[float], Awaitable[object]]


def is_passing(fault: HashrangeError) -> bool:
    """Whether the same may succeed a little later; a condition that does not hold never passes."""
    if isinstance(fault, TransactionCanceledException):
        return {reason.get("Code") for reason in fault.members.get("CancellationReasons", ())} <= MOMENTARY
    return is_throttling(fault, "") or is_transient(fault)


def pauses() -> Iterator[float]:
    """Yield ever longer pauses in seconds, up to a longest, each with some chance in it, without end."""
    length = FIRST_PAUSE_S
    while True:
        yield length * random.uniform(0.5, 1)  # noqa: S311 - spreads retries, protects nothing
        length = min(length * 2, LONGEST_PAUSE_S)


async def insist(attempt: Callable[[], Awaitable[T]], sleep: Sleep = asyncio.sleep) -> T:
    """Return what the attempt returns, however often the database has to be asked; who must not wait cancels it."""
    for pause in pauses():
        try:
            return await attempt()
        except HashrangeError as fault:
            if not is_passing(fault):
                raise
        await sleep(pause)
    raise AssertionError("pauses have no end")
