"""A cache of bounded size, for results that are computed once per expression or statement text."""

from __future__ import annotations

from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

Entry = TypeVar("Entry")


class BoundedCache(Generic[Entry]):
    """Keeps the newest entries, up to a number and a total weight. `get` takes no lock; other threads may store."""

    def __init__(self, max_entries: int = 2000, max_weight: int = 400_000) -> None:
        self._max_entries = max_entries
        self._max_weight = max_weight
        self._entries: dict[Hashable, Entry] = {}
        self._weights: dict[Hashable, int] = {}
        self._weight = 0
        self._lock = Lock()
        self.get = self._entries.get

    def __len__(self) -> int:
        return len(self._entries)

    def store(self, key: Hashable, entry: Entry, weight: int) -> None:
        """Store an entry of a weight that the caller chooses; the oldest entries are removed to make room."""
        if weight > self._max_weight:
            return
        with self._lock:
            self._remove(key)
            while len(self._entries) >= self._max_entries or self._weight + weight > self._max_weight:
                self._remove(next(iter(self._weights)))
            self._entries[key] = entry
            self._weights[key] = weight
            self._weight += weight

    def _remove(self, key: Hashable) -> None:
        self._entries.pop(key, None)
        self._weight -= self._weights.pop(key, 0)
