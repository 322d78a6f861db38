"""Roll-ups of today that are kept in memory, so that a page does not read all runs of today each time it is shown.

A check with a delay of 30 s has 2,880 runs a day, which take a quarter of a second to read; a status page may have 200
checks. A roll-up is kept up to a run after which nothing before it can change, and goes on from there.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime

from hashrange_systems.checks.model.state import is_confirming, read_state
from hashrange_systems.checks.model.uptime import Rollup
from hashrange_systems.checks.schema import Check

MAX_CHECKS = 5_000  # a roll-up has some KB, most of it the histogram of response times
FINAL_AFTER_MS = 60_000  # the copies of a database that a read may reach have all runs that are older

ProgressKey = tuple[str, datetime, int]


@dataclass(frozen=True, slots=True)
class Progress:
    """The roll-up of a day up to a time."""

    until: int
    rollup: Rollup


@dataclass(frozen=True, slots=True)
class RollupProgress:
    """The roll-ups of the checks that were read last."""

    known: OrderedDict[ProgressKey, Progress] = field(default_factory=OrderedDict)

    def find(self, check: Check, start: int) -> Progress:
        """Return how far the roll-up of a day is known; an edit, which may change maintenance windows, starts anew."""
        key = make_key(check, start)
        if key in self.known:
            self.known.move_to_end(key)
        return self.known.get(key, Progress(start, Rollup()))

    def keep(self, check: Check, start: int, progress: Progress) -> None:
        """Keep the roll-up of a day, unless another task knows more; forget those that were not read for longest."""
        if progress.until > self.find(check, start).until:
            self.known[make_key(check, start)] = progress
        while len(self.known) > MAX_CHECKS:
            self.known.popitem(last=False)


def make_key(check: Check, start: int) -> ProgressKey:
    """Return the key of the roll-up of a day."""
    return check.checkid, check.updated_at, start


def find_final_until(check: Check, now: int) -> int:
    """Return the time before which no run is added and no verdict changes; 0 while a change is being confirmed.

    Runs of a check have increasing times: none is recorded before the last one.
    """
    state = read_state(check.state)
    if state.last_at is None or is_confirming(state):
        return 0
    return min(state.last_at, now - FINAL_AFTER_MS)
