"""The page of a resource, and what visitors do there: vote, keep, report, review, suggest, claim."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from hashrange_systems.kelifax.model.draft import find_changes, split_fields
from hashrange_systems.kelifax.model.public_entry import PublicResource
from hashrange_systems.kelifax.model.slug import path_of_resource
from hashrange_systems.kelifax.web.dependencies import Deps, Guest, LinkPosted, Posted, SlugPath
from hashrange_systems.kelifax.web.resource_redirect import redirect_for_ever, redirect_to_resource
from hashrange_systems.kelifax.web.structured_data import describe_resource
from hashrange_systems.kelifax.web.submission_form import CONTENT_STEPS, fill_values, group_errors, read_form
from hashrange_systems.kelifax.web.submission_pages import LOGO_PATH, preview_logo, replace_logo
from hashrange_systems.kelifax.web.visitor import Visitor
from hashrange_systems.shared.errors import ApplicationError, InvalidInput, ResourceMissing
from hashrange_systems.shared.web.request_guard import HEAD_ONLY

RELATED = 3
TREND_DAYS = 30
ROBOTS = ("bot", "crawl", "spider", "slurp", "curl", "python", "wget")

router = APIRouter(include_in_schema=False)


# ── the page ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/r/{slug}")
async def show_resource(request: Request, deps: Deps, visitor: Guest, slug: SlugPath) -> Response:
    """Show a published resource; a former slug redirects to the current one."""
    entry = await deps.services.directory.find(slug)
    if entry.slug != slug:
        return redirect_for_ever(request, entry.slug)
    if not is_robot(request) and await deps.visitors.find_admin(request) is None:
        deps.services.view_counts.count(slug)
    return await render_resource(request, deps, visitor, entry)


@router.get("/resource/{slug:path}")
async def redirect_old_address(request: Request, slug: SlugPath) -> Response:
    """Redirect the address that the original site had."""
    return redirect_for_ever(request, slug)


def is_robot(request: Request) -> bool:
    """Return whether a request says that it comes from a program, or reads no page: its views are not counted."""
    agent = request.headers.get("user-agent", "").lower()
    return not agent or HEAD_ONLY in request.scope or any(word in agent for word in ROBOTS)


async def render_resource(
    request: Request, deps: Deps, visitor: Visitor, entry: PublicResource, **context: Any
) -> Response:
    """Render the page of a resource."""
    services = deps.services
    known = "" if visitor.fresh else visitor.id
    score = await services.reviews.score(entry.slug)
    trend = await services.view_counts.trend(entry.slug, TREND_DAYS)
    return deps.show(
        request,
        visitor,
        "resource.html",
        entry=entry,
        score=score,
        has_voted=bool(known) and await services.reviews.has_voted(entry.slug, known),
        is_kept=bool(known) and entry.slug in await services.favourites.list_favourites(known),
        collections=await services.favourites.list_collections(known) if known else (),
        reviews=await services.reviews.published(entry.slug),
        related=await services.search.find_related(entry, RELATED),
        trend=scale_trend([views for _day, views in trend]),
        views_lately=sum(views for _day, views in trend),
        json_ld=describe_resource(entry, score, deps.base_url),
        **context,
    )


def scale_trend(views: list[int]) -> list[tuple[int, float]]:
    """Return the bars of a trend: where each begins from the left, and its height from 0 to 30."""
    most = max([*views, 1])
    return [(at * 4, round(2 + 28 * count / most, 1) if count else 1.0) for at, count in enumerate(views)]


# ── one click ────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.post("/r/{slug}/vote")
async def vote(request: Request, deps: Deps, posted: Posted, slug: SlugPath) -> Response:
    """Count the vote of a visitor, or take it back."""
    if posted.sent.text("take") == "back":
        await deps.services.reviews.unvote(slug, posted.visitor.id)
        return redirect_to_resource(request, slug, "unvoted")
    await deps.services.reviews.vote(slug, posted.visitor.id, posted.client)
    return redirect_to_resource(request, slug, "voted")


@router.post("/r/{slug}/favourite")
async def keep(request: Request, deps: Deps, posted: Posted, slug: SlugPath) -> Response:
    """Keep a resource among the favourites, or in a collection; or take it away."""
    favourites, visitor = deps.services.favourites, posted.visitor.id
    collection = posted.sent.text("collection")
    if posted.sent.text("take") == "away":
        await favourites.remove(visitor, slug)
        return redirect_to_resource(request, slug, "dropped")
    await deps.services.directory.find(slug)
    if collection:
        await favourites.collect(visitor, collection, slug)
        return redirect_to_resource(request, slug, "collected")
    await favourites.add(visitor, slug)
    return redirect_to_resource(request, slug, "kept")


@router.post("/r/{slug}/report")
async def report(request: Request, deps: Deps, posted: Posted, slug: SlugPath) -> Response:
    """Note that a link is dead."""
    await deps.services.link_checks.report(slug, posted.client)
    return redirect_to_resource(request, slug, "reported")


# ── reviews ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/r/{slug}/review")
async def show_review_form(request: Request, deps: Deps, visitor: Guest, slug: SlugPath) -> Response:
    """Show the form of a review."""
    entry = await deps.services.directory.find(slug)
    return deps.show(request, visitor, "review.html", entry=entry, values={}, errors={}, error="")


@router.post("/r/{slug}/review")
async def review(request: Request, deps: Deps, posted: Posted, slug: SlugPath) -> Response:
    """Store a review until its address is confirmed."""
    entry = await deps.services.directory.find(slug)
    values = {name: posted.sent.text(name) for name in ("rating", "text", "displayName", "email")}
    try:
        await deps.services.reviews.submit(slug, values, posted.client)
    except ApplicationError as error:
        context = {"values": values, **explain(error)}
        return deps.show(request, posted.visitor, "review.html", error.status, entry=entry, **context)
    return redirect_to_resource(request, slug, "review-sent")


def explain(error: ApplicationError) -> dict[str, Any]:
    """Return the errors of fields, or the one of the whole form."""
    fields = {each.field: each.message for each in error.errors} if isinstance(error, InvalidInput) else {}
    return {"errors": fields, "error": "" if fields else str(error)}


@router.get("/review/confirm/{token}")
async def show_review_confirmation(request: Request, deps: Deps, token: str) -> Response:
    """Show a button that confirms a review."""
    return deps.renderer.render(
        request,
        "confirm.html",
        title="Confirm your review",
        text="Then a moderator reads it, and publishes it if it helps others.",
        action=f"/review/confirm/{token}",
        button="Confirm the review",
    )


@router.post("/review/confirm/{token}")
async def confirm_review(request: Request, deps: Deps, _sent: LinkPosted, token: str) -> Response:
    """Queue a review for the moderators."""
    slug = await deps.services.reviews.confirm(token)
    return deps.renderer.render(
        request,
        "done.html",
        title="Thank you",
        text="A moderator reads your review before it is shown.",
        link=path_of_resource(slug),
        link_text="Back to the resource",
    )


# ── suggested edits ──────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/r/{slug}/suggest")
async def show_suggestion_form(request: Request, deps: Deps, visitor: Guest, slug: SlugPath) -> Response:
    """Show what is listed, to be changed."""
    entry = await find_editable(deps, slug)
    return await render_suggestion(request, deps, visitor, entry, split_fields(entry.to_fields()))


@router.post("/r/{slug}/suggest")
async def suggest(request: Request, deps: Deps, posted: Posted, slug: SlugPath) -> Response:
    """Store a suggestion of what differs."""
    entry = await find_editable(deps, slug)
    form = read_form(posted.sent, CONTENT_STEPS)
    author, note = posted.sent.text("author").strip(), posted.sent.text("note")
    try:
        form["resource"]["logoImage"] = await replace_logo(deps, posted.sent, form["resource"]["logoImage"])
        wanted = {**form["resource"], **form["details"]}
        changes = find_changes(entry.to_fields(), wanted)
        await deps.services.suggestions.suggest(slug, changes, posted.client, note, author)
    except ApplicationError as error:
        return await render_suggestion(
            request, deps, posted.visitor, entry, form, error=error, author=author, remark=note
        )
    return redirect_to_resource(request, slug, "suggested")


async def find_editable(deps: Deps, slug: str) -> PublicResource:
    """Return a published resource that a form can show; a damaged one cannot be changed here."""
    entry = await deps.services.directory.find(slug)
    if entry.damage:
        raise ResourceMissing("form: this entry is damaged, and the moderators know it")
    return entry


async def render_suggestion(
    request: Request,
    deps: Deps,
    visitor: Visitor,
    entry: PublicResource,
    form: Mapping[str, Any],
    *,
    error: ApplicationError | None = None,
    author: str = "",
    remark: str = "",
) -> Response:
    """Render the form of a suggestion."""
    values = fill_values(form, CONTENT_STEPS)
    errors = error.errors if isinstance(error, InvalidInput) else ()
    return deps.show(
        request,
        visitor,
        "suggest.html",
        error.status if error else 200,
        entry=entry,
        steps=CONTENT_STEPS,
        values=values,
        errors=group_errors(errors, CONTENT_STEPS),
        error="" if error is None or isinstance(error, InvalidInput) else str(error),
        author=author,
        remark=remark,
        logo_preview=await preview_logo(deps, values[LOGO_PATH]),
    )


# ── owners ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/r/{slug}/claim")
async def show_claim_form(request: Request, deps: Deps, visitor: Guest, slug: SlugPath) -> Response:
    """Show the form with which an owner claims a listing."""
    entry = await deps.services.directory.find(slug)
    return deps.show(request, visitor, "claim.html", entry=entry, values={}, errors={}, error="")


@router.post("/r/{slug}/claim")
async def claim(request: Request, deps: Deps, posted: Posted, slug: SlugPath) -> Response:
    """Store a claim until its address is confirmed."""
    entry = await deps.services.directory.find(slug)
    values = {name: posted.sent.text(name) for name in ("email", "statement")}
    try:
        await deps.services.ownerships.claim(slug, values["email"], values["statement"], posted.client)
    except ApplicationError as error:
        context = {"values": values, **explain(error)}
        return deps.show(request, posted.visitor, "claim.html", error.status, entry=entry, **context)
    return redirect_to_resource(request, slug, "claim-sent")


@router.get("/claim/confirm/{token}")
async def show_claim_confirmation(request: Request, deps: Deps, token: str) -> Response:
    """Show a button that confirms the address of a claim."""
    return deps.renderer.render(
        request,
        "confirm.html",
        title="Confirm your address",
        text="Then a moderator decides whether the listing is yours.",
        action=f"/claim/confirm/{token}",
        button="Confirm the address",
    )


@router.post("/claim/confirm/{token}")
async def confirm_claim(request: Request, deps: Deps, _sent: LinkPosted, token: str) -> Response:
    """Queue a claim for the moderators."""
    slug = await deps.services.ownerships.confirm(token)
    return deps.renderer.render(
        request,
        "done.html",
        title="Thank you",
        text="A moderator decides about your claim. You get a mail with a link to edit the listing.",
        link=path_of_resource(slug),
        link_text="Back to the resource",
    )


@router.get("/owner/{token}")
async def show_owner_form(request: Request, deps: Deps, token: str) -> Response:
    """Show a listing to its owner, to be edited."""
    listing = await deps.services.ownerships.open_listing(token)
    entry = await deps.services.directory.find(listing.resource_slug)
    return await render_owner_form(request, deps, token, entry, split_fields(entry.to_fields()))


@router.post("/owner/{token}")
async def edit_as_owner(request: Request, deps: Deps, sent: LinkPosted, token: str) -> Response:
    """Change a listing as its owner, or show all errors."""
    listing = await deps.services.ownerships.open_listing(token)
    entry = await deps.services.directory.find(listing.resource_slug)
    form = read_form(sent, CONTENT_STEPS)
    try:
        form["resource"]["logoImage"] = await replace_logo(deps, sent, form["resource"]["logoImage"])
        await deps.services.ownerships.edit(token, {**form["resource"], **form["details"]})
    except ApplicationError as error:
        return await render_owner_form(request, deps, token, entry, form, error)
    return redirect_to_resource(request, listing.resource_slug, "saved")


async def render_owner_form(
    request: Request,
    deps: Deps,
    token: str,
    entry: PublicResource,
    form: Mapping[str, Any],
    error: ApplicationError | None = None,
) -> Response:
    """Render the form of an owner."""
    values = fill_values(form, CONTENT_STEPS)
    errors = error.errors if isinstance(error, InvalidInput) else ()
    return deps.renderer.render(
        request,
        "owner.html",
        error.status if error else 200,
        entry=entry,
        token=token,
        steps=CONTENT_STEPS,
        values=values,
        errors=group_errors(errors, CONTENT_STEPS),
        error="" if error is None or isinstance(error, InvalidInput) else str(error),
        logo_preview=await preview_logo(deps, values[LOGO_PATH]),
    )


# after all others, whose paths are more special
@router.get("/r/{slug:path}")
async def redirect_plain_slug(request: Request, deps: Deps, slug: str) -> Response:
    """Redirect an address that has a slug with slashes as it is stored."""
    return redirect_for_ever(request, (await deps.services.directory.find(slug)).slug)
