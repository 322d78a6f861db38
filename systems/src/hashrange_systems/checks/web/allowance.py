"""How many requests a key, or an address that gives wrong keys, may make: so many at once, and so many a second.

It is kept in memory: each process allows for itself, and a restart forgets.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from math import ceil

from hashrange import Clock
from hashrange_systems.checks.errors import ChecksError

MOST_NAMES = 10_000  # that are remembered; those not seen for longest are forgotten first


class TooMany(ChecksError):
    """More requests than are allowed; `wait_s` is how long to wait."""

    status = 429

    def __init__(self, wait_s: int) -> None:
        super().__init__(f"Too many requests: wait {wait_s} s.")
        self.wait_s = wait_s


@dataclass(slots=True)
class Allowance:
    """A bucket of requests for each name, which fills again with time."""

    clock: Clock
    burst: int
    per_second: float
    _spent: OrderedDict[str, tuple[float, int]] = field(default_factory=OrderedDict)  # how much, as of when

    def take(self, name: str) -> None:
        """Take one request of a name's, or refuse it."""
        now = self.clock.millis()
        spent, seen = self._spent.pop(name, (0.0, now))
        spent = max(0.0, spent - max(0, now - seen) / 1000 * self.per_second)
        refused = spent + 1 > self.burst
        self._spent[name] = (spent if refused else spent + 1), now
        if len(self._spent) > MOST_NAMES:
            self._spent.popitem(last=False)
        if refused:
            raise TooMany(max(1, ceil((spent + 1 - self.burst) / self.per_second)))
