"""A cache of facts about classes and tables, cleared whenever another class is declared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class _Cache(dict[Any, T]):
    """The results of one function, by class or table; a missing one is computed."""

    def __init__(self, function: Callable[[Any], T]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, subject: Any) -> T:
        found = self[subject] = self._function(subject)
        return found


_CACHES: list[_Cache[Any]] = []


def cached_by_class(function: Callable[[Any], T]) -> Callable[[Any], T]:
    """Cache a function of one class or table, as `functools.cache` does, until the next class is declared."""
    cache = _Cache(function)
    _CACHES.append(cache)
    return cache.__getitem__


def clear_class_cache() -> None:
    """Clear every cache: a class was declared, which may change what is true of others."""
    for cache in _CACHES:
        cache.clear()
