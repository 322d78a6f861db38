"""What to do about others who write at the same time: before us, or right after."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

from hashrange import Conflict, Write
from hashrange_systems.checks.errors import Changed
from hashrange_systems.checks.schema import Checks

T = TypeVar("T")

MOST_ATTEMPTS = 10
LONGEST_PAUSE_S = 0.02


async def settle_conflicts(attempt: Callable[[], Awaitable[T]], what: str) -> T:
    """Return what the attempt returns once nobody interferes; it reads what it builds on anew each time."""
    for turn in range(MOST_ATTEMPTS):
        try:
            return await attempt()
        except Conflict:
            await asyncio.sleep(random.uniform(0, LONGEST_PAUSE_S * turn))  # noqa: S311 - spreads, protects nothing
    raise Changed(what)


async def commit(db: Checks, writes: Iterable[Write[Any]]) -> None:
    """Write all or none. What the items are like afterwards is not said: somebody may have moved them on already."""
    await db.transact_all(writes).unread()
