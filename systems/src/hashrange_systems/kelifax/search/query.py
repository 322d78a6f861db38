"""What is searched for, and what is found: values that the index and the scan share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from hashrange_systems.kelifax.model.public_entry import ListedResource
from hashrange_systems.kelifax.search.tokenizer import split_query

Sort = Literal["relevance", "newest", "popular", "name"]
SORTS: tuple[Sort, ...] = ("relevance", "newest", "popular", "name")
MAX_PAGE_SIZE = 50
MAX_OFFSET = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchDocument(ListedResource):
    """An approved resource as search knows it: nothing of it is personal."""

    search_text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """Words that must all be found, filters that must all hold, and the order of the hits."""

    text: str = ""
    category: str = ""
    tags: tuple[str, ...] = ()
    choices: Mapping[str, str] = field(default_factory=dict)  # words by the attributes that have them
    sort: Sort = "relevance"
    offset: int = 0
    limit: int = 20

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the text."""
        return split_query(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """A resource that was found; `typo` if a word was only found with another spelling."""

    document: SearchDocument
    typo: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """A page of hits, the number of all of them, and how they were found."""

    hits: tuple[SearchHit, ...] = ()
    total: int = 0
    by: Literal["index", "scan"] = "index"
    facets: tuple[tuple[str, int], ...] = ()  # categories of all hits with their numbers

    @property
    def slugs(self) -> tuple[str, ...]:
        """The slugs of the hits, in order."""
        return tuple(hit.document.slug for hit in self.hits)
