"""What everybody may read: lists, pages of resources, related ones. Personal data never passes through this module.

`Directory`
- `browse(Filters(category=, tags=, choices=, sort=), size, after)`: a page of a list; the filters combine, a page is
  full unless it is the last one, `cursor` is for the next. `newest` reads an index, `name` and `popular` all matches,
  which are kept for ten seconds.
- `find(slug)`: a published resource; `ResourceMissing` otherwise. A slug that was renamed raises nothing: compare
  `entry.slug` with the requested one and redirect. A damaged resource has `damage` and `raw`.
- `related(entry)`: others with the same tags and category. `featured()`, `facets()`: what the home page shows.
- `list_all()`: every published resource, newest first, for the sitemap, feeds and exports; damaged ones included.
- `scan(query)`: the search of the original system, the fallback and the oracle of the search index.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Literal

import orjson

from hashrange import Clock, CursorInvalid, Latest, Unreadable
from hashrange_systems.kelifax.model.content import FILTER_FIELDS, has_choices
from hashrange_systems.kelifax.model.damage import hide_private, join_reasons
from hashrange_systems.kelifax.model.public_entry import (
    ListedResource,
    PublicResource,
    read_stored_text,
    show_damaged,
    show_listing,
    show_resource,
)
from hashrange_systems.kelifax.model.search_text import contains_all, split_words
from hashrange_systems.kelifax.model.slug import is_stored_slug
from hashrange_systems.kelifax.model.stored_list import normalise_tags
from hashrange_systems.kelifax.schema import Kelifax, Listing
from hashrange_systems.kelifax.service.time_ordered_list import (
    Chunk,
    ListPosition,
    OrderedPage,
    PositionedEntry,
    TimeOrderedList,
)
from hashrange_systems.kelifax.service.tolerant_read import DamagedItem, read_all, read_all_in_order, read_time_page
from hashrange_systems.kelifax.visitor_item import Facets, TagEntry
from hashrange_systems.shared.epoch import DAY_MS, from_ms, to_second
from hashrange_systems.shared.errors import ResourceMissing, TokenInvalid
from hashrange_systems.shared.signed_token import TokenSigner

MAX_PAGE = 50
MAX_SORTED = 5000  # rows that are read to sort them by name or views
COPIED_MS = 10_000  # for which the rows of a sorted list are kept
MAX_COPIES = 20
RELATED_TAGS = 5  # tags whose resources are compared
FACETS_FOR = timedelta(hours=1)
CURSOR_MS = DAY_MS

Sort = Literal["newest", "name", "popular"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What a list shows; everything that is given must hold."""

    category: str | None = None
    tags: tuple[str, ...] = ()
    choices: Mapping[str, str] = field(default_factory=dict)  # words by the attributes that have them
    sort: Sort = "newest"

    def accept(self, entry: ListedResource) -> bool:
        """Return whether an entry belongs into the list."""
        return (
            (self.category is None or entry.category == self.category)
            and set(normalise_tags(self.tags)) <= set(normalise_tags(entry.tags))
            and has_choices(entry, self.choices)
        )


@dataclass(frozen=True, slots=True)
class ListPage:
    """A page of a list; `cursor` is None on the last one."""

    entries: list[ListedResource]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class Directory:
    """The published resources."""

    db: Kelifax
    clock: Clock
    signer: TokenSigner
    _copies: dict[tuple[str, ...], tuple[int, list[ListedResource]]] = field(default_factory=dict)  # of sorted lists
    _locks: dict[tuple[str, ...], asyncio.Lock] = field(default_factory=dict)

    # ── lists ────────────────────────────────────────────────────────────────────────────────────────────────────────
    async def browse(self, filters: Filters, size: int = 20, after: str | None = None) -> ListPage:
        """Return a page of a list; raise CursorInvalid for a cursor of another one."""
        size = max(1, min(size, MAX_PAGE))
        if filters.sort != "newest":
            return await self._browse_sorted(filters, size, after)
        page = await self._read_newest(filters, size, after)
        return ListPage([show_entry(entry) for entry in page.entries if is_approved(entry)], page.cursor)

    async def _read_newest(
        self, filters: Filters, size: int, after: str | None
    ) -> OrderedPage[Listing | DamagedItem | ListedResource]:
        name = orjson.dumps(describe_filters(filters)).decode()
        if tags := normalise_tags(filters.tags):
            return await TimeOrderedList(TagIndex(self, tags[0], filters, name), self.signer).read_page(size, after)

        def read_from(at: datetime | None) -> Latest[Listing]:
            query = self.db.listing(filters.category, at) if filters.category else self.db.feed(at)
            return query.filter(*(getattr(self.db, f"with_{name}")(word) for name, word in filters.choices.items()))

        return await read_time_page(read_from, name, "published_at", size, after)

    async def _browse_sorted(self, filters: Filters, size: int, after: str | None) -> ListPage:
        rows = await self._sort_all(filters)
        start = self._find_start(filters, rows, after) if after else 0
        page = rows[start : start + size]
        more = start + size < len(rows)
        return ListPage(page, self._sign_cursor(filters, page[-1]) if more else None)

    async def _sort_all(self, filters: Filters) -> list[ListedResource]:
        """Return all matches in order: a copy of at most ten seconds, as reading thousands of rows takes seconds."""
        key = tuple(describe_filters(filters))
        async with self._locks.setdefault(key, asyncio.Lock()):
            now = self.clock.millis()
            read_at, rows = self._copies.get(key, (None, []))
            if read_at is None or not 0 <= now - read_at < COPIED_MS:
                rows = sorted(await self._match_all(filters), key=lambda entry: sort_key(entry, filters.sort))
                if len(self._copies) >= MAX_COPIES:
                    self._copies.clear()
                    self._locks.clear()
                self._copies[key] = (now, rows)
            return rows

    async def _match_all(self, filters: Filters) -> list[ListedResource]:
        newest = replace(filters, sort="newest")
        rows: list[ListedResource] = []
        after: str | None = None
        while len(rows) < MAX_SORTED:
            page = await self.browse(newest, MAX_PAGE, after)
            rows += page.entries
            after = page.cursor
            if after is None:
                break
            await asyncio.sleep(0)  # an embedded database answers at once: let other requests have their turn
        return rows

    def _sign_cursor(self, filters: Filters, last: ListedResource) -> str:
        words = [*describe_filters(filters), *map(str, sort_key(last, filters.sort))]
        return self.signer.sign("list", words, self.clock.millis() + CURSOR_MS)

    def _find_start(self, filters: Filters, rows: list[ListedResource], cursor: str) -> int:
        try:
            words = self.signer.open("list", cursor, self.clock.millis())
        except TokenInvalid as error:
            raise CursorInvalid("The cursor is damaged or too old: begin again.") from error
        if words[:-2] != describe_filters(filters):
            raise CursorInvalid("The cursor is from another list: begin again.")
        last = (int(words[-2]) if filters.sort == "popular" else words[-2], words[-1])
        return next((at for at, row in enumerate(rows) if sort_key(row, filters.sort) > last), len(rows))

    async def featured(self, limit: int = 6) -> list[ListedResource]:
        """Return the newest featured resources."""
        found = await self.db.feed().filter(self.db.highlighted(featured=True)).skip_unreadable().limit(limit)
        return [show_entry(item) for item in found]

    # ── one resource ─────────────────────────────────────────────────────────────────────────────────────────────────
    async def find(self, slug: str) -> PublicResource:
        """Return a published resource by its slug, or by a former one; raise ResourceMissing."""
        found = await self._read(slug) if is_stored_slug(slug) else None
        if found is None and is_stored_slug(slug):
            alias = await self.db.alias(slug)
            found = await self._read(alias.slug) if alias else None
        if found is None:
            raise ResourceMissing("resource")
        return found

    async def _read(self, slug: str) -> PublicResource | None:
        try:
            item = await self.db.published(slug)
        except Unreadable as error:
            damaged = DamagedItem.from_error(error)
            return show_damaged(damaged.raw, damaged.public_reason) if damaged.status == "approved" else None
        return show_resource(item) if item else None

    async def read_many(self, slugs: Sequence[str]) -> list[PublicResource]:
        """Return the published ones of these resources, in this order."""
        try:
            items = await self.db.fetch([self.db.published(slug) for slug in slugs])
        except Unreadable:  # one of them is damaged
            read = [await self._read(slug) for slug in slugs]
            return [entry for entry in read if entry is not None]
        return [show_resource(item) for item in items if item is not None]

    async def related(self, entry: ListedResource, limit: int = 6) -> list[ListedResource]:
        """Return resources that share tags or the category, those that share most first: the alternatives."""
        found = {item.slug: item for item in (await self.browse(Filters(category=entry.category), MAX_PAGE)).entries}
        shared: Counter[str] = Counter()
        for tag in normalise_tags(entry.tags)[:RELATED_TAGS]:
            shared.update([each.slug for each in await self.db.tag_entries(tag).limit(MAX_PAGE)])
        far = [slug for slug, _ in shared.most_common(4 * limit) if slug not in found]
        found |= {item.slug: item for item in await self.read_many(far)}
        found.pop(entry.slug, None)
        own = set(normalise_tags(entry.tags))
        return sorted(found.values(), key=lambda item: rank_related(entry, own, item))[:limit]

    # ── everything ───────────────────────────────────────────────────────────────────────────────────────────────────
    async def list_all(self) -> AsyncIterator[PublicResource]:
        """Yield every approved resource, damaged ones too, newest submission first."""
        async for item in read_all_in_order(self.db.approved(), "created_at"):
            yield show_damaged(item.raw, item.public_reason) if isinstance(item, DamagedItem) else show_resource(item)

    async def scan(self, query: str) -> list[PublicResource]:
        """Return the approved resources whose search text contains every word, newest first, by reading the table."""
        words = split_words(query)
        if not words:
            return []
        found: list[PublicResource] = []
        async for item in read_all(self.db.search(words[0]), "created_at"):
            if isinstance(item, DamagedItem):
                if item.status == "approved" and contains_all(item.text("searchText"), words):
                    found.append(show_damaged(item.raw, item.public_reason))
            elif contains_all(item.search_text, words):
                found.append(show_resource(item))
        return sorted(found, key=lambda entry: (entry.published_at, entry.slug), reverse=True)

    async def facets(self) -> Facets:
        """Return how many resources each category, tag and word of a filter has; at most an hour old."""
        try:
            stored = await self.db.facets()
        except Unreadable:  # it is counted again
            stored = None
        now = from_ms(self.clock.millis())
        return stored if stored and now - stored.counted_at < FACETS_FOR else await self.count_facets()

    async def count_facets(self) -> Facets:
        """Count the published resources, and store the result."""
        categories: Counter[str] = Counter()
        tags: Counter[str] = Counter()
        choices: dict[str, Counter[str]] = {each.attribute: Counter() for each in FILTER_FIELDS}
        async for item in read_all(self.db.feed(), "published_at"):
            if is_approved(item):
                entry = show_entry(item)
                categories[entry.category] += 1
                tags.update(normalise_tags(entry.tags))
                for each in FILTER_FIELDS:
                    choices[each.attribute].update(each.keys_of(entry))
        counted = Facets(
            counted_at=to_second(self.clock.millis()),
            total=categories.total(),
            categories=dict(categories),
            tags=dict(tags.most_common(500)),
            choices={name: dict(counts) for name, counts in choices.items()},
        )
        return await self.db.put(counted)


@dataclass(frozen=True, slots=True)
class TagIndex:
    """The published resources of a tag; each entry is compared with its resource, which may have changed."""

    directory: Directory
    tag: str
    filters: Filters
    name: str
    backwards: bool = True

    async def read(self, since: datetime | None, count: int, after: str | None) -> Chunk[ListedResource]:
        """Return those of so many entries that the filters accept."""
        page = await self.directory.db.tag_entries(self.tag, since).page(count, after=after)
        shown = {entry.slug: entry for entry in await self.directory.read_many([entry.slug for entry in page])}
        positioned = [
            PositionedEntry(position_as_shown(each, shown[each.slug]), shown[each.slug])
            for each in page
            if self._is_listed(each, shown.get(each.slug))
        ]
        return Chunk(positioned, position_as_stored(page.items[-1]).second if page.items else "", page.cursor)

    def _is_listed(self, tagged: TagEntry, entry: ListedResource | None) -> bool:
        """Return whether an entry of a tag is the one of its resource, and not of an earlier publication."""
        if entry is None or not self.filters.accept(entry):
            return False
        return entry.published_at.replace(microsecond=0) == tagged.published_at


def position_as_stored(tagged: TagEntry) -> ListPosition:
    """Return the position of an entry of a tag, which has whole seconds."""
    return ListPosition.of(read_stored_text(tagged.published_at), tagged.slug)


def position_as_shown(tagged: TagEntry, entry: ListedResource) -> ListPosition:
    """Return the position of the resource of a tag: the tag has the second, the resource has the fraction."""
    stored, exact = position_as_stored(tagged), ListPosition.of(read_stored_text(entry.published_at), entry.slug)
    return exact if exact.second == stored.second else stored


def rank_related(entry: ListedResource, tags: set[str], other: ListedResource) -> tuple[int, float, str]:
    """Return the rank of a related resource: shared tags, then the category, then the newest."""
    shared = 2 * len(tags & set(normalise_tags(other.tags))) + (other.category == entry.category)
    return -shared, -other.published_at.timestamp(), other.slug


def is_approved(entry: object) -> bool:
    """Return whether an entry of a public index belongs there; another program may have rejected it a moment ago."""
    if isinstance(entry, ListedResource):  # it was read from the table
        return True
    status = entry.status if isinstance(entry, DamagedItem) else getattr(entry, "resource_status", "")
    return status == "approved"


def show_entry(entry: Listing | DamagedItem | ListedResource) -> ListedResource:
    """Return an entry of a public index, readable or damaged."""
    if isinstance(entry, ListedResource):
        return entry
    if isinstance(entry, DamagedItem):
        return show_damaged(entry.raw, entry.public_reason)
    return show_listing(entry, join_reasons(hide_private(entry.damage)) or None)


def sort_key(entry: ListedResource, sort: Sort) -> tuple[str | int, str]:
    """Return what a list is sorted by: names without regard to case, or views, most first."""
    return (-entry.views if sort == "popular" else entry.resource_name.casefold(), entry.slug)


def describe_filters(filters: Filters) -> list[str]:
    """Return the filters as words, which a cursor is bound to."""
    choices = [f"{name}={word}" for name, word in sorted(filters.choices.items())]
    return [filters.sort, filters.category or "", *choices, *normalise_tags(filters.tags)]
