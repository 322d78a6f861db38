"""Announcements on a status page: what its owner announces, until it is withdrawn or its time is over. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from hashrange_systems.checks.model.outcome import drop_absent, read_choice, read_text, read_whole
from hashrange_systems.shared.errors import FieldError, InvalidInput

MAX_ANNOUNCEMENTS = 20
MAX_ANNOUNCEMENT_TITLE = 200
MAX_ANNOUNCEMENT_TEXT = 2000
LATEST = 253_402_300_799_999


class Importance(StrEnum):
    """What an announcement is."""

    INFO = "INFO"
    MAINTENANCE = "MAINTENANCE"
    INCIDENT = "INCIDENT"
    RESOLVED = "RESOLVED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """An announcement; it is shown until `ends_at`, if there is one."""

    announcement_id: str
    at: int
    importance: Importance
    title: str
    text: str = ""
    ends_at: int | None = None

    def is_shown(self, now: int) -> bool:
        """Return whether it is shown at this time."""
        return self.ends_at is None or now < self.ends_at


def make_announcement(
    announcement_id: str, now: int, importance: str, title: str, text: str = "", ends_at: int | None = None
) -> Announcement:
    """Return a new announcement; raise InvalidInput with all errors."""
    errors: list[FieldError] = []
    chosen = read_choice(Importance, importance)
    if chosen is None:
        errors.append(FieldError("importance", f"must be one of {', '.join(Importance)}"))
    if not title.strip() or len(title) > MAX_ANNOUNCEMENT_TITLE or not title.isprintable():
        errors.append(FieldError("title", f"must be a line of 1 to {MAX_ANNOUNCEMENT_TITLE} characters"))
    if len(text) > MAX_ANNOUNCEMENT_TEXT or "\x00" in text:
        errors.append(FieldError("text", f"must be at most {MAX_ANNOUNCEMENT_TEXT} characters"))
    if ends_at is not None and not now < ends_at <= LATEST:
        errors.append(FieldError("endsAt", "must be in the future"))
    if errors or chosen is None:
        raise InvalidInput(errors)
    return Announcement(
        announcement_id=announcement_id,
        at=now,
        importance=chosen,
        title=title.strip(),
        text=text.strip(),
        ends_at=ends_at,
    )


def add_announcement(known: Sequence[Announcement], new: Announcement) -> list[Announcement]:
    """Return the announcements with a new one first; the oldest is dropped above the limit."""
    return [new, *known][:MAX_ANNOUNCEMENTS]


def read_announcements(stored: Iterable[Mapping[str, object]]) -> list[Announcement]:
    """Read stored announcements; unreadable ones are left out."""
    return [
        Announcement(
            announcement_id=identity,
            at=at,
            importance=read_choice(Importance, each.get("importance")) or Importance.INFO,
            title=title,
            text=read_text(each.get("text")) or "",
            ends_at=read_whole(each.get("endsAt")),
        )
        for each in stored
        if (identity := read_text(each.get("id")))
        and (title := read_text(each.get("title")))
        and (at := read_whole(each.get("at"))) is not None
    ]


def write_announcements(announcements: Iterable[Announcement]) -> list[dict[str, Any]]:
    """Return announcements as they are stored."""
    return [
        drop_absent(
            {
                "id": each.announcement_id,
                "at": each.at,
                "importance": each.importance.value,
                "title": each.title,
                "text": each.text or None,
                "endsAt": each.ends_at,
            }
        )
        for each in announcements
    ]
