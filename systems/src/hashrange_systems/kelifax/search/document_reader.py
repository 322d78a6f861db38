"""Reads resources as documents for search: from the public list, from the stream, and by the seed's scan."""

from __future__ import annotations

from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

from hashrange import Latest, View
from hashrange_systems.kelifax.model.damage import hide_private, join_reasons
from hashrange_systems.kelifax.model.public_entry import ListedResource, limit_count, parse_count, parse_time, to_utc
from hashrange_systems.kelifax.model.stored_list import split_tags
from hashrange_systems.kelifax.schema import Kelifax, Listing, Published
from hashrange_systems.kelifax.search.query import SearchDocument
from hashrange_systems.kelifax.service import tolerant_read
from hashrange_systems.kelifax.service.directory import is_approved, show_entry
from hashrange_systems.kelifax.service.tolerant_read import DamagedItem


class IndexedResource(View[Published]):
    """Any resource in the stream: public fields only, of any type, so that a damaged one loads."""

    resource_slug: str
    resource_status: Any = ""
    resource_name: Any = ""
    resource_url: Any = ""
    usage_purpose: Any = ""
    category: Any = ""
    logo_image: Any = ""
    tags: Any = ""
    pricing: Any = ()
    search_text: Any = ""
    featured: Any = False
    view_count: Any = 0
    published_at: Any = ""
    damage: Any = ()


def make_document(entry: ListedResource, search_text: str | None) -> SearchDocument:
    """Return the document of a resource; without a search text, its name, category and tags are searched."""
    text = search_text or " ".join([entry.name, entry.category, *entry.tags]).lower()
    return SearchDocument(
        slug=entry.slug,
        name=entry.name,
        url=entry.url,
        purpose=entry.purpose,
        category=entry.category,
        logo=entry.logo or "",
        tags=entry.tags,
        pricing=entry.pricing,
        search_text=text,
        featured=entry.featured,
        views=entry.views,
        published_at=to_utc(entry.published_at),
        damage=entry.damage or "",
    )


def find_document(resource: IndexedResource | None) -> SearchDocument | None:
    """Return the document of a resource that is public; None for any other."""
    if resource is None or resource.resource_status != "approved" or not resource.published_at:
        return None
    text = read_text(resource.search_text)
    return make_document(show_changed(resource), text)


def show_changed(resource: IndexedResource) -> ListedResource:
    """Return what the stream says about a public resource; what is not text is left out."""
    count = resource.view_count
    return ListedResource(
        slug=resource.resource_slug,
        name=read_text(resource.resource_name) or resource.resource_slug,
        url=read_text(resource.resource_url),
        purpose=read_text(resource.usage_purpose),
        category=read_text(resource.category) or "other",
        logo=read_text(resource.logo_image),
        tags=tuple(split_tags(read_text(resource.tags))),
        pricing=tuple(sorted(read_texts(resource.pricing))),
        featured=resource.featured is True,
        views=limit_count(int(count)) if isinstance(count, int | Decimal) else parse_count(read_text(count)),
        published_at=parse_time(read_text(resource.published_at)),
        damage=join_reasons(hide_private(read_texts(resource.damage))) or None,
    )


def read_text(value: object) -> str:
    """Return a stored text; empty for anything else."""
    return value if isinstance(value, str) else ""


def read_texts(value: object) -> list[str]:
    """Return the texts of a stored set or list; none of anything else."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, set | frozenset | list) else []


async def read_all(db: Kelifax) -> AsyncIterator[SearchDocument]:
    """Yield every public resource, newest first, damaged ones too."""
    async for document in read_documents(db.feed()):
        yield document


async def scan_for(db: Kelifax, word: str) -> AsyncIterator[SearchDocument]:
    """Yield the public resources whose search text contains a word: the seed's search, on public attributes."""
    async for document in read_documents(db.find(search_text=word)):
        yield document


async def read_documents(query: Latest[Listing]) -> AsyncIterator[SearchDocument]:
    """Yield the documents of a public list, those of damaged entries too."""
    async for entry in tolerant_read.read_all(query, "published_at"):
        if is_approved(entry):
            text = entry.text("searchText") if isinstance(entry, DamagedItem) else entry.search_text
            yield make_document(show_entry(entry), text)
