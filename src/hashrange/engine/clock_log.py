"""The times at which the clock was set back, so that times can be found in the change log.

Changes are in the order of their sequence numbers; their times are the clock's, and rise from one set-back to the next.
`meta` keeps the newest set-backs. A restore to a time uses the last interval of the log in which the clock showed it.
"""

from __future__ import annotations

import orjson
from msgspec import Struct

from hashrange.engine import sql
from hashrange.engine.store import Store

KEY = "set_backs"
MAX_SET_BACKS = 500
TOLERANCE = 1000  # ms; a clock that is set back by less stops for that time


class SetBack(Struct, frozen=True, array_like=True):
    """The clock was set back from one time to another, before the change of a sequence number."""

    sequence: int
    before: int
    after: int


class ClockLog:
    """The set-backs of one database."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.is_dirty = False
        kept = store.run(sql.FIND_META, (KEY,)).get
        self.set_backs = [SetBack(*entry) for entry in orjson.loads(kept)] if kept else []

    def note(self, sequence: int, before: int, after: int) -> None:
        """Add a set-back; `save` writes it."""
        self.set_backs = [*self.set_backs[1 - MAX_SET_BACKS :], SetBack(sequence, before, after)]
        self.is_dirty = True

    def save(self) -> None:
        """Write the set-backs, inside a transaction."""
        entries = [(each.sequence, each.before, each.after) for each in self.set_backs]
        self._store.run(sql.SAVE_META, (KEY, orjson.dumps(entries)))
        self.is_dirty = False

    def find_interval(self, millis: int) -> tuple[int, int]:
        """Return the sequence numbers of the last interval with this time: its first one, and the next one after it."""
        end = 2**63 - 1
        for entry in reversed(self.set_backs):
            if entry.after <= millis:
                return entry.sequence, end
            end = entry.sequence
        return 0, end

    def is_ambiguous(self, millis: int) -> bool:
        """Return whether the clock showed a time more than once."""
        return any(entry.after <= millis <= entry.before for entry in self.set_backs)

    def earliest_since(self, millis: int, sequence: int) -> int:
        """Return the earliest time that the clock showed since a time, and since the sequence number of that time."""
        return min([millis, *(entry.after for entry in self.set_backs if entry.sequence >= sequence)])
