"""Time as something handed in: logic asks a Clock, so that tests move time instead of sleeping."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Where logic gets its time from."""

    def millis(self) -> int:
        """Return the milliseconds since the epoch, UTC."""
        ...


class SystemClock:
    """The machine's clock."""

    def millis(self) -> int:
        """Return the machine's time."""
        return time.time_ns() // 1_000_000


class ManualClock:
    """A clock that stands still until it is told to move."""

    def __init__(self, start: float = 1_800_000_000.0) -> None:
        self._millis = int(start * 1000)

    def millis(self) -> int:
        """Return the time it was last set to."""
        return self._millis

    def advance(self, seconds: float) -> None:
        """Move forward (or, negative, backward) by so many seconds."""
        self._millis += int(seconds * 1000)

    def set(self, seconds: float) -> None:
        """Move to that many seconds since the epoch."""
        self._millis = int(seconds * 1000)
