"""The pages of checks: the list, one check, adding, editing, and what can be done to it. All is the visitor's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from hashrange_systems.checks.errors import ChecksError, NotThere
from hashrange_systems.checks.model.kind import KINDS
from hashrange_systems.checks.model.refusal import InputRefused
from hashrange_systems.checks.model.tier import read_tier
from hashrange_systems.checks.schema import AnyCheck
from hashrange_systems.checks.service.draft import Changes, Draft
from hashrange_systems.checks.web.desk import Desk, Here, Posted, SignedIn
from hashrange_systems.checks.web.door import Sent
from hashrange_systems.checks.web.form import (
    ALERTS,
    OFFERED,
    Group,
    fill_from,
    fill_new,
    keep_sent,
    make_groups,
    read_number,
    read_wishes,
    sort_faults,
)
from hashrange_systems.checks.web.painter import Visitor, go
from hashrange_systems.checks.web.picture import RANGES, read_picture, read_rows
from hashrange_systems.checks.web.view import tally_states, tell_state

ON_A_PAGE = 50

router = APIRouter(include_in_schema=False)


# ── the list ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/")
async def show_checks(request: Request, desk: Here, visitor: SignedIn, show: str = "", page: int = 1) -> Response:
    """Show the visitor's checks, or those in one state."""
    checks = await desk.services.ledger.of_user(visitor.user.userid)
    states = {check.checkid: tell_state(check, desk.now) for check in checks}
    wanted = [check for check in checks if not show or states[check.checkid].word.lower() == show]
    wanted.sort(key=lambda check: states[check.checkid].tone != "down")
    page = max(1, page)
    return desk.painter.show(
        request,
        "checks.html",
        visitor,
        rows=await read_rows(desk.services.history, wanted[(page - 1) * ON_A_PAGE : page * ON_A_PAGE], desk.now),
        tally=tally_states(states.values()),
        total=len(checks),
        show=show[:20],
        page=page,
        pages=-(-len(wanted) // ON_A_PAGE),
    )


# ── one check ────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/check/{checkid}")
async def show_check(request: Request, desk: Here, visitor: SignedIn, checkid: str, range: str = "24h") -> Response:  # noqa: A002 - the address says range
    """Show a check with its past."""
    return await draw_check(request, desk, visitor, checkid, range)


async def draw_check(
    request: Request,
    desk: Desk,
    visitor: Visitor,
    checkid: str,
    period: str = "24h",
    trouble: ChecksError | None = None,
) -> Response:
    """Answer with the page of a check, and with what went wrong."""
    check = await desk.services.ledger.find(visitor.user.userid, checkid)
    picture = await read_picture(desk.services, check, period if period in RANGES else "24h")
    status = trouble.status if trouble else 200
    return desk.painter.show(request, "check.html", visitor, status, trouble=str(trouble or ""), **picture)


@router.post("/check/{checkid}/run")
async def run_check(request: Request, desk: Here, sent: Posted, checkid: str) -> Response:
    """Run a check at once."""
    return await do(request, desk, sent, checkid, "run")


@router.post("/check/{checkid}/pause")
async def pause_check(request: Request, desk: Here, sent: Posted, checkid: str) -> Response:
    """Pause a check."""
    return await do(request, desk, sent, checkid, "paused")


@router.post("/check/{checkid}/resume")
async def resume_check(request: Request, desk: Here, sent: Posted, checkid: str) -> Response:
    """Resume a check."""
    return await do(request, desk, sent, checkid, "resumed")


async def do(request: Request, desk: Desk, sent: Sent, checkid: str, note: str) -> Response:
    """Do something to a check and show it again, or say on its page why it cannot be done."""
    ledger = desk.services.ledger
    act = {"run": ledger.run_now, "paused": ledger.pause, "resumed": ledger.resume}[note]
    try:
        await act(sent.visitor.user.userid, checkid)
    except NotThere:
        raise
    except ChecksError as trouble:
        return await draw_check(request, desk, sent.visitor, checkid, trouble=trouble)
    return go(request, f"/check/{checkid}", note)


@router.post("/check/{checkid}/delete")
async def delete_check(request: Request, desk: Here, sent: Posted, checkid: str) -> Response:
    """Delete a check with everything kept about it."""
    await desk.services.ledger.delete(sent.visitor.user.userid, checkid)
    return go(request, "/", "deleted")


# ── adding and editing ───────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/new")
async def show_new(request: Request, desk: Here, visitor: SignedIn, type: str = "AVAILABILITY") -> Response:  # noqa: A002 - the address says type
    """Show the form of a new check."""
    check_type = type if type in KINDS else "AVAILABILITY"
    return await draw_form(request, desk, visitor, None, check_type, fill_new(check_type))


@router.post("/new")
async def add_check(request: Request, desk: Here, sent: Posted) -> Response:
    """Add a check, or show the form again with every fault."""
    check_type = sent.text("type") if sent.text("type") in KINDS else "AVAILABILITY"
    groups = make_groups(check_type, read_tier(sent.visitor.user.tier))
    wishes = read_wishes(check_type, groups, keep_sent(sent.form), read_channels(sent))
    try:
        check = await desk.services.ledger.create(sent.visitor.user.userid, Draft(check_type=check_type, **wishes))
    except ChecksError as trouble:
        return await draw_form(request, desk, sent.visitor, None, check_type, keep_sent(sent.form), trouble, sent)
    return go(request, f"/check/{check.checkid}", "added")


@router.get("/check/{checkid}/edit")
async def show_edit(request: Request, desk: Here, visitor: SignedIn, checkid: str) -> Response:
    """Show the form of a check."""
    check = await desk.services.ledger.find(visitor.user.userid, checkid)
    if check.check_type not in KINDS:
        raise NotThere("form: this check is of a type that can be seen and deleted")
    return await draw_form(request, desk, visitor, check, check.check_type, fill_from(check))


@router.post("/check/{checkid}/edit")
async def save_check(request: Request, desk: Here, sent: Posted, checkid: str) -> Response:
    """Change a check, or show the form again with every fault."""
    check = await desk.services.ledger.find(sent.visitor.user.userid, checkid)
    if check.check_type not in KINDS:
        raise NotThere("form")
    groups = make_groups(check.check_type, read_tier(sent.visitor.user.tier), check.delay_ms)
    wishes = read_wishes(check.check_type, groups, keep_sent(sent.form), read_channels(sent))
    if wishes["delay_ms"] == check.delay_ms:
        del wishes["delay_ms"]  # one that the tier no longer allows may stay
    try:
        await desk.services.ledger.edit(sent.visitor.user.userid, checkid, Changes(seen=read_seen(sent), **wishes))
    except ChecksError as trouble:
        return await draw_form(
            request, desk, sent.visitor, check, check.check_type, keep_sent(sent.form), trouble, sent
        )
    return go(request, f"/check/{checkid}", "saved")


def read_seen(sent: Sent) -> int | None:
    """Return the revision that the editor looked at."""
    seen = read_number(sent.text("seen"))
    return seen if isinstance(seen, int) else None


def read_channels(sent: Sent) -> list[str] | None:
    """Return the channels that were chosen; None for all."""
    return sent.texts("channel") if sent.text("to") == "some" else None


async def draw_form(
    request: Request,
    desk: Desk,
    visitor: Visitor,
    check: AnyCheck | None,
    check_type: str,
    values: dict[str, str],
    trouble: ChecksError | None = None,
    sent: Sent | None = None,
) -> Response:
    """Answer with the form of a check, what it holds, and what is wrong with that."""
    groups = make_groups(check_type, read_tier(visitor.user.tier), check.delay_ms if check else None)
    wrong, rest = sort_faults(trouble.faults if isinstance(trouble, InputRefused) else (), list_paths(groups))
    chosen = read_channels(sent) if sent else check.channels if check else None
    seen = sent.text("seen") if sent else str(check.revision or 0) if check else ""
    return desk.painter.show(
        request,
        "edit.html",
        visitor,
        trouble.status if trouble else 200,
        check_type=check_type,
        groups=groups,
        alerts=ALERTS,
        values=values,
        wrong=wrong,
        rest=rest,
        trouble="" if isinstance(trouble, InputRefused) else str(trouble or ""),
        channels=await desk.services.channels.of_user(visitor.user.userid),
        chosen=chosen,
        seen=seen,
        **name_form(check),
    )


def name_form(check: AnyCheck | None) -> dict[str, Any]:
    """Return how the form is called, and where it leads."""
    if check is None:
        return {"title": "Add a check", "action": "/new", "back": "/", "button": "Add the check", "offered": OFFERED}
    path = f"/check/{check.checkid}"
    return {"title": "Edit the check", "action": f"{path}/edit", "back": path, "button": "Save", "offered": ()}


def list_paths(groups: Sequence[Group]) -> list[str]:
    """Return the paths of all fields that a fault can be shown at."""
    return [field.path for group in groups for field in group.fields] + [field.path for field in ALERTS] + ["channels"]
