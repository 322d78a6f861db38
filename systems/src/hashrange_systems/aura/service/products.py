"""The products of shops: listed, found by their URL, with their history, the coverage of scrapes, and a search."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hashrange import Page
from hashrange_systems.aura.model.page_url import canonicalise
from hashrange_systems.aura.schema import Aura, Price, Product, Url
from hashrange_systems.aura.service.registry import Registry
from hashrange_systems.aura.work_schema import CrawlReport, ProductWord, ScrapeReport, Work
from hashrange_systems.shared.epoch import from_ms
from hashrange_systems.shared.errors import ResourceMissing

if TYPE_CHECKING:
    from datetime import datetime

    from hashrange import Clock

WORD = re.compile(r"[^\W_]{3,40}")
MAX_WORDS = 20
MAX_FOUND = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductHistory:
    """A product with its prices, oldest first; `last_price` is the last one that had an amount, also after SOLD."""

    product: Url
    prices: tuple[Price, ...]

    @property
    def last_price(self) -> Price | None:
        """The last recorded price with an amount."""
        return next((price for price in reversed(self.prices) if price.price_minor is not None), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductQuery:
    """What a search asks for: all words of the text, a country, a range of prices in one currency."""

    text: str
    country: str | None = None
    min_minor: int | None = None
    max_minor: int | None = None
    currency: str | None = None


@dataclass(frozen=True, slots=True)
class Products:
    """The products of all shops."""

    db: Aura
    work: Work
    clock: Clock
    registry: Registry

    async def list_products(self, domain: str, cursor: str | None = None, limit: int = 50) -> Page[Product]:
        """Return a page of the products of a shop."""
        return await self.db.products(domain).skip_unreadable().page(limit, after=cursor)

    async def list_pages(self, domain: str, page_type: str, cursor: str | None = None, limit: int = 50) -> Page[Url]:
        """Return a page of the URLs of one type; types of other programs too."""
        return await self.db.pages(domain, page_type).skip_unreadable().page(limit, after=cursor)

    async def find(self, domain: str, url: str) -> Url:
        """Return a URL of a shop, given in any spelling; raise ResourceMissing."""
        for spelling in dict.fromkeys((url, canonicalise(url) or url)):
            found = await self.db.url(domain, spelling)
            if found is not None:
                return found
        raise ResourceMissing("page")

    async def history(self, domain: str, url: str) -> ProductHistory:
        """Return a product with all its recorded prices."""
        product = await self.find(domain, url)
        prices = await self.db.prices(domain, product.url)
        return ProductHistory(product=product, prices=tuple(reversed(prices)))

    async def scrape_reports(self, domain: str, limit: int = 30) -> list[ScrapeReport]:
        """Return the coverage of the last scrapes of a shop, newest first."""
        return await self.work.scrape_reports(domain).limit(limit)

    async def crawl_reports(self, domain: str, limit: int = 30) -> list[CrawlReport]:
        """Return the reports of the last crawls of a shop, newest first."""
        return await self.work.crawl_reports(domain).limit(limit)

    # ── search ───────────────────────────────────────────────────────────────────────────────────────────────────────
    async def search(self, query: ProductQuery, limit: int = 50) -> list[ProductWord]:
        """Return products whose title has all words of a text; the longest word is looked up, the others compared."""
        words = split_words(query.text)
        if not words:
            return []
        found: list[ProductWord] = []
        async for entry in self.work.products_with(max(words, key=len)):
            if matches(query, entry.title, entry.shop_country, entry.price_minor, entry.currency):
                found.append(entry)
            if len(found) >= min(limit, MAX_FOUND):
                break
        return found

    async def index_words(self, product: Url, country: str) -> None:
        """Store a product under each word of its title."""
        words = split_words(product.title or "")
        if product.title and words:
            await self.work.batch([self._entry(word, product, country) for word in words])

    def _entry(self, word: str, product: Url, country: str) -> ProductWord:
        return ProductWord(
            word=word,
            domain=product.domain,
            url=product.url,
            title=product.title or "",
            shop_country=country,
            state=product.state,
            price_minor=product.price_minor,
            currency=product.currency,
            seen_at=self._now(),
        )

    def _now(self) -> datetime:
        return from_ms(self.clock.millis())


def split_words(text: str) -> list[str]:
    """Return the distinct words of a text in lower case, at most twenty."""
    return list(dict.fromkeys(WORD.findall(text.casefold())))[:MAX_WORDS]


def matches(
    query: ProductQuery, title: str, country: str | None, price_minor: int | None, currency: str | None
) -> bool:
    """Return whether a product is what a query asks for; a limit of the price needs a price in its currency."""
    if not set(split_words(query.text)) <= set(split_words(title)):
        return False
    if query.country and query.country != country:
        return False
    if query.min_minor is None and query.max_minor is None:
        return True
    if price_minor is None or (query.currency and query.currency != currency):
        return False
    return (query.min_minor or 0) <= price_minor <= (query.max_minor if query.max_minor is not None else price_minor)
