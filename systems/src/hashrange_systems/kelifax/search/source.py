"""Reads resources as documents for search: from the public list, from the stream, and by the seed's scan."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime

from hashrange import Commas, Unreadable, View
from hashrange_systems.kelifax.model.public_entry import limit_count
from hashrange_systems.kelifax.schema import Kelifax, Listing, Published
from hashrange_systems.kelifax.search.query import SearchDocument


class IndexedResource(View[Published]):
    """Any resource in the stream: public fields only, all optional, so that a damaged one loads."""

    resource_slug: str
    resource_status: str = ""
    resource_name: str = ""
    resource_url: str = ""
    usage_purpose: str = ""
    category: str = ""
    logo_image: str | None = None
    tags: Commas[str] = []  # noqa: RUF012 - pydantic copies it
    pricing: set[str] = set()  # noqa: RUF012 - as above
    search_text: str | None = None
    featured: bool = False
    view_count: int = 0
    published_at: datetime | None = None


def make_document(resource: Listing | IndexedResource) -> SearchDocument:
    """Return the document of a resource; without a search text, its name, category and tags are searched."""
    tags = tuple(tag for tag in resource.tags if tag)
    text = resource.search_text or " ".join([resource.resource_name, resource.category, *tags]).lower()
    return SearchDocument(
        slug=resource.resource_slug,
        name=resource.resource_name,
        url=resource.resource_url,
        purpose=resource.usage_purpose,
        category=resource.category,
        logo=resource.logo_image or "",
        tags=tags,
        pricing=tuple(sorted(resource.pricing)),
        search_text=text,
        featured=resource.featured,
        views=limit_count(resource.view_count),
        published_at=resource.published_at,
    )


def find_document(resource: IndexedResource | None) -> SearchDocument | None:
    """Return the document of a resource that is public; None for any other."""
    if resource is None or resource.resource_status != "approved" or resource.published_at is None:
        return None
    return make_document(resource)


async def read_all(db: Kelifax) -> AsyncIterator[SearchDocument]:
    """Yield every public resource, newest first; one that cannot be read is left out."""
    async for listing in db.feed().skip_unreadable():
        yield make_document(listing)


async def scan_for(db: Kelifax, word: str) -> AsyncIterator[SearchDocument]:
    """Yield the public resources whose search text contains a word: the seed's search, on public attributes."""
    skipped: list[Unreadable] = []
    async for listing in db.find(search_text=word).skip_unreadable(skipped.append):
        yield make_document(listing)
