"""What the public sees of a resource: an explicit list of attributes, so that no personal data is shown by accident.

A damaged resource, which another program stored in a form that cannot be read, is shown with its raw texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hashrange_systems.kelifax.model.content import (
    CONTENT_FIELDS,
    CONTENT_NAMES,
    LISTED_FIELDS,
    Content,
    ContentField,
    load_content,
    recover_content,
    show_content,
)

if TYPE_CHECKING:
    from hashrange_systems.kelifax.schema import Approved, Listing

PUBLIC_ATTRIBUTES = ("resourceSlug", *CONTENT_NAMES, "featured", "viewCount", "approvedAt", "publishedAt")
MAX_COUNT = 2**53 - 1  # the largest number that JSON carries without loss
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedResource(Content):
    """A resource in a public list; the fields of its content that lists do not have are empty."""

    slug: str
    featured: bool = False
    views: int = 0
    published_at: datetime = EPOCH
    damage: str | None = None  # why it cannot be read

    def to_json(self, chosen: Sequence[ContentField] = LISTED_FIELDS) -> dict[str, Any]:
        """Return the resource as lists of the API show it."""
        return {
            "resourceSlug": self.slug,
            **show_content(self, chosen),
            "featured": self.featured,
            "viewCount": self.views,
            "publishedAt": format_time(self.published_at),
            **({"damaged": self.damage} if self.damage else {}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicResource(ListedResource):
    """A resource on its own page; the raw texts of a damaged one are shown too."""

    raw: Mapping[str, str] = field(default_factory=dict)  # only of a damaged one

    def to_json(self, chosen: Sequence[ContentField] = CONTENT_FIELDS) -> dict[str, Any]:
        """Return the resource as the API and the exports show it."""
        shown = ListedResource.to_json(self, chosen)
        return shown | ({"raw": dict(self.raw)} if self.damage else {})


def show_listing(item: Listing, damage: str | None = None) -> ListedResource:
    """Return an entry of a public index; `damage` is what the public may read of the stored one."""
    return ListedResource(
        **load_content(item, LISTED_FIELDS),
        slug=item.resource_slug,
        featured=item.featured,
        views=limit_count(item.view_count),
        published_at=item.published_at,
        damage=damage,
    )


def show_resource(item: Approved) -> PublicResource:
    """Return an approved resource."""
    return PublicResource(
        **load_content(item),
        slug=item.resource_slug,
        featured=item.featured,
        views=limit_count(item.view_count),
        published_at=getattr(item, "published_at", None) or item.approved_at,
    )


def show_damaged(raw: Mapping[str, Mapping[str, Any]], reason: str) -> PublicResource:
    """Return a resource that cannot be read, from its stored attributes in wire form."""
    texts = {name: _read_text(raw.get(name)) for name in PUBLIC_ATTRIBUTES}
    return PublicResource(
        **recover_raw(raw),
        slug=texts["resourceSlug"],
        featured=texts["featured"] == "true",
        views=parse_count(texts["viewCount"]),
        published_at=parse_time(texts["publishedAt"] or texts["approvedAt"]),
        damage=reason,
        raw={name: text for name, text in texts.items() if text},
    )


def recover_raw(raw: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return as much content of stored attributes in wire form as can be read."""

    def find(each: ContentField) -> object:
        stored = raw.get(each.name, {})
        return stored.get("S", stored.get("N", stored.get("SS")))

    slug: str = raw.get("resourceSlug", {}).get("S", "")
    return recover_content(find, slug)


def _read_text(value: Mapping[str, Any] | None) -> str:
    """Return a value in wire form as text."""
    match dict(value or {}):
        case {"S": str(text)} | {"N": str(text)}:
            return text
        case {"BOOL": bool(flag)}:
            return str(flag).lower()
        case {"SS": list(texts)}:
            return ", ".join(map(str, texts))
        case _:
            return ""


def limit_count(number: int) -> int:
    """Return a stored counter as a number that every format and index has."""
    return max(0, min(number, MAX_COUNT))


def parse_count(text: str) -> int:
    """Return a stored counter; 0 if it is none."""
    return limit_count(int(text)) if text.isdecimal() and len(text) <= len(str(MAX_COUNT)) else 0


def parse_time(text: str) -> datetime:
    """Return a stored time of any width; the epoch if it is none."""
    try:
        found = datetime.fromisoformat(text.removesuffix("Z") if text.endswith("+00:00Z") else text)
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return EPOCH


def to_utc(moment: datetime) -> datetime:
    """Return a time in UTC that no longer remembers how it was stored; at the ends of the calendar with its offset."""
    plain = datetime.combine(moment.date(), moment.timetz())
    try:
        return plain.astimezone(UTC)
    except OverflowError:
        return plain


def read_stored_text(moment: datetime) -> str:
    """Return the text that a time was read from, whatever its width; of another time the one that would be stored."""
    original: Mapping[str, str] | None = getattr(moment, "original", None)
    return original["S"] if original else format_exact_time(moment)


def format_exact_time(moment: datetime) -> str:
    """Return a time in ISO 8601, UTC, with its fraction of a second if it has one."""
    fraction = f".{moment.microsecond:06d}Z" if moment.microsecond else "Z"
    return (format_time(moment) or "").replace("Z", fraction)


def format_time(moment: datetime | None) -> str | None:
    """Return a time in ISO 8601, UTC, in whole seconds."""
    if moment is None:
        return None
    try:
        return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='seconds')}Z"
    except OverflowError:  # at the ends of the calendar, with an offset
        return moment.isoformat(timespec="seconds")
