"""Measures and limits the phases of a fetch."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from hashrange_systems.shared.fetching.errors import TimedOut
from hashrange_systems.shared.fetching.progress import Phases

Now = Callable[[], float]


class PhaseTimer:
    """Starts when created; `now` returns monotonic seconds."""

    def __init__(self, now: Now) -> None:
        self._now = now
        self._begun = now()
        self._spans: dict[str, float] = {}
        self._sent: float | None = None
        self._first_byte: float | None = None
        self.phase = "dns"

    @asynccontextmanager
    async def time(self, phase: str, limit_s: float | None = None) -> AsyncIterator[None]:
        """Measure the block as a phase; raise TimedOut if it takes too long."""
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
        """Reset the phases for the next server; the total continues."""
        self._spans.clear()
        self._sent = self._first_byte = None
        self.phase = "dns"

    def mark_sent(self) -> None:
        """Record that the request was sent."""
        self._sent = self._now()

    def mark_bytes(self) -> None:
        """Record the first byte of the response."""
        if self._first_byte is None:
            self._first_byte = self._now()

    def read(self) -> Phases:
        """Return the durations measured so far."""
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
