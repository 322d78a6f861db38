"""Formats times, durations and foreign text for messages, pages and reports."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = 253_402_300_799_999  # the last millisecond of the year 9999
UNSEEN = frozenset({"Cc", "Cs"})  # control characters and surrogates
TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # of direction
NO_CHARACTERS = frozenset("\ufeff\ufffe\uffff")  # XML has no way to write some of them


def clean(text: str, longest: int) -> str:
    """Return the text on one line, without control and direction characters, cut to `longest` bytes."""
    return shorten("".join(" " if is_unseen(sign) else sign for sign in text[:10_000]), longest)


def is_unseen(sign: str) -> bool:
    """Return whether a character is invisible but changes the text."""
    return sign in TURNING or sign in NO_CHARACTERS or unicodedata.category(sign) in UNSEEN


def shorten(text: str, longest: int) -> str:
    """Return the text on one line, cut to `longest` UTF-8 bytes; a cut is marked."""
    line = " ".join(text.split()) if len(text) < 10_000 else " ".join(text[:10_000].split())
    raw = line.encode("utf-8", "replace")
    if len(raw) <= longest:
        return raw.decode("utf-8")
    return raw[: longest - 3].decode("utf-8", "ignore") + "…"


def format_duration(millis: int) -> str:
    """Format a duration in its two largest units."""
    seconds = max(0, millis) // 1000
    parts = {"d": seconds // 86_400, "h": seconds // 3600 % 24, "min": seconds // 60 % 60, "s": seconds % 60}
    names = list(parts)
    first = next((at for at, name in enumerate(names) if parts[name]), 3)
    return " ".join(f"{parts[name]} {name}" for name in names[first : first + 2] if parts[name] or name == names[first])


def format_time(millis: int) -> str:
    """Format a time for people."""
    return f"{clamp_time(millis):%Y-%m-%d %H:%M:%S} UTC"


def format_iso_time(millis: int) -> str:
    """Format a time in ISO 8601."""
    return clamp_time(millis).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def clamp_time(millis: int) -> datetime:
    """Return a datetime between 1970 and the year 9999: times outside become the nearest limit."""
    return EPOCH + timedelta(milliseconds=min(max(millis, 0), LATEST))
