"""Converts between milliseconds since the epoch and datetimes in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS


def to_ms(moment: datetime) -> int:
    """Return milliseconds since the epoch."""
    return (moment - EPOCH) // MILLISECOND


def from_ms(millis: int) -> datetime:
    """Return a datetime in UTC."""
    return EPOCH + millis * MILLISECOND


def to_second(millis: int) -> datetime:
    """Return a datetime in whole seconds, whose ISO texts sort like the times."""
    return from_ms(millis - millis % 1000)
