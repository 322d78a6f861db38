"""Reads resources as documents for search: from the public list, from the stream, and by the seed's scan."""

from __future__ import annotations

from collections.abc import AsyncIterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, create_model

from hashrange import Latest, View
from hashrange_systems.kelifax.model.content import LISTED_FIELDS, recover_content
from hashrange_systems.kelifax.model.damage import hide_private, join_reasons
from hashrange_systems.kelifax.model.field_kind import read_texts
from hashrange_systems.kelifax.model.public_entry import ListedResource, limit_count, parse_count, parse_time, to_utc
from hashrange_systems.kelifax.schema import Kelifax, Listing, Published
from hashrange_systems.kelifax.search.query import SearchDocument
from hashrange_systems.kelifax.service import tolerant_read
from hashrange_systems.kelifax.service.directory import is_approved, show_entry
from hashrange_systems.kelifax.service.tolerant_read import DamagedItem

if TYPE_CHECKING:

    class AnyContent(BaseModel, frozen=True):
        """The fields of resources that lists have, of any type."""
else:
    AnyContent = create_model("AnyContent", **{each.attribute: (Any, "") for each in LISTED_FIELDS})


class IndexedResource(AnyContent, View[Published]):
    """Any resource in the stream: public fields only, of any type, so that a damaged one loads."""

    resource_slug: str
    resource_status: Any = ""
    search_text: Any = ""
    featured: Any = False
    view_count: Any = 0
    published_at: Any = ""
    damage: Any = ()


def make_document(entry: ListedResource, search_text: str | None) -> SearchDocument:
    """Return the document of a resource; without a search text, what lists have of it is searched."""
    return SearchDocument(
        **{each.attribute: getattr(entry, each.attribute) for each in LISTED_FIELDS},
        slug=entry.slug,
        featured=entry.featured,
        views=entry.views,
        published_at=to_utc(entry.published_at),
        damage=entry.damage,
        search_text=search_text or entry.make_search_text(LISTED_FIELDS),
    )


def find_document(resource: IndexedResource | None) -> SearchDocument | None:
    """Return the document of a resource that is public; None for any other."""
    if resource is None or resource.resource_status != "approved" or not resource.published_at:
        return None
    return make_document(show_changed(resource), read_text(resource.search_text))


def show_changed(resource: IndexedResource) -> ListedResource:
    """Return what the stream says about a public resource; what cannot be read is left out."""
    count = resource.view_count
    return ListedResource(
        **recover_content(lambda each: getattr(resource, each.attribute, None), resource.resource_slug),
        slug=resource.resource_slug,
        featured=resource.featured is True,
        views=limit_count(int(count)) if isinstance(count, int | Decimal) else parse_count(read_text(count)),
        published_at=parse_time(read_text(resource.published_at)),
        damage=join_reasons(hide_private(read_texts(resource.damage))) or None,
    )


def read_text(value: object) -> str:
    """Return a stored text; empty for anything else."""
    return value if isinstance(value, str) else ""


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
