"""Pages for programs: sitemap, RSS feeds, OpenSearch, robots.txt, and the exports of the whole directory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from datetime import datetime
from email.utils import format_datetime
from xml.sax.saxutils import escape, quoteattr

import orjson
from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from hashrange_systems.kelifax.model.content import CONTENT_FIELDS
from hashrange_systems.kelifax.model.public_entry import ListedResource, PublicResource
from hashrange_systems.kelifax.model.slug import path_of_resource
from hashrange_systems.kelifax.service.directory import Filters
from hashrange_systems.kelifax.web.dependencies import Deps
from hashrange_systems.kelifax.web.listing_view import path_of_category
from hashrange_systems.kelifax.web.page_renderer import name_word
from hashrange_systems.shared.errors import ResourceMissing
from hashrange_systems.shared.reports.csv_export import write_csv
from hashrange_systems.shared.text import is_unseen

FEED_SIZE = 50
FOR_AN_HOUR = {"Cache-Control": "public, max-age=3600"}
EXPORTS = {"md": "text/markdown", "json": "application/json", "csv": "text/csv"}
COLUMNS = [
    "resourceSlug", *(each.name for each in CONTENT_FIELDS if each.column), "featured", "viewCount", "publishedAt",
]  # fmt: skip
HEADER = [*COLUMNS, "damaged"]
AT_ONCE = 50  # rows that are written before other requests have their turn

router = APIRouter(include_in_schema=False)


# ── for search engines and readers ───────────────────────────────────────────────────────────────────────────────────
@router.get("/sitemap.xml")
async def show_sitemap(deps: Deps) -> Response:
    """List every public page, each resource with the day of its publication."""

    async def write() -> AsyncIterator[str]:
        yield '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        facets = await deps.services.directory.facets()
        for path in ("/", "/browse", *(path_of_category(name) for name in facets.categories)):
            yield f"<url><loc>{escape_xml(deps.base_url + path)}</loc></url>\n"
        async for entry in deps.services.directory.list_all():
            address = deps.base_url + path_of_resource(entry.slug)
            yield f"<url><loc>{escape_xml(address)}</loc><lastmod>{entry.published_at:%Y-%m-%d}</lastmod></url>\n"
        yield "</urlset>\n"

    return StreamingResponse(write(), media_type="application/xml", headers=FOR_AN_HOUR)


@router.get("/robots.txt")
async def show_robots(deps: Deps) -> Response:
    """Say what search engines need not read."""
    text = f"User-agent: *\nDisallow: /admin\nDisallow: /api\nDisallow: /status\nSitemap: {deps.base_url}/sitemap.xml\n"
    return Response(text, media_type="text/plain")


@router.get("/opensearch.xml")
async def show_opensearch(deps: Deps) -> Response:
    """Describe the search to browsers."""
    address = quoteattr(deps.base_url + "/search?q={searchTerms}")
    text = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">'
        "<ShortName>Kelifax</ShortName><Description>Tools and resources</Description>"
        f'<Url type="text/html" template={address}/></OpenSearchDescription>\n'
    )
    return Response(text, media_type="application/opensearchdescription+xml", headers=FOR_AN_HOUR)


@router.get("/feed.xml")
async def show_feed(deps: Deps) -> Response:
    """List the newest resources as RSS."""
    page = await deps.services.directory.browse(Filters(), FEED_SIZE)
    return make_feed(deps.base_url, "New in Kelifax", "/", page.entries)


@router.get("/feed/{category:path}.xml")
async def show_category_feed(deps: Deps, category: str) -> Response:
    """List the newest resources of a category as RSS."""
    page = await deps.services.directory.browse(Filters(category=category), FEED_SIZE)
    title = f"New in Kelifax: {name_word(category)}"
    return make_feed(deps.base_url, title, path_of_category(category), page.entries)


def make_feed(base_url: str, title: str, path: str, entries: Iterable[ListedResource]) -> Response:
    """Return an RSS 2.0 feed."""
    items = "".join(write_item(base_url, entry) for entry in entries)
    text = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0"><channel>'
        f"<title>{escape_xml(title)}</title><link>{escape_xml(base_url + path)}</link>"
        f"<description>{escape_xml(title)}</description>{items}</channel></rss>\n"
    )
    return Response(text, media_type="application/rss+xml", headers=FOR_AN_HOUR)


def write_item(base_url: str, entry: ListedResource) -> str:
    """Return an item of a feed."""
    address = base_url + path_of_resource(entry.slug)
    words = [word for each in CONTENT_FIELDS if each.feed for word in each.words_of(entry)]
    categories = "".join(f"<category>{escape_xml(word)}</category>" for word in words)
    return (
        f"<item><title>{escape_xml(entry.resource_name)}</title><link>{escape_xml(address)}</link>"
        f'<guid isPermaLink="true">{escape_xml(address)}</guid><pubDate>{format_rfc(entry.published_at)}</pubDate>'
        f"<description>{escape_xml(entry.usage_purpose)}</description>{categories}</item>\n"
    )


def escape_xml(text: str) -> str:
    """Return a text for XML, without the characters that XML cannot have."""
    return escape("".join(sign for sign in text if sign in "\n\t" or not is_unseen(sign)))


def format_rfc(at: datetime) -> str:
    """Return a time as RSS writes it."""
    return format_datetime(at)


# ── exports ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/export")
async def show_exports(request: Request, deps: Deps) -> Response:
    """Show which exports there are."""
    return deps.renderer.render(request, "export.html")


@router.get("/export.{kind}")
async def export(deps: Deps, kind: str) -> Response:
    """Return every public resource as a Markdown list, as JSON or as CSV."""
    if kind not in EXPORTS:
        raise ResourceMissing("export: there are md, json and csv")
    entries = deps.services.directory.list_all()
    writers: dict[str, Callable[[AsyncIterator[PublicResource]], AsyncIterator[str] | AsyncIterator[bytes]]] = {
        "md": write_markdown,
        "json": write_json,
        "csv": write_table,
    }
    headers = {"Content-Disposition": f'attachment; filename="kelifax.{kind}"'}
    return StreamingResponse(writers[kind](entries), media_type=f"{EXPORTS[kind]}; charset=utf-8", headers=headers)


async def write_markdown(entries: AsyncIterator[PublicResource]) -> AsyncIterator[str]:
    """Yield a list in the form of awesome lists, by category and name."""
    by_category: dict[str, list[PublicResource]] = {}
    async for entry in entries:
        by_category.setdefault(entry.category, []).append(entry)
    yield "# Kelifax\n"
    for category in sorted(by_category):
        yield f"\n## {escape_markdown(name_word(category))}\n\n"
        ordered = await asyncio.to_thread(sorted, by_category[category], key=lambda each: each.resource_name.casefold())
        for number, entry in enumerate(ordered, 1):
            if number % AT_ONCE == 0:
                await asyncio.sleep(0)
            damage = " (damaged)" if entry.damage else ""
            target = entry.resource_url.replace("<", "%3C").replace(">", "%3E").replace(" ", "%20").replace("\n", "")
            name, purpose = escape_markdown(entry.resource_name), escape_markdown(entry.usage_purpose)
            yield f"- [{name}](<{target}>) - {purpose}{damage}\n"


def escape_markdown(text: str) -> str:
    """Return a text on one line in which nothing is markup."""
    line = " ".join(text.split())
    return "".join(f"\\{sign}" if sign in "\\`*_[]<>#|" else sign for sign in line)


async def write_json(entries: AsyncIterator[PublicResource]) -> AsyncIterator[bytes]:
    """Yield a JSON array."""
    separator = b"["
    async for entry in entries:
        yield separator + orjson.dumps(entry.to_json())
        separator = b",\n"
    yield b"]\n" if separator != b"[" else b"[]\n"


async def write_table(entries: AsyncIterator[PublicResource]) -> AsyncIterator[bytes]:
    """Yield a table in slices; no cell is a formula."""
    header = write_csv(HEADER, [])
    yield header
    rows: list[list[str]] = []
    async for entry in entries:
        rows.append(make_cells(entry))
        if len(rows) == AT_ONCE:
            yield write_csv(HEADER, rows)[len(header) :]
            rows = []
    yield write_csv(HEADER, rows)[len(header) :]


def make_cells(entry: PublicResource) -> list[str]:
    """Return a row of the table."""
    shown = entry.to_json()
    shown |= {each.name: "; ".join(each.words_of(entry)) for each in CONTENT_FIELDS if each.column}
    return [*(str(shown[name]) for name in COLUMNS), entry.damage or ""]
