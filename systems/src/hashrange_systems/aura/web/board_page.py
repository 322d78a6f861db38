"""The board of shops by country, the list of stuck ones, and the crawls and scrapes within a range of time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from fastapi import APIRouter, Request
from starlette.responses import Response

from hashrange_systems.aura.model.country import country_name, parse_country
from hashrange_systems.aura.web.dependencies import Deps, SignedIn
from hashrange_systems.shared.epoch import from_ms
from hashrange_systems.shared.errors import ApplicationError, FieldError, InvalidInput

EACH = 12
ON_A_PAGE = 100
FIRST_YEAR = 1970

router = APIRouter(include_in_schema=False)


@router.get("/")
async def show_board(request: Request, deps: Deps, visitor: SignedIn) -> Response:
    """Show the shops by country, with their crawls and scrapes."""
    services = deps.services
    return deps.renderer.render(
        request,
        "board.html",
        visitor,
        boards=await services.registry.board(EACH),
        health=await services.health.report(),
        latest=await services.changes.latest(5, days=7),
    )


@router.get("/country/{code}")
async def show_country(
    request: Request, deps: Deps, visitor: SignedIn, code: str, cursor: str | None = None
) -> Response:
    """Show all shops of a country, page by page."""
    country = parse_country(code)
    page = await deps.services.registry.list_shops(country, cursor, ON_A_PAGE)
    return deps.renderer.render(
        request, "country.html", visitor, code=country, name=country_name(country), shops=page.items, cursor=page.cursor
    )


@router.get("/stuck")
async def show_stuck(request: Request, deps: Deps, visitor: SignedIn) -> Response:
    """Show the crawls and scrapes that are in progress for too long."""
    services = deps.services
    found = [*await services.crawls.find_stuck(), *await services.scrapes.find_stuck()]
    found.sort(key=lambda each: (not each.abandoned, each.started_at))
    return deps.renderer.render(request, "stuck.html", visitor, found=found, health=await services.health.report())


@router.get("/between")
async def show_between(
    request: Request,
    deps: Deps,
    visitor: SignedIn,
    country: str = "",
    first: str = "",
    last: str = "",
    what: str = "crawled",
) -> Response:
    """Show the crawls or scrapes of a country that ended within a range of time."""
    registry, now = deps.services.registry, from_ms(deps.services.clock.millis())
    countries = await registry.countries()
    values = {
        "country": country or (countries[0] if countries else ""),
        "first": first or (now - timedelta(days=7)).strftime("%Y-%m-%dT%H:%M"),
        "last": last or (now + timedelta(minutes=1)).strftime("%Y-%m-%dT%H:%M"),
        "what": "scraped" if what == "scraped" else "crawled",
    }
    rows: list[tuple[str, datetime | None, datetime]] = []
    error: ApplicationError | None = None
    try:
        ends = read_time("first", values["first"]), read_time("last", values["last"])
        if values["country"]:
            code = parse_country(values["country"])
            if values["what"] == "scraped":
                scrapes = await registry.scraped_between(code, *ends)
                rows = [(each.domain, each.last_scraped_start, each.last_scraped_end) for each in scrapes]
            else:
                crawls = await registry.crawled_between(code, *ends)
                rows = [(each.domain, each.last_crawled_start, each.last_crawled_end) for each in crawls]
    except ApplicationError as found:
        error = found
    return deps.renderer.render(
        request,
        "between.html",
        visitor,
        error.status if error else 200,
        values=values,
        rows=rows,
        error=str(error or ""),
        countries=[(code, country_name(code)) for code in countries],
    )


def read_time(name: str, text: str) -> datetime:
    """Return a time of a form, in UTC; raise InvalidInput."""
    try:
        found = datetime.fromisoformat(text)
        found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInput([FieldError(name, "must be a time such as 2026-11-17T12:00")]) from error
    if found.year < FIRST_YEAR:
        raise InvalidInput([FieldError(name, f"must not be before {FIRST_YEAR}")])
    return found
