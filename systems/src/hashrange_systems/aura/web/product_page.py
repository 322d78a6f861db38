"""The page of a product with its price history, the watch list, and the search for products."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from hashrange_systems.aura.extraction.price_text import NUMBER_ALONE
from hashrange_systems.aura.model.country import country_name
from hashrange_systems.aura.model.price_alert import AlertRule
from hashrange_systems.aura.service.products import ProductHistory, ProductQuery
from hashrange_systems.aura.web.dependencies import AuraPages, Deps, Posted, SignedIn
from hashrange_systems.aura.web.page_renderer import Visitor
from hashrange_systems.aura.web.price_chart import describe_range, draw_history, draw_sparkline
from hashrange_systems.aura.work_schema import Member, Watch
from hashrange_systems.shared.errors import ApplicationError, FieldError, InvalidInput, ResourceMissing
from hashrange_systems.shared.money import CURRENCIES, make_money
from hashrange_systems.shared.web.session_authenticator import SubmittedForm
from hashrange_systems.shared.web.templating import find_mount_path, redirect_to

MAX_SPARKLINES = 50

router = APIRouter(include_in_schema=False)


@router.get("/product")
async def show_product(request: Request, deps: Deps, visitor: SignedIn, domain: str, url: str) -> Response:
    """Show a product with its price history."""
    return await render_product(request, deps, visitor, domain, url)


async def render_product(
    request: Request,
    deps: AuraPages,
    visitor: Visitor,
    domain: str,
    url: str,
    error: ApplicationError | None = None,
) -> Response:
    """Render the page of a product, with the error of its watch form, if any."""
    services = deps.services
    shop = await services.registry.find(domain)
    history = await services.products.history(shop.domain, url)
    try:
        watch = await services.watches.find(visitor.user.member_id, shop.domain, history.product.url)
    except ResourceMissing:
        watch = None
    title = history.product.title or history.product.url
    return deps.renderer.render(
        request,
        "product.html",
        visitor,
        error.status if error else 200,
        shop=shop,
        product=history.product,
        history=history,
        price_range=describe_range(history.prices),
        chart=draw_history(history.prices, services.clock.millis(), title),
        watch=watch,
        error=str(error or ""),
    )


@router.post("/product/watch")
async def watch_product(request: Request, deps: Deps, sent: Posted) -> Response:
    """Put a product on the visitor's watch list, with its alerts."""
    domain, url = sent.line("domain"), sent.line("url")
    try:
        shop = await deps.services.registry.find(domain)
        product = await deps.services.products.find(shop.domain, url)
        rule = read_rule_form(sent, product.currency)
        await deps.services.watches.watch(sent.visitor.user.member_id, shop.domain, product.url, rule)
    except ResourceMissing:
        raise
    except ApplicationError as error:
        return await render_product(request, deps, sent.visitor, domain, url, error)
    return redirect_to(request, "/watch", "watching")


@router.post("/product/unwatch")
async def unwatch_product(request: Request, deps: Deps, sent: Posted) -> Response:
    """Take a product off the visitor's watch list."""
    await deps.services.watches.unwatch(sent.visitor.user.member_id, sent.line("domain"), sent.line("url"))
    return redirect_to(request, "/watch", "unwatched")


def read_rule_form(sent: SubmittedForm[Member], currency: str | None) -> AlertRule:
    """Return the alerts of a form; raise InvalidInput."""
    percent = sent.line("percent")
    if percent and not (percent.isascii() and percent.isdecimal() and len(percent) < 5):
        raise InvalidInput([FieldError("percent", "must be a whole number")])
    return AlertRule(
        below_minor=read_limit("below", sent.line("below"), currency),
        above_minor=read_limit("above", sent.line("above"), currency),
        percent=int(percent) if percent else None,
        states=sent.line("states") == "on",
        currency=currency,
    )


def read_limit(name: str, text: str, currency: str | None) -> int | None:
    """Return an amount of a form in minor units; None if it is empty; raise InvalidInput."""
    if not text:
        return None
    money = make_money(text, currency or "EUR") if NUMBER_ALONE.fullmatch(text) else None
    if money is None:
        raise InvalidInput([FieldError(name, "must be an amount such as 1250, 99.50 or 1.250,00")])
    return money.minor


# ── search ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/search")
async def show_search(
    request: Request,
    deps: Deps,
    visitor: SignedIn,
    q: str = "",
    country: str = "",
    least: str = "",
    most: str = "",
    currency: str = "EUR",
) -> Response:
    """Search the products of all shops by the words of their titles."""
    values = {"q": q[:200], "country": country[:2], "least": least[:20], "most": most[:20], "currency": currency[:3]}
    error = ""
    try:
        found = await deps.services.products.search(read_query(values)) if q else []
    except ApplicationError as refused:
        found, error = [], str(refused)
    countries = [(code, country_name(code)) for code in await deps.services.registry.countries()]
    return deps.renderer.render(
        request,
        "search.html",
        visitor,
        422 if error else 200,
        values=values,
        found=found,
        error=error,
        countries=countries,
        currencies=sorted(CURRENCIES),
    )


def read_query(values: dict[str, str]) -> ProductQuery:
    """Return the query of a form; raise InvalidInput."""
    currency = values["currency"] if values["currency"] in CURRENCIES else "EUR"
    least, most = (read_limit(name, values[name], currency) for name in ("least", "most"))
    limited = least is not None or most is not None
    return ProductQuery(
        text=values["q"],
        country=values["country"] or None,
        min_minor=least,
        max_minor=most,
        currency=currency if limited else None,
    )


@router.post("/search/save")
async def save_search(request: Request, deps: Deps, sent: Posted) -> Response:
    """Save a search, to be told about new products."""
    values = {name: sent.line(name) for name in ("q", "country", "least", "most", "currency")}
    await deps.services.watches.save_search(sent.visitor.user.member_id, read_query(values))
    return redirect_to(request, "/watch", "search-saved")


@router.post("/search/remove")
async def remove_search(request: Request, deps: Deps, sent: Posted) -> Response:
    """Remove a saved search."""
    await deps.services.watches.remove_search(sent.visitor.user.member_id, sent.line("search"))
    return redirect_to(request, "/watch", "search-removed")


# ── the watch list ───────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/watch")
async def show_watch_list(request: Request, deps: Deps, visitor: SignedIn) -> Response:
    """Show the visitor's watch list, saved searches and messages."""
    services, member = deps.services, visitor.user.member_id
    rows: list[tuple[Watch, ProductHistory | None, str]] = []
    for watch in (await services.watches.list_watches(member))[:MAX_SPARKLINES]:
        try:
            history = await services.products.history(watch.domain, watch.url)
        except ResourceMissing:
            rows.append((watch, None, ""))
        else:
            rows.append((watch, history, draw_sparkline(history.prices, watch.title or watch.url)))
    return deps.renderer.render(
        request,
        "watch.html",
        visitor,
        rows=rows,
        searches=await services.watches.list_searches(member),
        messages=await services.notices.list_messages(member, 20),
        channels=await services.accounts.channels.list_by_owner(member),
        mount=find_mount_path(request),
    )
