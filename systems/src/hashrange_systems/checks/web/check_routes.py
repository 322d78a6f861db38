"""The pages of checks: list, details, forms and actions. They only access checks of the visitor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from hashrange import CursorInvalid
from hashrange_systems.checks.model.tier import read_tier
from hashrange_systems.checks.registry import CHECK_TYPES, name_check
from hashrange_systems.checks.schema import AnyCheck, Scheduled
from hashrange_systems.checks.service.check_input import CheckChanges, CheckInput
from hashrange_systems.checks.web.check_form import (
    ALERTS,
    fill_from,
    fill_new,
    group_check_errors,
    make_groups,
    read_check_fields,
)
from hashrange_systems.checks.web.check_list import (
    SORTS,
    describe_choices,
    group_rows,
    list_checks,
    read_query,
    select_checks,
)
from hashrange_systems.checks.web.check_page import RANGES, make_run_row, read_check_page, read_rows
from hashrange_systems.checks.web.dependencies import ChecksPages, Deps, PostedForm, SignedIn, UserForm
from hashrange_systems.checks.web.heartbeat_url import find_signal_url
from hashrange_systems.checks.web.page_renderer import Visitor
from hashrange_systems.shared.epoch import to_ms
from hashrange_systems.shared.errors import ApplicationError, InvalidInput, ResourceMissing
from hashrange_systems.shared.web.form import Group, keep_form_values, read_number
from hashrange_systems.shared.web.templating import redirect_to

ON_A_PAGE = 50
RESULTS_ON_A_PAGE = 50
SOON_MS = 5_000

router = APIRouter(include_in_schema=False)


# ── the list ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/")
async def show_checks(request: Request, deps: Deps, visitor: SignedIn, page: int = 1) -> Response:
    """Show the visitor's checks: searched, filtered, sorted, and in their groups."""
    listed = list_checks(await deps.services.checks.list_by_user(visitor.user.userid), deps.now)
    query = read_query(request.query_params)
    wanted = [each.check for each in select_checks(listed, query)]
    page = max(1, page)
    rows = await read_rows(deps.services.history, wanted[(page - 1) * ON_A_PAGE : page * ON_A_PAGE], deps.now)
    return deps.renderer.render(
        request,
        "checks.html",
        visitor,
        monitoring=await deps.services.presence.read(),
        row_groups=group_rows(rows),
        query=query,
        sorts=SORTS,
        total=len(listed),
        found=len(wanted),
        page=page,
        pages=-(-len(wanted) // ON_A_PAGE),
        **describe_choices(listed),
    )


# ── one check ────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/check/{checkid}")
async def show_check(request: Request, deps: Deps, visitor: SignedIn, checkid: str, range: str = "24h") -> Response:  # noqa: A002 - the address says range
    """Show a check with its history."""
    return await render_check(request, deps, visitor, checkid, range)


@router.get("/check/{checkid}/results")
async def show_results(request: Request, deps: Deps, visitor: SignedIn, checkid: str, after: str = "") -> Response:
    """Show a page of results, latest first; `after` is where the page before ended."""
    check = await deps.services.checks.find(visitor.user.userid, checkid)
    try:
        found = await deps.services.db.runs(checkid).page(RESULTS_ON_A_PAGE, after=after or None)
    except CursorInvalid:
        raise ResourceMissing("page of results") from None
    return deps.renderer.render(
        request,
        "results.html",
        visitor,
        name=name_check(check),
        path=f"/check/{checkid}",
        runs=[make_run_row(run) for run in found],
        after=after,
        older=found.cursor,
        days=read_tier(visitor.user.tier).result_days,
    )


async def render_check(
    request: Request,
    deps: ChecksPages,
    visitor: Visitor,
    checkid: str,
    period: str = "24h",
    error: ApplicationError | None = None,
) -> Response:
    """Render the page of a check, with an error if any."""
    check = await deps.services.checks.find(visitor.user.userid, checkid)
    context = await read_check_page(deps.services, check, period if period in RANGES else "24h")
    status = error.status if error else 200
    context |= {
        "signal_url": find_signal_url(deps.base_url, check),
        "monitoring": await deps.services.presence.read(),
    }
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


async def perform_action(request: Request, deps: ChecksPages, sent: UserForm, checkid: str, note: str) -> Response:
    """Perform an action and redirect to the check, or render its page with the error."""
    checks = deps.services.checks
    action = {"run": checks.run_now, "paused": checks.pause, "resumed": checks.resume}[note]
    try:
        done = await action(sent.visitor.user.userid, checkid)
    except ResourceMissing:
        raise
    except ApplicationError as error:
        return await render_check(request, deps, sent.visitor, checkid, error=error)
    return redirect_to(request, f"/check/{checkid}", choose_note(note, done, deps.now))


def choose_note(note: str, check: object, now: int) -> str:
    """Return the name of the message about a check that is added or resumed: it says when it runs."""
    if note not in ("added", "resumed") or not isinstance(check, Scheduled):
        return note
    if CHECK_TYPES[check.check_type].probe is None:
        return f"{note}-waiting"
    return f"{note}-later" if to_ms(check.next_run_at) > now + SOON_MS else note


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
    return redirect_to(request, f"/check/{check.checkid}", choose_note("added", check, deps.now))


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
    if fields_given["delay_ms"] == check.delay_ms or "delayMs" not in sent.form:
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


def read_seen(sent: UserForm) -> int | None:
    """Return the revision that was edited."""
    seen = read_number(sent.text("seen"))
    return seen if isinstance(seen, int) else None


def read_channels(sent: UserForm) -> list[str] | None:
    """Return the chosen channels; None for all."""
    return sent.texts("channel") if sent.text("to") == "some" else None


async def render_form(
    request: Request,
    deps: ChecksPages,
    visitor: Visitor,
    check: AnyCheck | None,
    check_type: str,
    values: dict[str, str],
    error: ApplicationError | None = None,
    sent: UserForm | None = None,
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
        return {
            "title": "Add a check",
            "action": "/new",
            "back": "/",
            "button": "Add the check",
            "offered": list(CHECK_TYPES.values()),
        }
    path = f"/check/{check.checkid}"
    return {"title": "Edit the check", "action": f"{path}/edit", "back": path, "button": "Save", "offered": ()}


def list_paths(groups: Sequence[Group]) -> list[str]:
    """Return the paths of all fields that can show an error."""
    return [field.path for group in groups for field in group.fields] + [field.path for field in ALERTS] + ["channels"]
