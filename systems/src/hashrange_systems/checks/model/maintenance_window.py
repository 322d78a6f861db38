"""Maintenance windows: once, or weekly at a local time. Within them nothing is counted and no alert is sent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from hashrange_systems.shared.epoch import MINUTE_MS

Span = tuple[int, int]

CLOCK_TIME = re.compile(r"([01]\d|2[0-3]):([0-5]\d)", re.ASCII)
LATEST = 253_402_300_799_999  # the end of the year 9999, after which there are no dates
WEEK_MINUTES = 7 * 24 * 60
FROZEN = ConfigDict(frozen=True, extra="forbid")


def allow_zone(name: str) -> str:
    """Refuse an unknown time zone."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError("must be a time zone such as Europe/Berlin") from error
    return name


class Once(BaseModel):
    """A window with start and end (exclusive) in milliseconds since the epoch."""

    model_config = FROZEN
    kind: Literal["ONCE"] = "ONCE"
    start: int = Field(ge=0, le=LATEST)
    end: int = Field(ge=0, le=LATEST)

    @model_validator(mode="after")
    def order(self) -> Once:
        """Refuse a window that ends before it starts."""
        if self.end <= self.start:
            raise ValueError("must end after it starts")
        return self

    def spans(self, start: int, end: int) -> Iterator[Span]:
        """Yield the window if it overlaps the period."""
        if self.start < end and self.end > start:
            yield self.start, self.end


class Weekly(BaseModel):
    """A window on weekdays (0 is Monday) from a local time for so many elapsed minutes, regardless of clock changes."""

    model_config = FROZEN
    kind: Literal["WEEKLY"] = "WEEKLY"
    days: tuple[Annotated[int, Field(ge=0, le=6)], ...] = Field(min_length=1, max_length=7)
    start: str = Field(pattern=rf"^{CLOCK_TIME.pattern}$")
    minutes: int = Field(ge=1, le=WEEK_MINUTES)
    zone: Annotated[str, AfterValidator(allow_zone)] = "UTC"

    def spans(self, start: int, end: int) -> Iterator[Span]:
        """Yield every window that overlaps the period, in order."""
        length = self.minutes * MINUTE_MS
        day = to_local(start - length, self.zone).date() - timedelta(days=1)
        while (opens := self.open_on(day.year, day.month, day.day)) < end:
            if day.weekday() in self.days and opens + length > start:
                yield opens, opens + length
            day += timedelta(days=1)

    def open_on(self, year: int, month: int, day: int) -> int:
        """Return the start of the window on a day."""
        hour, minute = map(int, self.start.split(":"))
        local = datetime(year, month, day, hour, minute, tzinfo=ZoneInfo(self.zone))
        return int(local.timestamp()) * 1000


Window = Annotated[Once | Weekly, Field(discriminator="kind")]
WINDOW: TypeAdapter[Once | Weekly] = TypeAdapter(Window)


def is_under_maintenance(windows: Iterable[Once | Weekly], at: int) -> bool:
    """Return whether a window is open at this time."""
    return any(opens <= at < closes for window in windows for opens, closes in window.spans(at, at + 1))


def to_local(at: int, zone: str) -> datetime:
    """Return a time in local time."""
    return datetime.fromtimestamp(at / 1000, UTC).astimezone(ZoneInfo(zone))
