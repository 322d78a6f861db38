"""Reads lists in which single items may be damaged: stored by another program in a form that cannot be read.

A damaged item has its position in the list, with its raw attributes; it never hides the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeAlias, TypeVar

from hashrange import Latest, Model, Query, Scan, Unreadable, camel
from hashrange_systems.kelifax.model.damage import describe_damage, hide_private, join_reasons
from hashrange_systems.kelifax.model.public_entry import read_stored_text
from hashrange_systems.kelifax.service.time_ordered_list import (
    MAX_TOGETHER,
    Chunk,
    ListPosition,
    OrderedPage,
    PositionedEntry,
    TimeIndex,
    TimeOrderedList,
    sort_positioned,
    to_bound,
)
from hashrange_systems.shared.signed_token import TokenSigner

T = TypeVar("T", bound=Model)
ReadFrom: TypeAlias = Callable[[datetime | None], Query[T] | Latest[T]]  # all of a list, or from a time on

AT_ONCE = 50  # items that are read and parsed before other requests have their turn


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


async def read_time_page(
    read_from: ReadFrom[T], name: str, by: str, size: int, after: str | None
) -> OrderedPage[T | DamagedItem]:
    """Return a page of a list that is ordered by the time `by`; `name` is what its cursors are bound to."""
    whole = read_from(None)
    index: TimeIndex[T | DamagedItem] = QueryIndex(read_from, name, by, isinstance(whole, Latest))
    signer = TokenSigner(whole.session.secret, "kelifax")
    return await TimeOrderedList(index, signer).read_page(size, after)


@dataclass(frozen=True, slots=True)
class QueryIndex(Generic[T]):
    """The index of a query whose sort key is a stored time."""

    read_from: ReadFrom[T]
    name: str
    by: str
    backwards: bool

    async def read(self, since: datetime | None, count: int, after: str | None) -> Chunk[T | DamagedItem]:
        """Return about so many entries in the order of the index."""
        query = self.read_from(to_bound(since, backwards=self.backwards) if since else None)
        page = await read_page(query, count, after, self.by)
        positioned = [PositionedEntry(find_position(entry, self.by), entry) for entry in page.entries]
        return Chunk(positioned, positioned[-1].position.second if positioned else "", page.cursor)


async def read_page(query: Query[T] | Latest[T] | Scan[T], size: int, after: str | None, by: str) -> TolerantPage[T]:
    """Return a page of a list in the order of the index, whose sort key is the field `by`."""
    errors: list[Unreadable] = []
    page = await query.skip_unreadable(errors.append).page(size, after=after)
    damaged = {item.resource_slug: item for item in map(DamagedItem.from_error, errors)}
    backwards = isinstance(query, Latest)
    ordered = page.items and page.cursor and not isinstance(query, Scan)
    last = find_position(page.items[-1], by).second if ordered else None
    kept = [item for item in damaged.values() if last is None or is_within(item, by, last, backwards=backwards)]
    if not kept:
        return TolerantPage(list(page.items), page.cursor)
    entries: list[T | DamagedItem] = [*page.items, *kept]
    entries.sort(key=lambda entry: find_position(entry, by).second, reverse=backwards)
    return TolerantPage(entries, page.cursor)


async def read_all(query: Query[T] | Latest[T] | Scan[T], by: str) -> AsyncIterator[T | DamagedItem]:
    """Yield a whole list page by page, each damaged item once; its order is that of the index."""
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


async def read_all_in_order(query: Query[T] | Latest[T], by: str) -> AsyncIterator[T | DamagedItem]:
    """Yield a whole list in the order of time."""
    together: list[PositionedEntry[T | DamagedItem]] = []
    backwards = isinstance(query, Latest)
    async for entry in read_all(query, by):
        positioned = PositionedEntry(find_position(entry, by), entry)
        if together and (together[0].position.second != positioned.position.second or len(together) >= MAX_TOGETHER):
            for each in sort_positioned(together, backwards=backwards):
                yield each.entry
            together = []
        together.append(positioned)
    for each in sort_positioned(together, backwards=backwards):
        yield each.entry


def is_within(item: DamagedItem, by: str, last: str, *, backwards: bool) -> bool:
    """Return whether a damaged item stands before the end of a page; if not, the next page reports it again."""
    at = find_position(item, by).second
    return at >= last if backwards else at <= last


def find_position(entry: Any, by: str) -> ListPosition:
    """Return the position of an entry in a list that is ordered by a time, from the text that is stored."""
    text = entry.text(camel(by)) if isinstance(entry, DamagedItem) else read_stored_text(getattr(entry, by))
    return ListPosition.of(text, entry.resource_slug)
