"""How times, durations, prices and what others wrote are put into words; shared by messages, pages and reports."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime, timedelta

from hashrange_systems.checks.model.incident import Incident
from hashrange_systems.checks.model.money import Money
from hashrange_systems.checks.model.outcome import Outcome, shorten

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = 253_402_300_799_999  # the last millisecond of the year 9999
UNSEEN = frozenset({"Cc", "Cs"})  # control characters, and halves of others
TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # of direction
NO_CHARACTERS = frozenset("\ufeff\ufffe\uffff")  # XML has no way to write some of them


def clean(text: str, longest: int) -> str:
    """Return the text on one line, without control and direction characters, cut to so many bytes."""
    return shorten("".join(" " if is_unseen(sign) else sign for sign in text[:10_000]), longest)


def is_unseen(sign: str) -> bool:
    """Whether a character does something to a text without being seen in it."""
    return sign in TURNING or sign in NO_CHARACTERS or unicodedata.category(sign) in UNSEEN


def write_price(outcome: Outcome) -> str:
    """Return the price, or nothing when there is none."""
    if outcome.price is None or outcome.currency is None:
        return ""
    unsure = ", shipping unknown" if outcome.shipping_known is False else ""
    return f"{Money(outcome.price, outcome.currency)}{unsure}"


def write_lasting(incident: Incident | None) -> str:
    """Return how long an ended incident lasted, or nothing."""
    if incident is None or incident.ended_at is None:
        return ""
    return write_duration(incident.ended_at - incident.started_at)


def write_duration(millis: int) -> str:
    """Return a duration in its two greatest units."""
    seconds = max(0, millis) // 1000
    parts = {"d": seconds // 86_400, "h": seconds // 3600 % 24, "min": seconds // 60 % 60, "s": seconds % 60}
    names = list(parts)
    first = next((place for place, name in enumerate(names) if parts[name]), 3)
    return " ".join(f"{parts[name]} {name}" for name in names[first : first + 2] if parts[name] or name == names[first])


def write_moment(millis: int) -> str:
    """Return a time as a person reads it."""
    return f"{find_moment(millis):%Y-%m-%d %H:%M:%S} UTC"


def write_iso(millis: int) -> str:
    """Return a time as a program reads it."""
    return find_moment(millis).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def find_moment(millis: int) -> datetime:
    """Return the time that is meant; one before 1970 or after the year 9999 is taken for the nearest that can be."""
    return EPOCH + timedelta(milliseconds=min(max(millis, 0), LATEST))
