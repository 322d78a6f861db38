"""The page of the maintenance windows of a check."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter, Request
from pydantic import ValidationError
from starlette.responses import Response

from hashrange_systems.checks.model.maintenance_window import WINDOW
from hashrange_systems.checks.registry import name_check
from hashrange_systems.checks.schema import AnyCheck
from hashrange_systems.checks.service.check_input import CheckChanges
from hashrange_systems.checks.web.check_page import format_window
from hashrange_systems.checks.web.dependencies import ChecksPages, Deps, PostedForm, SignedIn, UserForm
from hashrange_systems.checks.web.page_renderer import Visitor
from hashrange_systems.shared.epoch import to_ms
from hashrange_systems.shared.errors import ApplicationError, FieldError, InvalidInput, ResourceMissing
from hashrange_systems.shared.web.form import Field, group_field_errors, keep_form_values, read_number
from hashrange_systems.shared.web.templating import redirect_to

WEEKLY = (
    Field(path="weekly.start", label="From", hint="02:30", help="A time of day in that zone.", short=True),
    Field(path="weekly.minutes", label="For minutes", input_type="number", hint="60", short=True),
    Field(path="weekly.zone", label="Time zone", hint="Europe/Berlin", short=True),
)
ONCE = (
    Field(path="once.start", label="From (UTC)", input_type="time", short=True),
    Field(path="once.end", label="To (UTC)", input_type="time", short=True),
)
PATHS = [field.path for field in (*WEEKLY, *ONCE)] + ["weekly.days"]

router = APIRouter(include_in_schema=False)


@router.get("/check/{checkid}/maintenance")
async def show_windows(request: Request, deps: Deps, visitor: SignedIn, checkid: str) -> Response:
    """Show the windows of a check."""
    check = await deps.services.checks.find(visitor.user.userid, checkid)
    return render_windows(request, deps, visitor, check, {"weekly.zone": "UTC"})


@router.post("/check/{checkid}/maintenance")
async def add_window(request: Request, deps: Deps, sent: PostedForm, checkid: str) -> Response:
    """Add a window, or render the form with the errors."""
    check = await deps.services.checks.find(sent.visitor.user.userid, checkid)
    windows = [*(check.maintenance or ()), read_window(sent)]
    try:
        await deps.services.checks.edit(sent.visitor.user.userid, checkid, CheckChanges(maintenance=windows))
    except ApplicationError as error:
        days = sent.texts("days")
        return render_windows(request, deps, sent.visitor, check, keep_form_values(sent.form), error, days)
    return redirect_to(request, f"/check/{checkid}/maintenance", "window-added")


@router.post("/check/{checkid}/maintenance/{number}/remove")
async def remove_window(request: Request, deps: Deps, sent: PostedForm, checkid: str, number: int) -> Response:
    """Remove a window."""
    check = await deps.services.checks.find(sent.visitor.user.userid, checkid)
    windows = list(check.maintenance or ())
    if not 0 <= number < len(windows):
        raise ResourceMissing("window")
    del windows[number]
    changes = CheckChanges(maintenance=windows or None, seen=check.revision or 0)
    await deps.services.checks.edit(sent.visitor.user.userid, checkid, changes)
    return redirect_to(request, f"/check/{checkid}/maintenance", "window-removed")


def render_windows(
    request: Request,
    deps: ChecksPages,
    visitor: Visitor,
    check: AnyCheck,
    values: Mapping[str, str],
    error: ApplicationError | None = None,
    days: list[str] | None = None,
) -> Response:
    """Render the windows, both forms and the errors."""
    errors = error.errors if isinstance(error, InvalidInput) else [FieldError("Window:", str(error))] if error else []
    field_errors, other_errors = group_field_errors(map(locate_window_error, errors), PATHS)
    return deps.renderer.render(
        request,
        "maintenance.html",
        visitor,
        error.status if error else 200,
        name=name_check(check),
        path=f"/check/{check.checkid}",
        windows=[describe_window(window) for window in check.maintenance or ()],
        weekly=WEEKLY,
        once=ONCE,
        values=values,
        days=days or [],
        field_errors=field_errors,
        other_errors=other_errors,
    )


def read_window(sent: UserForm) -> dict[str, Any]:
    """Return the window of a posted form, not yet validated."""
    if sent.text("kind") == "ONCE":
        return {"kind": "ONCE", "start": read_time(sent.text("once.start")), "end": read_time(sent.text("once.end"))}
    return {
        "kind": "WEEKLY",
        "days": [read_number(day) for day in sent.texts("days")],
        "start": sent.line("weekly.start"),
        "minutes": read_number(sent.line("weekly.minutes")),
        "zone": sent.line("weekly.zone") or "UTC",
    }


def read_time(text: str) -> int | None:
    """Parse a time of the form into milliseconds; None if it is invalid."""
    try:
        return to_ms(datetime.fromisoformat(text).replace(tzinfo=UTC))
    except ValueError:
        return None


def locate_window_error(error: FieldError) -> FieldError:
    """Return an error with the path of its form field: `maintenance.0.WEEKLY.start` becomes `weekly.start`."""
    for kind, usual in (("WEEKLY", "days"), ("ONCE", "end")):
        _, found, field = error.field.partition(f".{kind}")
        if found:
            message = "must be a time" if kind == "ONCE" and "number" in error.message else error.message
            return FieldError(f"{kind.lower()}.{field.lstrip('.') or usual}", message)
    return error


def describe_window(stored: Mapping[str, Any]) -> str:
    """Format a stored window, also one that cannot be parsed."""
    try:
        return format_window(WINDOW.validate_python(stored))
    except ValidationError:
        return "a window that cannot be read: it has no effect"
