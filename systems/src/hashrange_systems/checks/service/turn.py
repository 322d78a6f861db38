"""Taking turns at one host: a thousand checks of one site must not look like an attack on it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


class Crowded(Exception):
    """The host's other visitors took too long."""


@dataclass(slots=True)
class Gate:
    """The way in to one host, kept while somebody wants to pass."""

    places: asyncio.Semaphore
    wanted: int = 0


@dataclass(slots=True)
class Turnstile:
    """Lets so many visitors at once to each host; the others wait, but not for ever."""

    at_once: int = 16
    patience_s: float = 10.0
    gates: dict[str, Gate] = field(default_factory=dict)

    @asynccontextmanager
    async def enter(self, host: str) -> AsyncIterator[None]:
        """Wait for a place at the host, and keep it for the block; raise Crowded when none gets free in time."""
        gate = self.gates.setdefault(host, Gate(asyncio.Semaphore(self.at_once)))
        gate.wanted += 1
        try:
            await self._wait(gate)
            try:
                yield
            finally:
                gate.places.release()
        finally:
            gate.wanted -= 1
            if not gate.wanted:
                del self.gates[host]

    async def _wait(self, gate: Gate) -> None:
        try:
            async with asyncio.timeout(self.patience_s):
                await gate.places.acquire()
        except TimeoutError as error:
            raise Crowded("too many checks look at this host at once") from error
