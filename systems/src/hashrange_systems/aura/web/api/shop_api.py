"""The routes of the JSON API: shops, products, changes, explanations and watch lists; they need an API key."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from hashrange_systems.aura.application import Application
from hashrange_systems.aura.model.country import parse_country
from hashrange_systems.aura.model.price_alert import AlertRule
from hashrange_systems.aura.schema import Price, Shop, Url
from hashrange_systems.aura.service.members import find_limited, require_operator
from hashrange_systems.aura.service.products import ProductQuery
from hashrange_systems.aura.service.registry import ShopInput
from hashrange_systems.aura.web.board_page import read_time
from hashrange_systems.aura.web.change_feed import write_json
from hashrange_systems.aura.web.page_view import describe_stage
from hashrange_systems.aura.work_schema import Member
from hashrange_systems.shared.accounts.api_keys import KeyHolder
from hashrange_systems.shared.web import api
from hashrange_systems.shared.web.api import KeyAuthenticator, authenticate_caller
from hashrange_systems.shared.web.pages import get_dependencies
from hashrange_systems.shared.web.rate_limit import RateLimit

Cursor = Annotated[str | None, Query(description="Where the page before ended.")]
Size = Annotated[int, Query(ge=1, le=500, description="How many at most.")]

router = APIRouter(dependencies=[Depends(authenticate_caller)])


@dataclass(frozen=True, slots=True)
class ApiDependencies:
    """What the handlers of the API need."""

    services: Application
    callers: KeyAuthenticator[KeyHolder[Member]]
    preview_limit: RateLimit  # by member


ApiDeps = Annotated[ApiDependencies, Depends(get_dependencies)]
Caller = api.Caller[KeyHolder[Member]]


# ── bodies ───────────────────────────────────────────────────────────────────────────────────────────────────────────
class ApiModel(BaseModel):
    """A body of the API, with names in camel case."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")


class NewShop(ApiModel):
    """A shop to register."""

    domain: str = Field(description="A domain or URL, in any spelling.")
    name: str | None = None
    country: str | None = Field(None, description="ISO 3166 alpha-2; nothing if unknown.")
    type: str | None = None


class WatchRequest(ApiModel):
    """A product to watch; limits are in minor units of its currency."""

    domain: str
    url: str
    below_minor: int | None = None
    above_minor: int | None = None
    percent: int | None = None
    states: bool = True


def write_shop(shop: Shop) -> dict[str, Any]:
    """Return a shop as JSON."""
    crawl, scrape = describe_stage(shop.crawl), describe_stage(shop.scrape)
    return {
        "domain": shop.domain,
        "name": shop.shop_name,
        "country": shop.shop_country,
        "type": shop.shop_type,
        "coreDomainName": shop.core_domain_name,
        "crawl": {"state": crawl.word, "at": crawl.at},
        "scrape": {"state": scrape.word, "at": scrape.at},
        "lastCrawlError": shop.last_crawl_error,
        "lastScrapeError": shop.last_scrape_error,
        "standardsUsed": shop.standards_used or [],
    }


def write_product(product: Url) -> dict[str, Any]:
    """Return a page of a shop as JSON."""
    hidden = {"hash", "etag", "last_modified", "gsi1_pk", "gsi1_sk"}
    given = product.model_dump(mode="json", exclude=hidden)
    return {to_camel(name): value for name, value in given.items()}


def write_price(price: Price) -> dict[str, Any]:
    """Return a record of the price history as JSON."""
    return {"at": price.at, "state": price.state, "priceMinor": price.price_minor, "currency": price.currency}


# ── shops ────────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/shops")
async def list_shops(deps: ApiDeps, country: str, limit: Size = 100, cursor: Cursor = None) -> dict[str, Any]:
    """List the shops of a country."""
    page = await deps.services.registry.list_shops(country, cursor, limit)
    return {"items": [write_shop(shop) for shop in page], "cursor": page.cursor}


@router.get("/countries")
async def list_countries(deps: ApiDeps) -> dict[str, Any]:
    """List the countries that have shops."""
    return {"items": list(await deps.services.registry.countries())}


@router.post("/shops", status_code=201)
async def add_shop(deps: ApiDeps, caller: Caller, body: NewShop) -> dict[str, Any]:
    """Register a shop."""
    given = ShopInput(address=body.domain, name=body.name, country=body.country, shop_type=body.type)
    return write_shop(await deps.services.registry.add(given, find_limited(caller.user)))


@router.get("/shops/{domain}")
async def read_shop(deps: ApiDeps, domain: str) -> dict[str, Any]:
    """Read a shop."""
    return write_shop(await deps.services.registry.find(domain))


@router.delete("/shops/{domain}", status_code=204)
async def remove_shop(deps: ApiDeps, caller: Caller, domain: str) -> Response:
    """Remove a shop with everything that is known about it; only operators may."""
    require_operator(caller.user)
    await deps.services.registry.remove(domain)
    return Response(status_code=204)


@router.post("/shops/{domain}/crawl", status_code=202)
async def crawl_shop(deps: ApiDeps, domain: str) -> dict[str, Any]:
    """Crawl and scrape a shop now; this does not wait for the end."""
    shop = await deps.services.registry.find(domain)
    await deps.services.run_now.start(shop)
    return write_shop(await deps.services.registry.find(shop.domain))


@router.get("/shops/{domain}/products")
async def list_products(
    deps: ApiDeps,
    domain: str,
    type: str = "product",  # noqa: A002 - the address says type
    limit: Size = 100,
    cursor: Cursor = None,
) -> dict[str, Any]:
    """List the pages of a shop of one type: product, category, listing, other, or a type of another program."""
    shop = await deps.services.registry.find(domain)
    page = await deps.services.products.list_pages(shop.domain, type, cursor, limit)
    return {"items": [write_product(each) for each in page], "cursor": page.cursor}


@router.get("/product")
async def read_product(deps: ApiDeps, domain: str, url: str) -> dict[str, Any]:
    """Read a product with its price history, oldest first."""
    shop = await deps.services.registry.find(domain)
    history = await deps.services.products.history(shop.domain, url)
    return write_product(history.product) | {"prices": [write_price(price) for price in history.prices]}


@router.get("/crawled")
async def list_crawled(deps: ApiDeps, country: str, first: str, last: str) -> dict[str, Any]:
    """List the crawls of a country that ended within a range of time, both ends included."""
    times = read_time("first", first), read_time("last", last)
    found = await deps.services.registry.crawled_between(country, *times)
    return {"items": [{"domain": each.domain, "end": each.last_crawled_end} for each in found]}


@router.get("/scraped")
async def list_scraped(deps: ApiDeps, country: str, first: str, last: str) -> dict[str, Any]:
    """List the scrapes of a country that ended within a range of time, both ends included."""
    times = read_time("first", first), read_time("last", last)
    found = await deps.services.registry.scraped_between(country, *times)
    return {"items": [{"domain": each.domain, "end": each.last_scraped_end} for each in found]}


# ── changes, search, explanations ────────────────────────────────────────────────────────────────────────────────────
@router.get("/changes")
async def list_changes(
    deps: ApiDeps, country: str | None = None, before: str | None = None, limit: Size = 100
) -> dict[str, Any]:
    """List what changed, newest first; `before` continues a list. Changes of one millisecond stay together."""
    until = read_time("before", before) if before else None
    code = parse_country(country) if country else None
    changes = await deps.services.changes.latest(limit, country=code, before=until)
    return {"items": [write_json(change) for change in changes]}


@router.get("/search")
async def search_products(deps: ApiDeps, q: str, country: str | None = None) -> dict[str, Any]:
    """Search the products of all shops by the words of their titles."""
    found = await deps.services.products.search(
        ProductQuery(text=q, country=parse_country(country) if country else None)
    )
    hidden = {"word", "seen_at"}
    return {"items": [{to_camel(k): v for k, v in each.model_dump(exclude=hidden).items()} for each in found]}


@router.get("/explain")
async def explain_url(deps: ApiDeps, caller: Caller, url: str) -> dict[str, Any]:
    """Fetch a page, and return what every extractor answers; nothing is stored."""
    deps.preview_limit.consume(caller.user.member_id)
    found = await deps.services.preview.explain(url, member=caller.user.member_id)
    return {to_camel(name): value for name, value in asdict(found).items()}


# ── watch list ───────────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/watches")
async def list_watches(deps: ApiDeps, caller: Caller) -> dict[str, Any]:
    """List your watch list."""
    found = await deps.services.watches.list_watches(caller.user.member_id)
    hidden = {"member_id", "armed_below", "armed_above", "group", "group_sk"}
    return {"items": [{to_camel(k): v for k, v in each.model_dump(exclude=hidden).items()} for each in found]}


@router.post("/watches", status_code=201)
async def add_watch(deps: ApiDeps, caller: Caller, body: WatchRequest) -> dict[str, Any]:
    """Put a product on your watch list, or change its alerts."""
    shop = await deps.services.registry.find(body.domain)
    product = await deps.services.products.find(shop.domain, body.url)
    rule = AlertRule(
        below_minor=body.below_minor,
        above_minor=body.above_minor,
        percent=body.percent,
        states=body.states,
        currency=product.currency,
    )
    watch = await deps.services.watches.watch(caller.user.member_id, shop.domain, product.url, rule)
    return {"domain": watch.domain, "url": watch.url, "title": watch.title}


@router.delete("/watches", status_code=204)
async def remove_watch(deps: ApiDeps, caller: Caller, domain: str, url: str) -> Response:
    """Take a product off your watch list."""
    await deps.services.watches.unwatch(caller.user.member_id, domain, url)
    return Response(status_code=204)
