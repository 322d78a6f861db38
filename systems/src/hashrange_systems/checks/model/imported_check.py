"""Checks in the files of other monitors, as values: what would be added, and what has no counterpart here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hashrange_systems.shared.epoch import MINUTE_MS
from hashrange_systems.shared.text import clean


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedCheck:
    """A check to add; `notes` say what is different here."""

    check_type: str
    name: str
    url: str | None = None
    delay_ms: int = MINUTE_MS
    attributes: dict[str, Any] = field(default_factory=dict)
    group: str | None = None
    tags: list[str] = field(default_factory=list)
    paused: bool = False
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedCheck:
    """A check that cannot be added, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedFile:
    """The checks of a file; `error` if it is none."""

    source: str = ""
    checks: list[ImportedCheck] = field(default_factory=list)
    skipped: list[SkippedCheck] = field(default_factory=list)
    error: str = ""


class NotImportable(Exception):
    """A check that has no counterpart here; the text says why."""


def read_line(given: Mapping[str, Any], key: str, longest: int = 2000) -> str:
    """Return a value as one line of text; empty if there is none."""
    value = given.get(key)
    return clean(str(value), longest) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def read_count(given: Mapping[str, Any], key: str, usual: int) -> int:
    """Return a whole number, also from text; the usual one if it is none."""
    value = given.get(key)
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 10:
        return int(value)
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9 else usual


def describe_excess(most: int) -> str:
    """Return why a file with more checks than an import takes is refused."""
    return f"The file has more than {most:,} checks: an import takes at most so many. Split it."


def limit(value: int, low: int, high: int) -> int:
    """Return the nearest number within limits."""
    return min(max(value, low), high)
