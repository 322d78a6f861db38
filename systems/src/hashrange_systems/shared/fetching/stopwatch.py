"""Times the phases of a fetch, bounds each, and knows which one is under way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from hashrange_systems.shared.fetching.errors import TimedOut
from hashrange_systems.shared.fetching.message import Phases

Now = Callable[[], float]


class Stopwatch:
    """Runs from its making; `now` gives seconds that never go back."""

    def __init__(self, now: Now) -> None:
        self._now = now
        self._begun = now()
        self._spans: dict[str, float] = {}
        self._sent: float | None = None
        self._first_byte: float | None = None
        self.phase = "dns"

    @asynccontextmanager
    async def time(self, phase: str, limit_s: float | None = None) -> AsyncIterator[None]:
        """Measure what happens inside, and end it with TimedOut when it takes too long."""
        self.phase = phase
        begun = self._now()
        try:
            async with asyncio.timeout(limit_s) as timeout:
                yield
        except TimeoutError as error:
            if limit_s is None or not timeout.expired():
                raise
            raise TimedOut(phase, limit_s) from error
        finally:
            self._spans[phase] = self._now() - begun

    def start_hop(self) -> None:
        """Forget the phases of the server before; the total goes on."""
        self._spans.clear()
        self._sent = self._first_byte = None
        self.phase = "dns"

    def mark_sent(self) -> None:
        """Note that the request is on its way."""
        self._sent = self._now()

    def mark_bytes(self) -> None:
        """Note that bytes came; only the first time counts."""
        if self._first_byte is None:
            self._first_byte = self._now()

    def read(self) -> Phases:
        """Return what has been measured so far."""
        now = self._now()
        sent, first_byte = self._sent, self._first_byte
        return Phases(
            dns_ms=self._span("dns"),
            connect_ms=self._span("connect"),
            tls_ms=self._span("tls"),
            first_byte_ms=None if sent is None or first_byte is None else _to_millis(first_byte - sent),
            body_ms=None if first_byte is None or "body" not in self._spans else _to_millis(now - first_byte),
            total_ms=_to_millis(now - self._begun),
        )

    def _span(self, phase: str) -> int | None:
        return _to_millis(self._spans[phase]) if phase in self._spans else None


def _to_millis(seconds: float) -> int:
    return round(seconds * 1000)
