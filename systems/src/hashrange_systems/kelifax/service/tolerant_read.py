"""Reads lists in which single items may be damaged: stored by another program in a form that cannot be read.

A damaged item takes its place in the list, with its raw attributes; it never hides the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from hashrange import Latest, Model, Query, Scan, Unreadable, camel
from hashrange_systems.kelifax.model.damage import describe_damage, hide_private, join_reasons
from hashrange_systems.kelifax.model.public_entry import format_time

T = TypeVar("T", bound=Model)

AT_ONCE = 50  # items that are read and parsed before other requests have their turn
TO_THE_SECOND = len("2026-01-15T12:00:00")


@dataclass(frozen=True, slots=True)
class DamagedItem:
    """A stored item that cannot be read: its attributes in wire form, and what is wrong with which of them."""

    raw: Mapping[str, Mapping[str, Any]]
    reasons: tuple[str, ...]

    @classmethod
    def from_error(cls, error: Unreadable) -> DamagedItem:
        """Return the item of an error."""
        return cls(error.raw, describe_damage(str(error).partition(": ")[2]))

    @property
    def reason(self) -> str:
        """Why it cannot be read, for moderators; it quotes no value."""
        return join_reasons(self.reasons)

    @property
    def public_reasons(self) -> tuple[str, ...]:
        """Why it cannot be read, without the names of attributes that are not public."""
        return hide_private(self.reasons)

    @property
    def public_reason(self) -> str:
        """The public reasons as one text."""
        return join_reasons(self.public_reasons)

    def text(self, name: str) -> str:
        """Return an attribute that is a string; empty if it is none."""
        return str(self.raw.get(name, {}).get("S", ""))

    @property
    def resource_slug(self) -> str:
        """The slug."""
        return self.text("resourceSlug")

    @property
    def status(self) -> str:
        """The status, as it is stored."""
        return self.text("resourceStatus")


@dataclass(frozen=True, slots=True)
class TolerantPage(Generic[T]):
    """A page with its damaged items; it may have more entries than were asked for."""

    entries: list[T | DamagedItem]
    cursor: str | None


async def read_page(query: Query[T] | Latest[T] | Scan[T], size: int, after: str | None, by: str) -> TolerantPage[T]:
    """Return a page of a list that is ordered by the field `by`."""
    errors: list[Unreadable] = []
    page = await query.skip_unreadable(errors.append).page(size, after=after)
    damaged = {item.resource_slug: item for item in map(DamagedItem.from_error, errors)}
    backwards = isinstance(query, Latest)
    ordered = page.items and page.cursor and not isinstance(query, Scan)
    last = find_order(page.items[-1], by) if ordered else None
    kept = [item for item in damaged.values() if last is None or is_within(item, by, last, backwards=backwards)]
    if not kept:
        return TolerantPage(list(page.items), page.cursor)
    entries: list[T | DamagedItem] = [*page.items, *kept]
    entries.sort(key=lambda entry: find_order(entry, by), reverse=backwards)
    return TolerantPage(entries, page.cursor)


async def read_all(query: Query[T] | Latest[T] | Scan[T], by: str) -> AsyncIterator[T | DamagedItem]:
    """Yield a whole list page by page, each damaged item once."""
    seen: set[str] = set()
    cursor: str | None = None
    while True:
        page = await read_page(query, AT_ONCE, cursor, by)
        fresh = [
            entry for entry in page.entries if not isinstance(entry, DamagedItem) or entry.resource_slug not in seen
        ]
        seen.update(entry.resource_slug for entry in fresh if isinstance(entry, DamagedItem))
        for entry in fresh:
            yield entry
        cursor = page.cursor
        if cursor is None:
            return
        await asyncio.sleep(0)  # an embedded database answers at once: let other requests have their turn


def is_within(item: DamagedItem, by: str, last: str, *, backwards: bool) -> bool:
    """Return whether a damaged item stands before the end of a page; if not, the next page reports it again."""
    at = find_order(item, by)
    return at >= last if backwards else at <= last


def find_order(entry: object, by: str) -> str:
    """Return what the index orders an entry by: the stored text, to the second, whether it is a time or not."""
    text = entry.text(camel(by)) if isinstance(entry, DamagedItem) else format_time(getattr(entry, by))
    return (text or "")[:TO_THE_SECOND]
