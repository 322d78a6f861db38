"""Search as pages and commands use it: by the index, and by the scan while there is none."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

from hashrange_systems.kelifax.model.public_entry import ListedResource
from hashrange_systems.kelifax.schema import Kelifax
from hashrange_systems.kelifax.search.index_consumer import IndexConsumer
from hashrange_systems.kelifax.search.query import MAX_OFFSET, MAX_PAGE_SIZE, SearchDocument, SearchQuery, SearchResult
from hashrange_systems.kelifax.search.scan_search import find_by_scan
from hashrange_systems.kelifax.search.text_index import IndexDamaged, TextIndex

log = logging.getLogger(__name__)

BEHIND_AFTER_MS = 60_000


@dataclass(frozen=True, slots=True)
class Search:
    """Finds public resources."""

    db: Kelifax
    index_consumer: IndexConsumer

    @property
    def is_indexed(self) -> bool:
        """Whether the index answers; otherwise the scan does."""
        return self.index_consumer.index is not None

    @property
    def size(self) -> int:
        """The number of documents in the index."""
        return self.index_consumer.index.size if self.index_consumer.index is not None else 0

    @property
    def lag_s(self) -> float:
        """The seconds since the stream was last read to its end; 0 before the first time."""
        read_at = self.index_consumer.followed_at
        return max(0.0, (self.db.session.clock.millis() - read_at) / 1000) if read_at else 0.0

    @property
    def is_behind(self) -> bool:
        """Whether the index has not followed the stream for a while, although this process tries to."""
        since = self.index_consumer.followed_at or self.index_consumer.started_at
        return bool(since) and self.db.session.clock.millis() - since > BEHIND_AFTER_MS

    @property
    def skipped(self) -> int:
        """The number of resources that could not be indexed."""
        return len(self.index_consumer.skipped)

    @property
    def skipped_slugs(self) -> list[str]:
        """The slugs of the resources that could not be indexed."""
        return sorted(self.index_consumer.skipped)

    @property
    def problem(self) -> str:
        """What is wrong with the index: it is behind the stream, damaged, or lacks resources; else empty."""
        if self.is_behind:
            return "search behind"
        if self.index_consumer.is_damaged:
            return "search damaged"
        return "search incomplete" if self.index_consumer.skipped else ""

    async def find(self, query: SearchQuery, *, facets: bool = False) -> SearchResult:
        """Return a page of what has all words and passes all filters; with other spellings at the end."""
        if not (0 <= query.offset <= MAX_OFFSET and 1 <= query.limit <= MAX_PAGE_SIZE):
            return SearchResult()
        index = self.index_consumer.index
        if index is not None:
            try:
                return await asyncio.to_thread(index.find, query, facets=facets)
            except IndexDamaged as error:
                self._report(index, error)
        return await find_by_scan(self.db, query, facets=facets)

    async def find_related(self, entry: ListedResource, limit: int = 4) -> tuple[SearchDocument, ...]:
        """Return resources that share tags, words of the name and the category; newest of the category by scan."""
        index = self.index_consumer.index
        if index is not None:
            try:
                return await asyncio.to_thread(index.find_related, entry, limit)
            except IndexDamaged as error:
                self._report(index, error)
        found = await find_by_scan(self.db, SearchQuery(category=entry.category, sort="newest", limit=limit + 1))
        return tuple(hit.document for hit in found.hits if hit.document.slug != entry.slug)[:limit]

    def _report(self, index: TextIndex, error: IndexDamaged) -> None:
        """Note that the index failed, unless there is another one by now."""
        log.warning("the search index failed, and the scan answers: %s", error)
        if index is self.index_consumer.index:
            self.index_consumer.is_damaged = True
