"""The pages of checks: list, details, forms and actions. They only access checks of the visitor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from hashrange_systems.checks.model.check_type import CHECK_TYPES
from hashrange_systems.checks.model.tier import read_tier
from hashrange_systems.checks.schema import AnyCheck
from hashrange_systems.checks.service.check_input import CheckChanges, CheckInput
from hashrange_systems.checks.web.authentication import FormPost
from hashrange_systems.checks.web.check_form import (
    ALERTS,
    OFFERED,
    fill_from,
    fill_new,
    group_check_errors,
    make_groups,
    read_check_fields,
)
from hashrange_systems.checks.web.check_page import RANGES, read_check_page, read_rows
from hashrange_systems.checks.web.check_view import describe_state, tally_states
from hashrange_systems.checks.web.dependencies import Deps, PageDependencies, PostedForm, SignedIn
from hashrange_systems.checks.web.page_renderer import Visitor
from hashrange_systems.shared.errors import ApplicationError, InvalidInput, ResourceMissing
from hashrange_systems.shared.web.form import Group, keep_form_values, read_number
from hashrange_systems.shared.web.templating import redirect_to

ON_A_PAGE = 50

router = APIRouter(include_in_schema=False)


# ── the list ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/")
async def show_checks(request: Request, deps: Deps, visitor: SignedIn, show: str = "", page: int = 1) -> Response:
    """Show the visitor's checks, or those in one state."""
    checks = await deps.services.checks.list_by_user(visitor.user.userid)
    states = {check.checkid: describe_state(check, deps.now) for check in checks}
    wanted = [check for check in checks if not show or states[check.checkid].word.lower() == show]
    wanted.sort(key=lambda check: states[check.checkid].tone != "down")
    page = max(1, page)
    return deps.renderer.render(
        request,
        "checks.html",
        visitor,
        rows=await read_rows(deps.services.history, wanted[(page - 1) * ON_A_PAGE : page * ON_A_PAGE], deps.now),
        tally=tally_states(states.values()),
        total=len(checks),
        show=show[:20],
        page=page,
        pages=-(-len(wanted) // ON_A_PAGE),
    )


# ── one check ────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/check/{checkid}")
async def show_check(request: Request, deps: Deps, visitor: SignedIn, checkid: str, range: str = "24h") -> Response:  # noqa: A002 - the address says range
    """Show a check with its history."""
    return await render_check(request, deps, visitor, checkid, range)


async def render_check(
    request: Request,
    deps: PageDependencies,
    visitor: Visitor,
    checkid: str,
    period: str = "24h",
    error: ApplicationError | None = None,
) -> Response:
    """Render the page of a check, with an error if any."""
    check = await deps.services.checks.find(visitor.user.userid, checkid)
    context = await read_check_page(deps.services, check, period if period in RANGES else "24h")
    status = error.status if error else 200
    return deps.renderer.render(request, "check.html", visitor, status, error=str(error or ""), **context)


@router.post("/check/{checkid}/run")
async def run_check(request: Request, deps: Deps, sent: PostedForm, checkid: str) -> Response:
    """Run a check at once."""
    return await perform_action(request, deps, sent, checkid, "run")


@router.post("/check/{checkid}/pause")
async def pause_check(request: Request, deps: Deps, sent: PostedForm, checkid: str) -> Response:
    """Pause a check."""
    return await perform_action(request, deps, sent, checkid, "paused")


@router.post("/check/{checkid}/resume")
async def resume_check(request: Request, deps: Deps, sent: PostedForm, checkid: str) -> Response:
    """Resume a check."""
    return await perform_action(request, deps, sent, checkid, "resumed")


async def perform_action(request: Request, deps: PageDependencies, sent: FormPost, checkid: str, note: str) -> Response:
    """Perform an action and redirect to the check, or render its page with the error."""
    checks = deps.services.checks
    action = {"run": checks.run_now, "paused": checks.pause, "resumed": checks.resume}[note]
    try:
        await action(sent.visitor.user.userid, checkid)
    except ResourceMissing:
        raise
    except ApplicationError as error:
        return await render_check(request, deps, sent.visitor, checkid, error=error)
    return redirect_to(request, f"/check/{checkid}", note)


@router.post("/check/{checkid}/delete")
async def delete_check(request: Request, deps: Deps, sent: PostedForm, checkid: str) -> Response:
    """Delete a check and its history."""
    await deps.services.checks.delete(sent.visitor.user.userid, checkid)
    return redirect_to(request, "/", "deleted")


# ── adding and editing ───────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/new")
async def show_new(request: Request, deps: Deps, visitor: SignedIn, type: str = "AVAILABILITY") -> Response:  # noqa: A002 - the address says type
    """Show the form of a new check."""
    check_type = type if type in CHECK_TYPES else "AVAILABILITY"
    return await render_form(request, deps, visitor, None, check_type, fill_new(check_type))


@router.post("/new")
async def add_check(request: Request, deps: Deps, sent: PostedForm) -> Response:
    """Add a check, or render the form with all errors."""
    check_type = sent.text("type") if sent.text("type") in CHECK_TYPES else "AVAILABILITY"
    groups = make_groups(check_type, read_tier(sent.visitor.user.tier))
    fields_given = read_check_fields(check_type, groups, keep_form_values(sent.form), read_channels(sent))
    try:
        check = await deps.services.checks.create(
            sent.visitor.user.userid, CheckInput(check_type=check_type, **fields_given)
        )
    except ApplicationError as error:
        return await render_form(
            request, deps, sent.visitor, None, check_type, keep_form_values(sent.form), error, sent
        )
    return redirect_to(request, f"/check/{check.checkid}", "added")


@router.get("/check/{checkid}/edit")
async def show_edit(request: Request, deps: Deps, visitor: SignedIn, checkid: str) -> Response:
    """Show the form of a check."""
    check = await deps.services.checks.find(visitor.user.userid, checkid)
    if check.check_type not in CHECK_TYPES:
        raise ResourceMissing("form: this check is of a type that can be seen and deleted")
    return await render_form(request, deps, visitor, check, check.check_type, fill_from(check))


@router.post("/check/{checkid}/edit")
async def save_check(request: Request, deps: Deps, sent: PostedForm, checkid: str) -> Response:
    """Change a check, or render the form with all errors."""
    check = await deps.services.checks.find(sent.visitor.user.userid, checkid)
    if check.check_type not in CHECK_TYPES:
        raise ResourceMissing("form")
    groups = make_groups(check.check_type, read_tier(sent.visitor.user.tier), check.delay_ms)
    fields_given = read_check_fields(check.check_type, groups, keep_form_values(sent.form), read_channels(sent))
    if fields_given["delay_ms"] == check.delay_ms:
        del fields_given["delay_ms"]  # keep a delay that the tier no longer allows
    try:
        await deps.services.checks.edit(
            sent.visitor.user.userid, checkid, CheckChanges(seen=read_seen(sent), **fields_given)
        )
    except ApplicationError as error:
        return await render_form(
            request, deps, sent.visitor, check, check.check_type, keep_form_values(sent.form), error, sent
        )
    return redirect_to(request, f"/check/{checkid}", "saved")


def read_seen(sent: FormPost) -> int | None:
    """Return the revision that was edited."""
    seen = read_number(sent.text("seen"))
    return seen if isinstance(seen, int) else None


def read_channels(sent: FormPost) -> list[str] | None:
    """Return the chosen channels; None for all."""
    return sent.texts("channel") if sent.text("to") == "some" else None


async def render_form(
    request: Request,
    deps: PageDependencies,
    visitor: Visitor,
    check: AnyCheck | None,
    check_type: str,
    values: dict[str, str],
    error: ApplicationError | None = None,
    sent: FormPost | None = None,
) -> Response:
    """Render the form of a check with its values and errors."""
    groups = make_groups(check_type, read_tier(visitor.user.tier), check.delay_ms if check else None)
    invalid = error.errors if isinstance(error, InvalidInput) else ()
    field_errors, other_errors = group_check_errors(invalid, list_paths(groups))
    chosen = read_channels(sent) if sent else check.channels if check else None
    seen = sent.text("seen") if sent else str(check.revision or 0) if check else ""
    return deps.renderer.render(
        request,
        "edit.html",
        visitor,
        error.status if error else 200,
        check_type=check_type,
        groups=groups,
        alerts=ALERTS,
        values=values,
        field_errors=field_errors,
        other_errors=other_errors,
        error="" if isinstance(error, InvalidInput) else str(error or ""),
        channels=await deps.services.channels.list_by_user(visitor.user.userid),
        chosen=chosen,
        seen=seen,
        **name_form(check),
    )


def name_form(check: AnyCheck | None) -> dict[str, Any]:
    """Return the title, the action and the links of the form."""
    if check is None:
        return {"title": "Add a check", "action": "/new", "back": "/", "button": "Add the check", "offered": OFFERED}
    path = f"/check/{check.checkid}"
    return {"title": "Edit the check", "action": f"{path}/edit", "back": path, "button": "Save", "offered": ()}


def list_paths(groups: Sequence[Group]) -> list[str]:
    """Return the paths of all fields that can show an error."""
    return [field.path for group in groups for field in group.fields] + [field.path for field in ALERTS] + ["channels"]
