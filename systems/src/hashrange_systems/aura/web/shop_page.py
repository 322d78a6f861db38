"""The page of a shop: its crawls, coverage and standards, its options with a test, its relatives and its pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from hashrange_systems.aura.extraction.page_answer import explain_selector
from hashrange_systems.aura.schema import Shop
from hashrange_systems.aura.service.members import require_operator
from hashrange_systems.aura.service.preview import Explanation
from hashrange_systems.aura.service.registry import read_overrides
from hashrange_systems.aura.web.dependencies import AuraPages, Deps, Posted, SignedIn
from hashrange_systems.aura.web.page_renderer import Visitor
from hashrange_systems.aura.web.page_view import link_shop
from hashrange_systems.aura.work_schema import Member, ShopOptions
from hashrange_systems.shared.errors import ApplicationError, FieldError, InvalidInput
from hashrange_systems.shared.web.form import Field, group_field_errors, keep_form_values, write_value
from hashrange_systems.shared.web.pages import read_submitted_form
from hashrange_systems.shared.web.session_authenticator import SubmittedForm
from hashrange_systems.shared.web.templating import redirect_to

ON_A_PAGE = 50
NUMBERS = {"crawl_every_h": 8760, "scrape_every_h": 8760, "delay_ms": 600_000, "max_pages": 10_000_000}
SELECTORS = ("price_selector", "state_selector")
FIELDS = (
    Field(
        path="price_selector",
        label="Price",
        hint=".product-price",
        help="A CSS selector, asked before everything else.",
    ),
    Field(path="state_selector", label="State", hint=".availability", help="Its text must be a state, such as “sold”."),
    Field(path="crawl_every_h", label="Crawl every (hours)", input_type="number", short=True),
    Field(path="scrape_every_h", label="Scrape every (hours)", input_type="number", short=True),
    Field(
        path="delay_ms",
        label="Pause between requests (ms)",
        input_type="number",
        short=True,
        help="A longer Crawl-delay is kept.",
    ),
    Field(path="max_pages", label="Pages of one crawl", input_type="number", short=True),
    Field(
        path="excludes",
        label="Never crawl paths with",
        input_type="area",
        hint="/forum/",
        help="One part of a path on each line.",
    ),
)

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class OptionsTrial:
    """Options that were tried on a page, or refused: what the form shows again."""

    values: dict[str, str]
    error: ApplicationError | None = None
    explanation: Explanation | None = None


@router.get("/shop/{domain}")
async def show_shop(
    request: Request,
    deps: Deps,
    visitor: SignedIn,
    domain: str,
    type: str = "product",  # noqa: A002 - the address says type
    cursor: str | None = None,
) -> Response:
    """Show a shop."""
    shop = await deps.services.registry.find(domain)
    return await render_shop(request, deps, visitor, shop, page_type=type, cursor=cursor)


async def render_shop(
    request: Request,
    deps: AuraPages,
    visitor: Visitor,
    shop: Shop,
    *,
    page_type: str = "product",
    cursor: str | None = None,
    trial: OptionsTrial | None = None,
    error: ApplicationError | None = None,
) -> Response:
    """Render the page of a shop, with a trial of its options or an error."""
    services = deps.services
    options = await services.registry.options(shop.domain)
    problem = error or (trial.error if trial else None)
    invalid = problem.errors if isinstance(problem, InvalidInput) else ()
    field_errors, other_errors = group_field_errors(invalid, [field.path for field in FIELDS])
    return deps.renderer.render(
        request,
        "shop.html",
        visitor,
        problem.status if problem else 200,
        shop=shop,
        options=options,
        run=await services.work.run(shop.domain),
        crawl_reports=await services.products.crawl_reports(shop.domain, 10),
        scrape_reports=await services.products.scrape_reports(shop.domain, 10),
        related=await services.registry.related(shop.domain),
        changes=(await services.changes.of_shop(shop.domain, limit=8)).items,
        pages=await services.products.list_pages(shop.domain, page_type[:40], cursor, ON_A_PAGE),
        page_type=page_type[:40],
        fields=FIELDS,
        values=trial.values if trial else fill_options(options),
        explanation=trial.explanation if trial else None,
        field_errors=field_errors,
        other_errors=other_errors,
        error="" if isinstance(problem, InvalidInput) else str(problem or ""),
    )


# ── actions ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.post("/shop/{domain}/crawl")
async def crawl_now(request: Request, deps: Deps, sent: Posted, domain: str) -> Response:
    """Crawl and scrape a shop now."""
    shop = await deps.services.registry.find(domain)
    try:
        await deps.services.run_now.start(shop)
    except ApplicationError as error:
        return await render_shop(request, deps, sent.visitor, shop, error=error)
    return redirect_to(request, link_shop(shop.domain), "queued")


@router.post("/shop/{domain}/pause", dependencies=[Depends(read_submitted_form)])
async def pause_shop(request: Request, deps: Deps, domain: str) -> Response:
    """Pause the crawls and scrapes of a shop."""
    await deps.services.registry.pause(domain, paused=True)
    return redirect_to(request, link_shop(domain), "paused")


@router.post("/shop/{domain}/resume", dependencies=[Depends(read_submitted_form)])
async def resume_shop(request: Request, deps: Deps, domain: str) -> Response:
    """Resume the crawls and scrapes of a shop."""
    await deps.services.registry.request_stop(domain, stop=False)
    await deps.services.registry.pause(domain, paused=False)
    return redirect_to(request, link_shop(domain), "resumed")


@router.post("/shop/{domain}/stop", dependencies=[Depends(read_submitted_form)])
async def stop_shop(request: Request, deps: Deps, domain: str) -> Response:
    """Ask a running crawl or scrape to end at its next page."""
    await deps.services.registry.request_stop(domain, stop=True)
    return redirect_to(request, link_shop(domain), "stopping")


@router.post("/shop/{domain}/remove")
async def remove_shop(request: Request, deps: Deps, sent: Posted, domain: str) -> Response:
    """Remove a shop with everything that is known about it; only operators may."""
    require_operator(sent.visitor.user)
    await deps.services.registry.remove(domain)
    return redirect_to(request, "/", "removed")


@router.post("/shop/{domain}/same")
async def answer_same(request: Request, deps: Deps, sent: Posted, domain: str) -> Response:
    """Store the answer to "same shop?"."""
    await deps.services.registry.answer_same(domain, sent.line("other"), same=sent.line("same") == "yes")
    return redirect_to(request, link_shop(domain), "answered")


@router.post("/shop/{domain}/details")
async def save_details(request: Request, deps: Deps, sent: Posted, domain: str) -> Response:
    """Change the name and the country of a shop."""
    registry = deps.services.registry
    shop = await registry.find(domain)
    try:
        if sent.line("name") and sent.line("name") != shop.shop_name:
            await registry.rename(shop.domain, sent.line("name"))
        if sent.line("country") and sent.line("country") != shop.shop_country:
            await registry.move(shop.domain, sent.line("country"))
    except ApplicationError as error:
        return await render_shop(request, deps, sent.visitor, await registry.find(domain), error=error)
    return redirect_to(request, link_shop(shop.domain), "saved")


# ── options ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.post("/shop/{domain}/options")
async def save_options(request: Request, deps: Deps, sent: Posted, domain: str) -> Response:
    """Save the options of a shop, or try its selectors on a page."""
    registry = deps.services.registry
    shop = await registry.find(domain)
    values = keep_form_values(sent.form)
    try:
        options = read_options_form(await registry.options(shop.domain), sent)
        if sent.line("try"):
            overrides = read_overrides(options)
            member = sent.visitor.user.member_id
            deps.preview_limit.consume(member)
            explanation = await deps.services.preview.explain(sent.line("try_url"), overrides, member=member)
            trial = OptionsTrial(values, explanation=explanation)
            return await render_shop(request, deps, sent.visitor, shop, trial=trial)
        await registry.save_options(options)
    except ApplicationError as error:
        return await render_shop(request, deps, sent.visitor, shop, trial=OptionsTrial(values, error))
    return redirect_to(request, link_shop(shop.domain), "saved")


def fill_options(options: ShopOptions) -> dict[str, str]:
    """Return the values of the form."""
    values = {field.path: write_value(getattr(options, field.path)) for field in FIELDS if field.path != "excludes"}
    return values | {"excludes": "\n".join(options.excludes)}


def read_options_form(known: ShopOptions, sent: SubmittedForm[Member]) -> ShopOptions:
    """Return the options of a form; raise InvalidInput with every field."""
    errors: list[FieldError] = []
    given: dict[str, Any] = {name: sent.line(name) or None for name in SELECTORS}
    for name in SELECTORS:
        refusal = explain_selector(given[name]) if given[name] else None
        errors += [FieldError(name, refusal)] if refusal else []
    for name, most in NUMBERS.items():
        text = sent.line(name)
        if text and not (text.isascii() and text.isdecimal() and len(text) < 9 and int(text) <= most):
            errors.append(FieldError(name, f"must be a whole number up to {most}"))
        else:
            given[name] = int(text) if text else None
    lines = [line.strip() for line in sent.line("excludes").splitlines() if line.strip()]
    if len(lines) > 100 or any(len(line) > 200 for line in lines):
        errors.append(FieldError("excludes", "must be at most 100 lines of 200 characters"))
    if errors:
        raise InvalidInput(errors)
    return known.model_copy(update=given | {"excludes": lines})
