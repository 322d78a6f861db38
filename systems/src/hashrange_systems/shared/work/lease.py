"""Keeps the lease of a piece of work alive while it runs, and ends the work when the lease is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from hashrange import Conflict
from hashrange_systems.shared.work.retry import Sleep

T = TypeVar("T")


class LeaseLost(Exception):
    """Another worker has the item now."""


async def keep_alive(
    extend: Callable[[], Awaitable[object]],
    work: Coroutine[Any, Any, T],
    every_s: float,
    sleep: Sleep = asyncio.sleep,
) -> T:
    """Return the result of some work, extending its lease meanwhile; raise LeaseLost when that is refused."""
    task = asyncio.create_task(work)
    renewal = asyncio.create_task(_renew(extend, every_s, sleep))
    try:
        await asyncio.wait([task, renewal], return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise LeaseLost from renewal.exception()
    finally:
        task.cancel()
        renewal.cancel()
        await asyncio.gather(task, renewal, return_exceptions=True)


async def _renew(extend: Callable[[], Awaitable[object]], every_s: float, sleep: Sleep) -> None:
    while True:
        await sleep(every_s)
        try:
            await extend()
        except Conflict:
            return
