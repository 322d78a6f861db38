"""Limits the concurrent requests to each host, so that many checks of one site are not an attack."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


class HostBusy(Exception):
    """The wait for other requests to the host took too long."""


@dataclass(slots=True)
class HostQueue:
    """The permits of one host; exists while requests use or wait for it."""

    permits: asyncio.Semaphore
    wanted: int = 0


@dataclass(slots=True)
class HostLimiter:
    """Allows `at_once` requests to each host; others wait up to a timeout."""

    at_once: int = 16
    timeout_s: float = 10.0
    queues: dict[str, HostQueue] = field(default_factory=dict)

    @asynccontextmanager
    async def enter(self, host: str) -> AsyncIterator[None]:
        """Hold a permit of the host for the block; raise HostBusy after the timeout."""
        queue = self.queues.setdefault(host, HostQueue(asyncio.Semaphore(self.at_once)))
        queue.wanted += 1
        try:
            await self._wait(queue)
            try:
                yield
            finally:
                queue.permits.release()
        finally:
            queue.wanted -= 1
            if not queue.wanted:
                del self.queues[host]

    async def _wait(self, queue: HostQueue) -> None:
        try:
            async with asyncio.timeout(self.timeout_s):
                await queue.permits.acquire()
        except TimeoutError as error:
            raise HostBusy("too many checks look at this host at once") from error
