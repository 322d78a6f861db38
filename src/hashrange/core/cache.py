"""A dictionary that forgets its oldest entries, for what is worked out once per text."""

from __future__ import annotations

from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

Entry = TypeVar("Entry")


class BoundedCache(Generic[Entry]):
    """Keeps the newest entries, so many and so heavy. Looking up takes no lock; another thread may store meanwhile."""

    def __init__(self, most: int = 2000, heaviest: int = 400_000) -> None:
        self._most = most
        self._heaviest = heaviest
        self._entries: dict[Hashable, Entry] = {}
        self._weights: dict[Hashable, int] = {}
        self._weight = 0
        self._lock = Lock()
        self.get = self._entries.get

    def __len__(self) -> int:
        return len(self._entries)

    def store(self, key: Hashable, entry: Entry, weight: int) -> None:
        """Keep an entry, in place of the oldest if there are too many; what it weighs is up to the caller."""
        if weight > self._heaviest:
            return
        with self._lock:
            self._forget(key)
            while len(self._entries) >= self._most or self._weight + weight > self._heaviest:
                self._forget(next(iter(self._weights)))
            self._entries[key] = entry
            self._weights[key] = weight
            self._weight += weight

    def _forget(self, key: Hashable) -> None:
        self._entries.pop(key, None)
        self._weight -= self._weights.pop(key, 0)
