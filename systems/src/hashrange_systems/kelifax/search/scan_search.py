"""Search without an index: the seed's `contains(searchText)` for each word. The fallback, and the tests' oracle."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from itertools import groupby

from hashrange_systems.kelifax.model.content import has_choices
from hashrange_systems.kelifax.model.stored_list import normalise_tags
from hashrange_systems.kelifax.schema import Kelifax
from hashrange_systems.kelifax.search.document_reader import read_all, scan_for
from hashrange_systems.kelifax.search.query import SearchDocument, SearchHit, SearchQuery, SearchResult


def matches(document: SearchDocument, query: SearchQuery) -> bool:
    """Return whether a document has all words of a query, and passes its filters."""
    tags = normalise_tags(document.tags)
    return (
        all(word in document.search_text for word in query.words)
        and query.category in ("", document.category)
        and has_choices(document, query.choices)
        and all(tag in tags for tag in normalise_tags(query.tags))
    )


async def find_by_scan(db: Kelifax, query: SearchQuery, *, facets: bool = False) -> SearchResult:
    """Return a page of what the seed's scan finds; it reads every public resource."""
    documents = scan_for(db, max(query.words, key=len)) if query.words else read_all(db)
    found = [document async for document in _select(documents, query)]
    ordered = sorted(found, key=_order(query), reverse=query.sort != "name")
    page = ordered[query.offset : query.offset + query.limit]
    names = sorted(document.category for document in found) if facets else []
    counts = sorted(((name, len(list(group))) for name, group in groupby(names)), key=lambda each: -each[1])
    hits = tuple(SearchHit(document=document) for document in page)
    return SearchResult(hits=hits, total=len(found), by="scan", facets=tuple(counts))


async def _select(documents: AsyncIterator[SearchDocument], query: SearchQuery) -> AsyncIterator[SearchDocument]:
    async for document in documents:
        if matches(document, query):
            yield document


def _order(query: SearchQuery) -> Callable[[SearchDocument], tuple[object, ...]]:
    if query.sort == "name":
        return lambda document: (document.resource_name.casefold(), document.slug)
    if query.sort == "popular":
        return lambda document: (document.views, document.published_at)
    return lambda document: (document.published_at, document.slug)
