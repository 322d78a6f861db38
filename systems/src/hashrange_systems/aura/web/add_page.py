"""Adds shops: one after a dry run of ten pages, or many from a CSV file."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from hashrange_systems.aura.model.country import all_countries
from hashrange_systems.aura.service.members import find_limited
from hashrange_systems.aura.service.preview import DryRun
from hashrange_systems.aura.service.registry import SHOP_TYPES, ImportReport, ShopInput
from hashrange_systems.aura.web.dependencies import AuraPages, Deps, Posted, SignedIn
from hashrange_systems.aura.web.page_renderer import Visitor
from hashrange_systems.aura.web.page_view import link_shop
from hashrange_systems.shared.errors import ApplicationError, InvalidInput
from hashrange_systems.shared.web.form import Field, group_field_errors, keep_form_values
from hashrange_systems.shared.web.templating import redirect_to

MAX_CSV_BYTES = 2_000_000
COUNTRIES = (("", "Unknown"), *all_countries())
TYPES = (("", "Unknown"), *((each, each.replace("_", " ").capitalize()) for each in SHOP_TYPES))
FIELDS = (
    Field(
        path="domain",
        label="Address",
        required=True,
        hint="antik-mueller.de",
        help="A domain, or the URL of the page where its crawl begins.",
    ),
    Field(path="name", label="Name", help="Empty: the domain is shown."),
    Field(path="country", label="Country", input_type="select", options=COUNTRIES, short=True),
    Field(path="type", label="Type", input_type="select", options=TYPES, short=True),
)

router = APIRouter(include_in_schema=False)


@router.get("/add")
async def show_add(request: Request, deps: Deps, visitor: SignedIn, domain: str = "") -> Response:
    """Show the form of a new shop."""
    return render_add(request, deps, visitor, {"domain": domain[:2000]})


@router.post("/add")
async def add_shop(request: Request, deps: Deps, sent: Posted) -> Response:
    """Try a shop on ten pages without storing anything, or register it."""
    values = keep_form_values(sent.form)
    given = ShopInput(
        address=sent.line("domain"),
        name=sent.line("name"),
        country=sent.line("country"),
        shop_type=sent.line("type"),
    )
    try:
        if sent.line("try"):
            member = sent.visitor.user.member_id
            deps.preview_limit.consume(member)
            found = await deps.services.preview.dry_run(given.address, member=member)
            return render_add(request, deps, sent.visitor, values, dry_run=found)
        shop = await deps.services.registry.add(given, find_limited(sent.visitor.user))
    except ApplicationError as error:
        return render_add(request, deps, sent.visitor, values, error=error)
    return redirect_to(request, link_shop(shop.domain), "added")


def render_add(
    request: Request,
    deps: AuraPages,
    visitor: Visitor,
    values: dict[str, str],
    *,
    dry_run: DryRun | None = None,
    error: ApplicationError | None = None,
) -> Response:
    """Render the form of a new shop, with what a dry run found."""
    invalid = error.errors if isinstance(error, InvalidInput) else ()
    field_errors, other_errors = group_field_errors(invalid, [field.path for field in FIELDS])
    context: dict[str, Any] = {"dry_run": dry_run, "fields": FIELDS, "values": values}
    return deps.renderer.render(
        request,
        "add.html",
        visitor,
        error.status if error else 200,
        field_errors=field_errors,
        other_errors=other_errors,
        error="" if isinstance(error, InvalidInput) else str(error or ""),
        **context,
    )


@router.get("/import")
async def show_import(request: Request, deps: Deps, visitor: SignedIn) -> Response:
    """Show the form for a CSV file."""
    return render_import(request, deps, visitor)


@router.post("/import")
async def import_shops(request: Request, deps: Deps, sent: Posted) -> Response:
    """Register the shops of a CSV file, and show what became of each row."""
    text = sent.file_text("file") or sent.line("rows")
    try:
        deps.import_limit.consume(sent.visitor.user.member_id)
        report = await deps.services.registry.import_csv(text, find_limited(sent.visitor.user))
    except ApplicationError as error:
        return render_import(request, deps, sent.visitor, rows=text, error=error)
    return render_import(request, deps, sent.visitor, report=report)


def render_import(
    request: Request,
    deps: AuraPages,
    visitor: Visitor,
    *,
    rows: str = "",
    report: ImportReport | None = None,
    error: ApplicationError | None = None,
) -> Response:
    """Render the form for a CSV file, with the report of an import."""
    status = error.status if error else 200
    return deps.renderer.render(
        request, "import.html", visitor, status, rows=rows[:20_000], report=report, error=str(error or "")
    )
