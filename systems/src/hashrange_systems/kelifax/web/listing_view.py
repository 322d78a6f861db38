"""What the list pages show around their entries: title, filters, sorting, and the links of the pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import quote, urlencode

from starlette.datastructures import QueryParams

from hashrange_systems.kelifax.model.content import CATEGORIES, FILTER_FIELDS
from hashrange_systems.kelifax.model.stored_list import normalise_tags
from hashrange_systems.kelifax.search.query import MAX_OFFSET, SearchQuery, Sort
from hashrange_systems.kelifax.visitor_item import Facets

PAGE_SIZE = 24
MAX_TAGS = 8
OFFERED_TAGS = 14
LIST_SORTS: tuple[tuple[Sort, str], ...] = (("newest", "Newest"), ("popular", "Most viewed"), ("name", "Name"))
SEARCH_SORTS: tuple[tuple[Sort, str], ...] = (("relevance", "Best match"), *LIST_SORTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListFilters:
    """The filters of a list page, as its address says; what makes no sense is ignored."""

    text: str = ""
    category: str = ""
    tags: tuple[str, ...] = ()
    choices: Mapping[str, str] = field(default_factory=dict)  # words by the attributes that have them
    sort: Sort = "newest"
    page: int = 1
    after: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether an index of the table alone answers: newest first, at most a category."""
        return not (self.text or self.tags or self.choices or self.page > 1) and self.sort == "newest"

    def to_query(self) -> SearchQuery:
        """Return the search that the list shows."""
        return SearchQuery(
            text=self.text,
            category=self.category,
            tags=self.tags,
            choices=self.choices,
            sort=self.sort,
            offset=(self.page - 1) * PAGE_SIZE,
            limit=PAGE_SIZE,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingView:
    """The frame of a list page."""

    heading: str
    title: str
    action: str
    summary: str = ""
    canonical: str = ""
    feed: str = ""
    indexable: bool = False
    has_words: bool = False
    is_filtered: bool = False
    scanned: bool = False
    categories: Sequence[tuple[str, int]] = ()
    tags: Sequence[str] = ()
    sorts: Sequence[tuple[Sort, str]] = LIST_SORTS
    previous: str = ""
    next: str = ""


def read_filters(params: QueryParams, default_sort: Sort = "newest") -> ListFilters:
    """Return the filters of an address."""
    page, sort = params.get("page", ""), params.get("sort", "")
    offered = [key for key, _label in (SEARCH_SORTS if default_sort == "relevance" else LIST_SORTS)]
    number = int(page) if page.isascii() and page.isdecimal() and len(page) < 6 else 1
    words = [(each, params.get(each.name, "")) for each in FILTER_FIELDS]
    return ListFilters(
        text=" ".join(params.get("q", "")[:200].split()),
        category=params.get("category", "")[:100],
        tags=tuple(normalise_tags(params.getlist("tag")))[:MAX_TAGS],
        choices={each.attribute: word for each, word in words if word in each.kind.options},
        sort=next((key for key in offered if key == sort), default_sort),
        page=max(1, min(number, MAX_OFFSET // PAGE_SIZE)),
        after=params.get("after", "")[:4000],
    )


def make_link(path: str, filters: ListFilters, default_sort: Sort = "newest", fixed: str = "") -> str:
    """Return the address of a list; `fixed` names a filter that the path says already."""
    given: list[tuple[str, str]] = [("q", filters.text)]
    given += [("category", filters.category if fixed != "category" else "")]
    given += [("tag", tag) for tag in (filters.tags[1:] if fixed == "tag" else filters.tags)]
    given += [(each.name, filters.choices.get(each.attribute, "")) for each in FILTER_FIELDS]
    given += [("sort", filters.sort if filters.sort != default_sort else "")]
    given += [("page", str(filters.page) if filters.page > 1 else ""), ("after", filters.after)]
    query = urlencode([(name, value) for name, value in given if value])
    return f"{path}?{query}" if query else path


def page_links(path: str, filters: ListFilters, total: int, default_sort: Sort = "newest") -> tuple[str, str]:
    """Return the links to the previous and the next page."""
    before = make_link(path, replace(filters, page=filters.page - 1), default_sort) if filters.page > 1 else ""
    more = filters.page * PAGE_SIZE < min(total, MAX_OFFSET)
    return before, make_link(path, replace(filters, page=filters.page + 1), default_sort) if more else ""


def list_categories(facets: Facets) -> list[tuple[str, int]]:
    """Return all categories with their numbers: those of the form first, then what an original table has besides."""
    known = [(name, facets.categories.get(name, 0)) for name in CATEGORIES]
    return known + sorted((name, count) for name, count in facets.categories.items() if name not in CATEGORIES)


def offer_tags(facets: Facets, chosen: Sequence[str]) -> list[str]:
    """Return the tags that the filters offer: the chosen ones, then the most used."""
    popular = sorted(facets.tags, key=lambda tag: (-facets.tags[tag], tag))
    return list(dict.fromkeys([*chosen, *popular]))[: max(OFFERED_TAGS, len(chosen))]


def describe_total(total: int, noun: str = "resource") -> str:
    """Return a number of things in words."""
    return f"{total:,} {noun}" if total == 1 else f"{total:,} {noun}s"


def path_of_category(category: str) -> str:
    """Return the path of the page of a category."""
    return f"/category/{quote(category, safe='')}"
