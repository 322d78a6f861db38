"""The page of a check's maintenance windows: added and removed one at a time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter, Request
from pydantic import ValidationError
from starlette.responses import Response

from hashrange_systems.checks.errors import ChecksError, NotThere
from hashrange_systems.checks.model.maintenance import WINDOW
from hashrange_systems.checks.model.refusal import Fault, InputRefused
from hashrange_systems.checks.schema import AnyCheck
from hashrange_systems.checks.service.draft import Changes
from hashrange_systems.checks.service.moment import to_ms
from hashrange_systems.checks.web.desk import Desk, Here, Posted, SignedIn
from hashrange_systems.checks.web.door import Sent
from hashrange_systems.checks.web.form import Field, keep_sent, read_number, sort_faults
from hashrange_systems.checks.web.painter import Visitor, go
from hashrange_systems.checks.web.picture import tell_window
from hashrange_systems.checks.web.view import name_check

WEEKLY = (
    Field(path="weekly.start", label="From", hint="02:30", help="A time of day in that zone.", short=True),
    Field(path="weekly.minutes", label="For minutes", kind="number", hint="60", short=True),
    Field(path="weekly.zone", label="Time zone", hint="Europe/Berlin", short=True),
)
ONCE = (
    Field(path="once.start", label="From (UTC)", kind="time", short=True),
    Field(path="once.end", label="To (UTC)", kind="time", short=True),
)
PATHS = [field.path for field in (*WEEKLY, *ONCE)] + ["weekly.days"]

router = APIRouter(include_in_schema=False)


@router.get("/check/{checkid}/maintenance")
async def show_windows(request: Request, desk: Here, visitor: SignedIn, checkid: str) -> Response:
    """Show the windows of a check."""
    check = await desk.services.ledger.find(visitor.user.userid, checkid)
    return draw_windows(request, desk, visitor, check, {"weekly.zone": "UTC"})


@router.post("/check/{checkid}/maintenance")
async def add_window(request: Request, desk: Here, sent: Posted, checkid: str) -> Response:
    """Add a window, or show the form again with what is wrong."""
    check = await desk.services.ledger.find(sent.visitor.user.userid, checkid)
    windows = [*(check.maintenance or ()), read_window(sent)]
    try:
        await desk.services.ledger.edit(sent.visitor.user.userid, checkid, Changes(maintenance=windows))
    except ChecksError as trouble:
        days = sent.texts("days")
        return draw_windows(request, desk, sent.visitor, check, keep_sent(sent.form), trouble, days)
    return go(request, f"/check/{checkid}/maintenance", "window-added")


@router.post("/check/{checkid}/maintenance/{number}/remove")
async def remove_window(request: Request, desk: Here, sent: Posted, checkid: str, number: int) -> Response:
    """Remove a window."""
    check = await desk.services.ledger.find(sent.visitor.user.userid, checkid)
    windows = list(check.maintenance or ())
    if not 0 <= number < len(windows):
        raise NotThere("window")
    del windows[number]
    changes = Changes(maintenance=windows or None, seen=check.revision or 0)
    await desk.services.ledger.edit(sent.visitor.user.userid, checkid, changes)
    return go(request, f"/check/{checkid}/maintenance", "window-removed")


def draw_windows(
    request: Request,
    desk: Desk,
    visitor: Visitor,
    check: AnyCheck,
    values: Mapping[str, str],
    trouble: ChecksError | None = None,
    days: list[str] | None = None,
) -> Response:
    """Answer with the windows, both forms, and what is wrong."""
    faults = (
        trouble.faults if isinstance(trouble, InputRefused) else [Fault("Window:", str(trouble))] if trouble else []
    )
    wrong, rest = sort_faults(map(place_fault, faults), PATHS)
    return desk.painter.show(
        request,
        "maintenance.html",
        visitor,
        trouble.status if trouble else 200,
        name=name_check(check),
        path=f"/check/{check.checkid}",
        windows=[describe_window(window) for window in check.maintenance or ()],
        weekly=WEEKLY,
        once=ONCE,
        values=values,
        days=days or [],
        wrong=wrong,
        rest=rest,
    )


def read_window(sent: Sent) -> dict[str, Any]:
    """Return the window that a form asks for; nothing in it has been tried."""
    if sent.text("kind") == "ONCE":
        return {"kind": "ONCE", "start": read_time(sent.text("once.start")), "end": read_time(sent.text("once.end"))}
    return {
        "kind": "WEEKLY",
        "days": [read_number(day) for day in sent.texts("days")],
        "start": sent.text("weekly.start").strip(),
        "minutes": read_number(sent.text("weekly.minutes").strip()),
        "zone": sent.text("weekly.zone").strip() or "UTC",
    }


def read_time(text: str) -> int | None:
    """Return a time of the form in milliseconds; None for what is none."""
    try:
        return to_ms(datetime.fromisoformat(text).replace(tzinfo=UTC))
    except ValueError:
        return None


def place_fault(fault: Fault) -> Fault:
    """Return a fault of a window under the path of its field: `maintenance.0.WEEKLY.start` is at `weekly.start`."""
    for kind, usual in (("WEEKLY", "days"), ("ONCE", "end")):
        _, found, field = fault.field.partition(f".{kind}")
        if found:
            message = "must be a time" if kind == "ONCE" and "number" in fault.message else fault.message
            return Fault(f"{kind.lower()}.{field.lstrip('.') or usual}", message)
    return fault


def describe_window(stored: Mapping[str, Any]) -> str:
    """Return a stored window in words, also one that cannot be read."""
    try:
        return tell_window(WINDOW.validate_python(stored))
    except ValidationError:
        return "a window that cannot be read: it has no effect"
