"""The lists that everybody sees: home, all, by category, by tag, search and its instant results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from starlette.responses import Response

from hashrange import CursorInvalid
from hashrange_systems.kelifax.model.content import CATEGORIES
from hashrange_systems.kelifax.model.public_entry import ListedResource
from hashrange_systems.kelifax.model.stored_list import normalise_tags
from hashrange_systems.kelifax.search.query import SearchQuery, Sort
from hashrange_systems.kelifax.service.directory import Filters
from hashrange_systems.kelifax.visitor_item import Facets
from hashrange_systems.kelifax.web.dependencies import Deps
from hashrange_systems.kelifax.web.listing_view import (
    PAGE_SIZE,
    SEARCH_SORTS,
    ListFilters,
    ListingView,
    describe_total,
    list_categories,
    make_link,
    offer_tags,
    page_links,
    path_of_category,
    read_filters,
)
from hashrange_systems.kelifax.web.page_renderer import name_word
from hashrange_systems.kelifax.web.worker_presence import describe_absence
from hashrange_systems.shared.errors import ResourceMissing

NEWEST = 9
FEATURED = 6
POPULAR_TAGS = 30
INSTANT = 7

router = APIRouter(include_in_schema=False)


@router.get("/")
async def show_home(request: Request, deps: Deps) -> Response:
    """Show the categories, the featured and the newest resources."""
    directory = deps.services.directory
    facets = await directory.facets()
    newest = (await directory.browse(Filters(), NEWEST)).entries
    tags = sorted(facets.tags.items(), key=lambda each: (-each[1], each[0]))[:POPULAR_TAGS]
    return deps.renderer.render(
        request,
        "home.html",
        total=facets.total,
        categories=list_categories(facets),
        featured=fill_rows(await directory.featured(FEATURED)),
        newest=newest,
        tags=tags,
        warnings=await describe_absence(deps.services),
    )


def fill_rows(entries: list[ListedResource], columns: int = 3) -> list[ListedResource]:
    """Return as many entries as fill whole rows, or all if they do not fill one."""
    return entries[: len(entries) // columns * columns] or entries


@router.get("/browse")
async def show_all(request: Request, deps: Deps) -> Response:
    """Show all resources, filtered and sorted as asked."""
    filters = read_filters(request.query_params)
    view = ListingView(heading="All resources", title="All resources", action="/browse", canonical="/browse")
    return await render_list(request, deps, replace(view, indexable=True), filters)


@router.get("/category/{category:path}")
async def show_category(request: Request, deps: Deps, category: str) -> Response:
    """Show the resources of a category, also of one that only an original table knows."""
    facets = await deps.services.directory.facets()
    filters = read_filters(request.query_params)
    if filters.category and filters.category != category:  # another one was chosen in the filters
        return redirect_to_list(request, "/browse", filters)
    filters = replace(filters, category=category)
    path = path_of_category(category)
    name = name_word(category)
    view = ListingView(
        heading=name,
        title=f"{name} tools and resources",
        action=path,
        canonical=path,
        feed=f"/feed/{quote(category, safe='')}.xml",
        indexable=category in facets.categories,
    )
    return await render_list(request, deps, view, filters, strict=category not in (*CATEGORIES, *facets.categories))


@router.get("/tag/{tag:path}")
async def show_tag(request: Request, deps: Deps, tag: str) -> Response:
    """Show the resources with a tag."""
    filters = read_filters(request.query_params)
    chosen = tuple(normalise_tags([tag, *filters.tags]))
    path = f"/tag/{quote(tag, safe='')}"
    view = ListingView(heading=f"Tagged {tag}", title=f"Tagged {tag}", action="/browse", canonical=path, indexable=True)
    return await render_list(request, deps, view, replace(filters, tags=chosen), strict=True)


@router.get("/search")
async def show_search(request: Request, deps: Deps) -> Response:
    """Show what has all words, and below what is spelled a little differently."""
    filters = read_filters(request.query_params, "relevance")
    heading = f"Results for “{filters.text}”" if filters.text else "Search"
    view = ListingView(heading=heading, title=heading, action="/search", has_words=True, sorts=SEARCH_SORTS)
    return await render_list(request, deps, view, filters)


@router.get("/search/instant")
async def show_instant(request: Request, deps: Deps, q: str = "") -> Response:
    """Return the first results as a part of a page, while somebody types."""
    text = " ".join(q[:200].split())
    found = await deps.services.search.find(SearchQuery(text=text, limit=INSTANT))
    return deps.renderer.render(request, "instant.html", q=text, hits=found.hits, total=found.total)


def redirect_to_list(request: Request, path: str, filters: ListFilters) -> Response:
    """Redirect to a list with these filters."""
    location = f"{request.scope.get('root_path', '')}{make_link(path, filters)}"
    return Response(status_code=303, headers={"Location": location})


async def render_list(
    request: Request, deps: Deps, view: ListingView, filters: ListFilters, *, strict: bool = False
) -> Response:
    """Render a list: a plain one from the public index of the table, any other from the search index."""
    facets = await deps.services.directory.facets()
    shown = replace(
        view,
        categories=list_categories(facets),
        tags=offer_tags(facets, filters.tags),
        is_filtered=bool(
            filters.tags or filters.choices or (filters.category and view.action in ("/browse", "/search"))
        ),
    )
    if filters.is_plain and not view.has_words:
        shown, context = await read_plain(deps, shown, filters, facets)
    else:
        shown, context = await read_searched(deps, shown, filters)
    if strict and not (context["exact"] or context["similar"]):
        raise ResourceMissing("page: nothing is listed there")
    return deps.renderer.render(request, "list.html", listing=shown, filters=filters, q=filters.text, **context)


async def read_plain(
    deps: Deps, view: ListingView, filters: ListFilters, facets: Facets
) -> tuple[ListingView, dict[str, Any]]:
    """Return a page of the newest resources."""
    asked = Filters(category=filters.category or None)
    try:
        page = await deps.services.directory.browse(asked, PAGE_SIZE, filters.after or None)
    except CursorInvalid:
        raise ResourceMissing("page: begin again at the first one") from None
    total = facets.categories.get(filters.category, 0) if filters.category else facets.total
    fixed = "category" if view.action.startswith("/category/") else ""
    following = make_link(view.action, replace(filters, after=page.cursor), fixed=fixed) if page.cursor else ""
    first = make_link(view.action, replace(filters, after=""), fixed=fixed) if filters.after else ""
    summary = f"{describe_total(max(total, len(page.entries)))}, newest first"
    shown = replace(
        view, summary=summary, next=following, previous=first, indexable=view.indexable and not filters.after
    )
    return shown, {"exact": page.entries, "similar": ()}


async def read_searched(deps: Deps, view: ListingView, filters: ListFilters) -> tuple[ListingView, dict[str, Any]]:
    """Return a page of what the search finds; hits with another spelling apart."""
    found = await deps.services.search.find(filters.to_query(), facets=bool(filters.text))
    path = "/browse" if view.action.startswith("/tag/") else view.action
    default: Sort = "relevance" if view.has_words else "newest"
    fixed = replace(filters, category="") if path.startswith("/category/") else filters
    before, after = page_links(path, fixed, found.total, default)
    exact: Sequence[Any] = [hit.document for hit in found.hits if not hit.typo]
    similar = [hit.document for hit in found.hits if hit.typo]
    shown = replace(
        view,
        summary=describe_total(found.total),
        previous=before,
        next=after,
        scanned=found.by == "scan" and bool(filters.text),
        categories=found.facets if found.facets and not filters.category else view.categories,
        indexable=view.indexable and filters.page == 1 and not (filters.choices or len(filters.tags) > 1),
    )
    return shown, {"exact": exact, "similar": similar}
