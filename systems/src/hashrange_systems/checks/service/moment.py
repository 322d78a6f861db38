"""Between the model's milliseconds and the schema's times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)


def to_ms(moment: datetime) -> int:
    """Return a time as milliseconds since the epoch."""
    return (moment - EPOCH) // MILLISECOND


def from_ms(millis: int) -> datetime:
    """Return milliseconds since the epoch as a time."""
    return EPOCH + millis * MILLISECOND


def to_second(millis: int) -> datetime:
    """Return milliseconds since the epoch as a time in whole seconds: its texts sort as the times do."""
    return from_ms(millis - millis % 1000)
