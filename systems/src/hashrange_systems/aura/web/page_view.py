"""How the pages show shops, crawls, products and changes: words, tones and links. No I/O."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote, urlsplit

from hashrange_systems.aura.model.change import KIND_NAMES
from hashrange_systems.aura.model.country import country_name
from hashrange_systems.aura.schema import (
    Crawled,
    Crawling,
    NeverCrawled,
    NeverScraped,
    Scraped,
    Scraping,
    Shop,
    Url,
)
from hashrange_systems.aura.work_schema import Change, ScrapeReport
from hashrange_systems.shared.text import clean

AnyStage = NeverCrawled | Crawling | Crawled | NeverScraped | Scraping | Scraped

MAX_TITLE = 2000  # bytes
TONES = {
    "AVAILABLE": "up",
    "SOLD": "down",
    "LISTED": "pending",
    "RESERVED": "pending",
    "REMOVED": "idle",
    "UNKNOWN": "idle",
}


@dataclass(frozen=True, slots=True)
class Stage:
    """Where a crawl or scrape is: a tone, a word, and the time that goes with it."""

    tone: str
    word: str
    at: datetime | None = None


def describe_stage(stage: AnyStage) -> Stage:
    """Return the stage of a crawl or scrape."""
    match stage:
        case Crawling():
            return Stage("pending", "In progress", stage.last_crawled_start)
        case Scraping():
            return Stage("pending", "In progress", stage.last_scraped_start)
        case Crawled():
            return Stage("up", "Done", stage.last_crawled_end)
        case Scraped():
            return Stage("up", "Done", stage.last_scraped_end)
        case _:
            return Stage("idle", "Never")


def name_shop(shop: Shop) -> str:
    """Return the name of a shop, or its domain."""
    return shop.shop_name or shop.domain


def name_country(code: str) -> str:
    """Return the name of a country."""
    return country_name(code)


def name_kind(change: Change) -> str:
    """Return the kind of a change in words."""
    return KIND_NAMES[change.kind]


def name_product(product: Url | Change) -> str:
    """Return the title of a product, or the last part of its URL."""
    return clean(product.title or "", MAX_TITLE) or shorten(
        product.url.rstrip("/").rpartition("/")[2] or product.url, 80
    )


def format_difference(change: Change) -> str:
    """Return by how much a price changed, in per cent; empty where that means nothing."""
    old, new = change.old_price_minor, change.price_minor
    if not old or new is None or old == new or change.old_currency != change.currency:
        return ""
    percent = (new - old) * 100 / old
    return f"{percent:+.1f} %".replace("-", "\u2212")


def shorten(text: str, length: int) -> str:
    """Return a text of at most this length."""
    return text if len(text) <= length else text[: length - 1] + "\u2026"


def strip_scheme(url: str) -> str:
    """Return a URL without its scheme."""
    parts = urlsplit(url)
    return (parts.netloc + parts.path).rstrip("/") + (f"?{parts.query}" if parts.query else "")


def link_shop(domain: str) -> str:
    """Return the path of a shop's page."""
    return f"/shop/{quote(domain, safe='')}"


def link_product(domain: str, url: str) -> str:
    """Return the path of a product's page."""
    return f"/product?domain={quote(domain, safe='')}&url={quote(url, safe='')}"


def is_web_link(url: str) -> bool:
    """Return whether a stored URL may be a link on a page."""
    return url.startswith(("http://", "https://"))


def find_share(report: ScrapeReport, field: str) -> int | None:
    """Return how many products of a scrape had a field, in per cent."""
    return None if not report.products else round(getattr(report, field) * 100 / report.products)


def list_coverage(report: ScrapeReport) -> list[tuple[str, int]]:
    """Return the coverage of a scrape, in per cent of its products."""
    named = (("price", "priced"), ("state", "stated"), ("title", "titled"))
    return [(label, share) for label, field in named if (share := find_share(report, field)) is not None]
