"""Shops, pages and changes for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from hashrange_systems.aura.model.price_format import format_price
from hashrange_systems.aura.schema import Crawled, Crawling, Scraped, Scraping, Shop
from hashrange_systems.aura.work_schema import Change
from hashrange_systems.shared.cli.output import print_table


def describe_crawl(shop: Shop) -> str:
    """Return the state of a shop's crawl in words."""
    match shop.crawl:
        case Crawling(last_crawled_start=start):
            return f"since {format_time(start)}"
        case Crawled(last_crawled_end=end):
            return f"done {format_time(end)}"
        case _:
            return "never"


def describe_scrape(shop: Shop) -> str:
    """Return the state of a shop's scrape in words."""
    match shop.scrape:
        case Scraping(last_scraped_start=start):
            return f"since {format_time(start)}"
        case Scraped(last_scraped_end=end):
            return f"done {format_time(end)}"
        case _:
            return "never"


def format_time(moment: datetime | None) -> str:
    """Return a time to the minute, in UTC."""
    return moment.strftime("%Y-%m-%d %H:%M") if moment else ""


def shop_json(shop: Shop) -> dict[str, Any]:
    """Return a shop with JSON types."""
    return {
        "domain": shop.domain,
        "name": shop.shop_name,
        "country": shop.shop_country,
        "coreDomainName": shop.core_domain_name,
        "type": shop.shop_type,
        "startUrl": shop.start_url,
        "crawl": describe_crawl(shop),
        "scrape": describe_scrape(shop),
        "crawlAttempts": shop.crawl_attempts,
        "lastCrawlError": shop.last_crawl_error,
        "lastScrapeError": shop.last_scrape_error,
        "standardsUsed": shop.standards_used,
    }


def print_shops(shops: Iterable[Shop]) -> None:
    """Print shops as a table."""
    rows = [
        (shop.shop_country, shop.domain, shop.shop_name or "", describe_crawl(shop), describe_scrape(shop), error(shop))
        for shop in shops
    ]
    print_table(
        "Shops", ("country", "domain", "name", "crawl", "scrape", "last error"), rows, empty="There are no shops."
    )


def error(shop: Shop) -> str:
    """Return the last error of a shop."""
    return shop.last_crawl_error or shop.last_scrape_error or ""


def print_changes(changes: Iterable[Change]) -> None:
    """Print changes as a table, newest first."""
    rows = [
        (
            format_time(change.at),
            change.kind,
            change.domain,
            change.title or change.url,
            describe_prices(change),
        )
        for change in changes
    ]
    print_table("What changed", ("at", "what", "shop", "product", "from and to"), rows, empty="Nothing changed.")


def describe_prices(change: Change) -> str:
    """Return what a change was, in words."""
    if change.detail:
        return change.detail
    after = f"{change.state or ''} {format_price(change.price_minor, change.currency)}".strip()
    before = f"{change.old_state or ''} {format_price(change.old_price_minor, change.old_currency)}".strip()
    return f"{before} → {after}" if before else after
