"""What everybody may read: lists, pages of resources, related ones. Personal data never passes through this module.

`Directory`
- `browse(Filters(category=, tags=, pricing=, sort=), size, after)`: a page of a list; the filters combine, a page is
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
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

from hashrange import Clock, CursorInvalid, Unreadable
from hashrange_systems.kelifax.model.damage import hide_private, join_reasons
from hashrange_systems.kelifax.model.draft import normalise_tags
from hashrange_systems.kelifax.model.public_entry import (
    ListedResource,
    PublicResource,
    show_damaged,
    show_listing,
    show_resource,
)
from hashrange_systems.kelifax.model.search_text import contains_all, split_words
from hashrange_systems.kelifax.model.slug import is_stored_slug
from hashrange_systems.kelifax.schema import Kelifax, Listing
from hashrange_systems.kelifax.service.tolerant_read import DamagedItem, read_all, read_page
from hashrange_systems.kelifax.visitor_item import Facets
from hashrange_systems.shared.epoch import from_ms, to_second
from hashrange_systems.shared.errors import ResourceMissing, TokenInvalid
from hashrange_systems.shared.signed_token import TokenSigner

MAX_PAGE = 50
MAX_SORTED = 5000  # rows that are read to sort them by name or views
COPIED_MS = 10_000  # for which the rows of a sorted list are kept
MAX_COPIES = 20
RELATED_TAGS = 5  # tags whose resources are compared
FACETS_FOR = timedelta(hours=1)
CURSOR_MS = 86_400_000

Sort = Literal["newest", "name", "popular"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What a list shows; everything that is given must hold."""

    category: str | None = None
    tags: tuple[str, ...] = ()
    pricing: str | None = None
    sort: Sort = "newest"

    def accept(self, entry: ListedResource) -> bool:
        """Return whether an entry belongs into the list."""
        return (
            (self.category is None or entry.category == self.category)
            and set(normalise_tags(self.tags)) <= set(normalise_tags(entry.tags))
            and (self.pricing is None or self.pricing in entry.pricing)
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
        if tags := normalise_tags(filters.tags):
            return await self._browse_tag(tags[0], filters, size, after)
        query = self.db.listing(filters.category) if filters.category else self.db.feed()
        if filters.pricing:
            query = query.filter(self.db.priced(filters.pricing))
        page = await read_page(query, size, after, "published_at")
        return ListPage([show_entry(entry) for entry in page.entries if is_approved(entry)], page.cursor)

    async def _browse_tag(self, tag: str, filters: Filters, size: int, after: str | None) -> ListPage:
        """Fill a page from the entries of a tag: each is compared with its resource, which may have changed."""
        found: list[ListedResource] = []
        while len(found) < size:
            page = await self.db.tag_entries(tag).page(size - len(found), after=after)
            shown = await self.read_many([entry.slug for entry in page])
            found += [entry for entry in shown if filters.accept(entry)]
            after = page.cursor
            if after is None:
                break
        return ListPage(found, after)

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
        newest = Filters(category=filters.category, tags=filters.tags, pricing=filters.pricing)
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
        async for item in read_all(self.db.approved(), "created_at"):
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
        """Return how many resources each category, tag and pricing has; at most an hour old."""
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
        pricing: Counter[str] = Counter()
        async for item in read_all(self.db.feed(), "published_at"):
            if is_approved(item):
                entry = show_entry(item)
                categories[entry.category] += 1
                tags.update(normalise_tags(entry.tags))
                pricing.update(entry.pricing)
        counted = Facets(
            counted_at=to_second(self.clock.millis()),
            total=categories.total(),
            categories=dict(categories),
            tags=dict(tags.most_common(500)),
            pricing=dict(pricing),
        )
        return await self.db.put(counted)


def rank_related(entry: ListedResource, tags: set[str], other: ListedResource) -> tuple[int, float, str]:
    """Return the rank of a related resource: shared tags, then the category, then the newest."""
    shared = 2 * len(tags & set(normalise_tags(other.tags))) + (other.category == entry.category)
    return -shared, -other.published_at.timestamp(), other.slug


def is_approved(entry: object) -> bool:
    """Return whether an entry of a public index belongs there; another program may have rejected it a moment ago."""
    status = entry.status if isinstance(entry, DamagedItem) else getattr(entry, "resource_status", "")
    return status == "approved"


def show_entry(entry: Listing | DamagedItem) -> ListedResource:
    """Return an entry of a public index, readable or damaged."""
    if isinstance(entry, DamagedItem):
        return show_damaged(entry.raw, entry.public_reason)
    return show_listing(entry, join_reasons(hide_private(entry.damage)) or None)


def sort_key(entry: ListedResource, sort: Sort) -> tuple[str | int, str]:
    """Return what a list is sorted by: names without regard to case, or views, most first."""
    return (-entry.views if sort == "popular" else entry.name.casefold(), entry.slug)


def describe_filters(filters: Filters) -> list[str]:
    """Return the filters as words, which a cursor is bound to."""
    return [filters.sort, filters.category or "", filters.pricing or "", *normalise_tags(filters.tags)]
