"""More pages of the admin side: suggestions, reviews, claims, reports, audit, analytics, personal data, accounts."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import orjson
from fastapi import APIRouter, Request
from starlette.responses import Response

from hashrange_systems.kelifax.record_item import Role
from hashrange_systems.kelifax.service.resource_read import find_names
from hashrange_systems.kelifax.web.dependencies import Admin, AdminPosted, Deps, SlugPath
from hashrange_systems.kelifax.web.resource_redirect import redirect_to_moderation
from hashrange_systems.kelifax.web.visitor import SignedInAdmin
from hashrange_systems.shared.errors import ApplicationError, InvalidInput, ResourceMissing, StateConflict
from hashrange_systems.shared.web.posted_form import PostedForm
from hashrange_systems.shared.web.templating import redirect_to

PAGE_SIZE = 20
DEAD_LINK = "The link does not work."  # the reason that the submitter reads

router = APIRouter(prefix="/admin", include_in_schema=False)


def render_admin(
    request: Request, deps: Deps, admin: SignedInAdmin, template: str, status: int = 200, **context: Any
) -> Response:
    """Render a page of the admin side."""
    return deps.renderer.render(
        request, template, status, **({"error": ""} | context), form_token=admin.form_token, actor=admin.actor
    )


# ── what visitors leave ──────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/suggestions")
async def show_suggestions(request: Request, deps: Deps, admin: Admin, after: str = "") -> Response:
    """Show suggested edits with their differences."""
    return await render_suggestions(request, deps, admin, after)


async def render_suggestions(
    request: Request,
    deps: Deps,
    admin: SignedInAdmin,
    after: str = "",
    error: ApplicationError | None = None,
) -> Response:
    """Render the suggestions that wait."""
    found, cursor = await deps.services.suggestions.waiting(PAGE_SIZE, after or None)
    rows = []
    for each in found:
        try:
            rows.append((each, await deps.services.suggestions.compare(each)))
        except ApplicationError:
            rows.append((each, []))  # its resource is gone
    status = error.status if error else 200
    names = await find_names(deps.services.db, [each.slug for each in found])
    context = {"rows": rows, "names": names, "cursor": cursor, "error": str(error or ""), "section": "suggestions"}
    return render_admin(request, deps, admin, "admin_suggestions.html", status, **context)


@router.post("/suggestions/{slug}/{suggestion_id}")
async def decide_suggestion(
    request: Request, deps: Deps, posted: AdminPosted, slug: SlugPath, suggestion_id: str
) -> Response:
    """Apply or decline a suggestion."""
    accepts = posted.sent.text("do") == "accept"
    suggestions = deps.services.suggestions
    act = suggestions.accept if accepts else suggestions.decline
    try:
        await act(slug, suggestion_id, posted.admin.actor)
    except ApplicationError as error:
        return await render_suggestions(request, deps, posted.admin, error=error)
    return redirect_to(request, "/admin/suggestions", "accepted" if accepts else "declined")


@router.get("/reviews")
async def show_reviews(request: Request, deps: Deps, admin: Admin, after: str = "") -> Response:
    """Show the reviews that wait."""
    found, cursor = await deps.services.reviews.waiting(PAGE_SIZE, after or None)
    names = await find_names(deps.services.db, [each.slug for each in found])
    context: dict[str, Any] = {"rows": found, "names": names, "cursor": cursor, "section": "reviews"}
    return render_admin(request, deps, admin, "admin_reviews.html", **context)


@router.post("/reviews/{slug}/{reviewer}")
async def decide_review(request: Request, deps: Deps, posted: AdminPosted, slug: SlugPath, reviewer: str) -> Response:
    """Publish or hide a review."""
    publishes = posted.sent.text("do") == "publish"
    reviews = deps.services.reviews
    act = reviews.publish if publishes else reviews.hide
    await act(slug, reviewer, posted.admin.actor)
    return redirect_back(request, posted.sent, "reviews", slug, "review-published" if publishes else "review-hidden")


@router.get("/claims")
async def show_claims(request: Request, deps: Deps, admin: Admin, after: str = "") -> Response:
    """Show the claims that wait."""
    found, cursor = await deps.services.ownerships.waiting(PAGE_SIZE, after or None)
    names = await find_names(deps.services.db, [each.slug for each in found])
    context: dict[str, Any] = {"rows": found, "names": names, "cursor": cursor, "section": "claims"}
    return render_admin(request, deps, admin, "admin_claims.html", **context)


@router.post("/claims/{slug}/{claim_id}")
async def decide_claim(request: Request, deps: Deps, posted: AdminPosted, slug: SlugPath, claim_id: str) -> Response:
    """Grant or refuse a claim."""
    grants = posted.sent.text("do") == "grant"
    ownerships = deps.services.ownerships
    act = ownerships.grant if grants else ownerships.refuse
    await act(slug, claim_id, posted.admin.actor)
    return redirect_back(request, posted.sent, "claims", slug, "claim-granted" if grants else "claim-refused")


@router.get("/reports")
async def show_reports(request: Request, deps: Deps, admin: Admin, after: str = "") -> Response:
    """Show the links that visitors say are dead."""
    return await render_reports(request, deps, admin, after)


async def render_reports(
    request: Request,
    deps: Deps,
    admin: SignedInAdmin,
    after: str = "",
    error: ApplicationError | None = None,
) -> Response:
    """Render the reported links."""
    found, cursor = await deps.services.link_checks.waiting(PAGE_SIZE, after or None)
    status = error.status if error else 200
    context = {"rows": found, "cursor": cursor, "error": str(error or ""), "section": "reports"}
    return render_admin(request, deps, admin, "admin_reports.html", status, **context)


@router.post("/reports/{slug}")
async def decide_report(request: Request, deps: Deps, posted: AdminPosted, slug: SlugPath) -> Response:
    """Close the reports of a link, check it, or unpublish its resource."""
    services, actor = deps.services, posted.admin.actor
    try:
        match posted.sent.text("do"):
            case "dismiss":
                await services.link_checks.dismiss(slug, actor)
                note = "report-closed"
            case "check":
                found = await services.link_checks.check(slug)
                note = "link-alive" if found.alive else "link-dead"
            case "unpublish":
                await services.moderation.unpublish(slug, actor, DEAD_LINK)
                await services.link_checks.forget_report(slug)
                note = "unpublished"
            case _:
                raise ResourceMissing("action")
    except StateConflict as error:
        return await render_reports(request, deps, posted.admin, error=error)
    return redirect_to(request, "/admin/reports", note)


def redirect_back(request: Request, sent: PostedForm, page: str, slug: str, note: str) -> Response:
    """Redirect to the page that a form came from: the one of its resource, or the list of what waits."""
    if sent.text("from") == "resource":
        return redirect_to_moderation(request, "live", slug, f"note={note}")
    return redirect_to(request, f"/admin/{page}", note)


# ── audit and analytics ──────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/audit")
async def show_audit(request: Request, deps: Deps, admin: Admin, slug: str = "") -> Response:
    """Show all decisions on a resource; they stay when it is deleted."""
    decisions = await deps.services.moderation.history(slug) if slug else ()
    return render_admin(request, deps, admin, "admin_audit.html", slug=slug, decisions=decisions, section="audit")


@router.get("/analytics")
async def show_analytics(request: Request, deps: Deps, admin: Admin, domain: str = "") -> Response:
    """Show what was submitted from which domains, and what is viewed most."""
    report = await deps.services.analytics.report(domain or None)
    return render_admin(request, deps, admin, "admin_analytics.html", report=report, domain=domain, section="analytics")


# ── personal data ────────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/people")
async def show_people(request: Request, deps: Deps, admin: Admin) -> Response:
    """Show the forms that export and erase what is stored about a person."""
    admin.actor.require_admin("see personal data of a person")
    return render_admin(request, deps, admin, "admin_people.html", report=None, email="", section="people")


@router.post("/people/export")
async def export_person(request: Request, deps: Deps, posted: AdminPosted) -> Response:
    """Return everything that is stored about an address, as a file."""
    email = posted.sent.text("email").strip()
    try:
        found = await deps.services.privacy.export_person(email, posted.admin.actor)
    except InvalidInput as error:
        context = {"report": None, "email": email, "error": str(error), "section": "people"}
        return render_admin(request, deps, posted.admin, "admin_people.html", 422, **context)
    content = orjson.dumps(found, option=orjson.OPT_INDENT_2)
    headers = {"Content-Disposition": 'attachment; filename="person.json"'}
    return Response(content, media_type="application/json", headers=headers)


@router.post("/people/erase")
async def erase_person(request: Request, deps: Deps, posted: AdminPosted) -> Response:
    """Erase everything that is stored about an address."""
    email = posted.sent.text("email").strip()
    context: dict[str, Any] = {"report": None, "email": email, "section": "people"}
    try:
        context["report"] = await deps.services.privacy.erase_person(email, posted.admin.actor)
    except InvalidInput as error:
        return render_admin(request, deps, posted.admin, "admin_people.html", 422, **context, error=str(error))
    return render_admin(request, deps, posted.admin, "admin_people.html", **context)


# ── accounts ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/accounts")
async def show_accounts(request: Request, deps: Deps, admin: Admin) -> Response:
    """Show the accounts, to admins; everybody can change the own password."""
    return await render_accounts(request, deps, admin)


async def render_accounts(
    request: Request, deps: Deps, admin: SignedInAdmin, error: ApplicationError | None = None
) -> Response:
    """Render the accounts."""
    everyone = admin.actor.role == "admin"
    accounts = await deps.services.admins.list_all()
    shown = [each for each in accounts if everyone or each.owner == admin.actor.name]
    status = error.status if error else 200
    context = {"accounts": shown, "error": str(error or ""), "section": "accounts"}
    return render_admin(request, deps, admin, "admin_accounts.html", status, **context)


@router.post("/accounts")
async def change_accounts(request: Request, deps: Deps, posted: AdminPosted) -> Response:
    """Add, change or remove an account."""
    sent, actor, admins = posted.sent, posted.admin.actor, deps.services.admins
    name = sent.text("name").strip().lower()
    role: Role = "admin" if sent.text("role") == "admin" else "moderator"
    actions: dict[str, tuple[Any, str]] = {
        "add": (lambda: admins.add(name, sent.text("password"), role, actor), "account-added"),
        "password": (lambda: admins.change_password(name, sent.text("password"), actor), "account-changed"),
        "role": (lambda: admins.change_role(name, role, actor), "account-changed"),
        "remove": (lambda: admins.remove(name, actor), "account-removed"),
    }
    if sent.text("do") not in actions:
        raise ResourceMissing("action")
    make, note = actions[sent.text("do")]
    action: Awaitable[Any] = make()
    try:
        await action
    except ApplicationError as error:
        return await render_accounts(request, deps, posted.admin, error)
    return redirect_to(request, "/admin/accounts", note)


@router.get("/logo/{name}")
async def show_pending_logo(deps: Deps, _admin: Admin, name: str) -> Response:
    """Return any logo, to moderators."""
    content = await deps.services.logos.read(name)
    if content is None:
        raise ResourceMissing("logo")
    return Response(content, media_type="image/png", headers={"Content-Security-Policy": "default-src 'none'"})


@router.get("/find")
async def find_resource(request: Request, _admin: Admin, slug: str = "") -> Response:
    """Open a resource by its slug."""
    return redirect_to_moderation(request, "queue", slug)
