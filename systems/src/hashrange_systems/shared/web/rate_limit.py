"""A rate limit for each name, such as an API key or a client address: a burst, refilled at a constant rate.

The state is in memory: each process has its own, and a restart forgets it.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from math import ceil

from hashrange import Clock
from hashrange_systems.shared.errors import TooManyRequests

MAX_NAMES = 10_000  # remembered at the same time; the least recently used is forgotten first


@dataclass(slots=True)
class RateLimit:
    """A token bucket for each name."""

    clock: Clock
    burst: int
    per_second: float
    _spent: OrderedDict[str, tuple[float, int]] = field(default_factory=OrderedDict)  # how much, as of when

    def consume(self, name: str) -> None:
        """Count a request of this name; raise TooManyRequests if the limit is reached."""
        now = self.clock.millis()
        spent, seen = self._spent.pop(name, (0.0, now))
        spent = max(0.0, spent - max(0, now - seen) / 1000 * self.per_second)
        refused = spent + 1 > self.burst
        self._spent[name] = (spent if refused else spent + 1), now
        if len(self._spent) > MAX_NAMES:
            self._spent.popitem(last=False)
        if refused:
            raise TooManyRequests(max(1, ceil((spent + 1 - self.burst) / self.per_second)))
