"""Facts about classes, found once and cached_by_class until the next class is declared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class _Answers(dict[Any, T]):
    """What a function said of each class; asking for another calls the function."""

    def __init__(self, function: Callable[[Any], T]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, subject: Any) -> T:
        found = self[subject] = self._function(subject)
        return found


_REMEMBERED: list[_Answers[Any]] = []


def cached_by_class(function: Callable[[Any], T]) -> Callable[[Any], T]:
    """Keep the answer for each class or table, as `functools.cache` does, until `clear_class_cache` is called."""
    answers = _Answers(function)
    _REMEMBERED.append(answers)
    return answers.__getitem__


def clear_class_cache() -> None:
    """Forget every answer: a class is declared."""
    for answers in _REMEMBERED:
        answers.clear()
