"""Injected time: code asks a Clock, so that tests set the time instead of sleeping."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """A source of the current time."""

    def millis(self) -> int:
        """Return the milliseconds since the epoch, UTC."""
        ...


class SystemClock:
    """The clock of the operating system."""

    def millis(self) -> int:
        """Return the milliseconds since the epoch, UTC."""
        return time.time_ns() // 1_000_000


class ManualClock:
    """A clock that is moved by hand, for tests."""

    def __init__(self, start: float = 1_800_000_000.0) -> None:
        self._millis = round(start * 1000)

    def millis(self) -> int:
        """Return the time that it was set to."""
        return self._millis

    def advance(self, seconds: float) -> None:
        """Move forward by some seconds, or backward if negative."""
        self._millis += round(seconds * 1000)

    def set(self, seconds: float) -> None:
        """Set the time, in seconds since the epoch."""
        self._millis = round(seconds * 1000)
