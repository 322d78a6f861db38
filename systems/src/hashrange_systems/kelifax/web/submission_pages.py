"""The submission form in steps, its confirmation, and the status page of the submitter. No step needs JavaScript."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from hashrange_systems.kelifax.errors import AlreadyListed
from hashrange_systems.kelifax.model.draft import parse_draft, split_fields
from hashrange_systems.kelifax.service.submissions import SubmissionStatus
from hashrange_systems.kelifax.web.dependencies import Deps, Guest, LinkPosted, Posted, VisitorPost
from hashrange_systems.kelifax.web.submission_form import (
    CONTENT_STEPS,
    STEPS,
    errors_until,
    fill_values,
    find_step,
    group_errors,
    read_form,
)
from hashrange_systems.kelifax.web.visitor import Visitor
from hashrange_systems.shared.errors import ApplicationError, FieldError, InvalidInput, ResourceMissing
from hashrange_systems.shared.web.posted_form import PostedForm
from hashrange_systems.shared.web.templating import redirect_to

LOGO_PATH = "resource.logoImage"

router = APIRouter(include_in_schema=False)


# ── the form ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/submit")
async def show_form(request: Request, deps: Deps, visitor: Guest) -> Response:
    """Show the first step."""
    return await render_step(request, deps, visitor, {}, 0)


@router.post("/submit")
async def post_form(request: Request, deps: Deps, posted: Posted) -> Response:
    """Go a step on or back, or send the form; show all errors at once."""
    sent = posted.sent
    step = int(sent.text("step")) if sent.text("step") in {"0", "1", "2"} else 0
    form = read_form(sent)
    errors = await store_logo(deps, posted, form)
    go = sent.text("go")
    if go == "back":
        return await render_step(request, deps, posted.visitor, form, max(0, step - 1))
    errors += find_errors(form)
    if go != "send":
        errors = errors_until(errors, step)
    if errors:
        shown = min(find_step(error.field) for error in errors)
        return await render_step(request, deps, posted.visitor, form, shown, 422, errors=errors)
    if go != "send":
        return await go_on(request, deps, posted.visitor, form, step)
    return await send(request, deps, posted, form)


async def store_logo(deps: Deps, posted: VisitorPost, form: dict[str, dict[str, Any]]) -> list[FieldError]:
    """Store a logo that came with the form, or check the one that came before; return what is wrong with it."""
    content = posted.sent.file("logo")
    try:
        if content is not None:
            form["resource"]["logoImage"] = (await deps.services.logos.upload(content, posted.client)).name
        elif form["resource"]["logoImage"] and not await deps.services.logos.exists(form["resource"]["logoImage"]):
            form["resource"]["logoImage"] = None
            return [FieldError(LOGO_PATH, "must be uploaded again")]
    except InvalidInput as error:
        form["resource"]["logoImage"] = None
        return list(error.errors)
    except ApplicationError as error:
        return [FieldError(LOGO_PATH, f"could not be stored: {error}")]
    return []


def find_errors(form: Mapping[str, Any]) -> list[FieldError]:
    """Return everything that is wrong with a form."""
    try:
        parse_draft(form)
    except InvalidInput as error:
        return list(error.errors)
    return []


async def go_on(request: Request, deps: Deps, visitor: Visitor, form: dict[str, dict[str, Any]], step: int) -> Response:
    """Show the next step; after the first one with what the resource may duplicate."""
    found: Sequence[Any] = ()
    if step == 0:
        resource = form["resource"]
        found = await deps.services.duplicates.look_up(resource["resourceName"], resource["resourceUrl"])
        if any(each.likeness == "same URL" for each in found):
            return await render_step(request, deps, visitor, form, 0, 409, duplicates=found)
    return await render_step(request, deps, visitor, form, min(step + 1, len(STEPS) - 1), duplicates=found)


async def send(request: Request, deps: Deps, posted: VisitorPost, form: dict[str, dict[str, Any]]) -> Response:
    """Submit the form, or show why it is not taken."""
    different = posted.sent.text("different") == "on"
    last = len(STEPS) - 1
    try:
        receipt = await deps.services.submissions.submit(
            form, posted.client, posted.sent.text("proof") or None, different=different
        )
    except InvalidInput as error:
        shown = min(find_step(each.field) for each in error.errors)
        return await render_step(request, deps, posted.visitor, form, shown, 422, errors=error.errors)
    except AlreadyListed as error:
        return await render_step(
            request,
            deps,
            posted.visitor,
            form,
            last,
            409,
            different=different,
            existing=error.existing,
            cause=error.cause,
            suggestion=error.suggestion,
        )
    except ApplicationError as error:
        return await render_step(
            request, deps, posted.visitor, form, last, error.status, error=str(error), different=different
        )
    return redirect_to(request, f"/status/{receipt.token}")


async def render_step(
    request: Request,
    deps: Deps,
    visitor: Visitor,
    form: Mapping[str, Any],
    step: int,
    status: int = 200,
    *,
    errors: Sequence[FieldError] = (),
    **context: Any,
) -> Response:
    """Render a step with the values of all of them."""
    values = fill_values(form)
    usual = {"error": "", "existing": None, "cause": "", "suggestion": None, "different": False, "duplicates": ()}
    return deps.show(
        request,
        visitor,
        "submit.html",
        status,
        steps=STEPS,
        step=step,
        values=values,
        errors=group_errors(errors),
        wrong_steps={find_step(error.field) for error in errors},
        proof=deps.services.proofs.make_challenge() if step == len(STEPS) - 1 else None,
        logo_preview=await preview_logo(deps, values[LOGO_PATH]),
        **(usual | context),
    )


async def preview_logo(deps: Deps, name: str | None) -> str:
    """Return an uploaded logo as a data URL: it has no address of its own before its resource is approved."""
    content = await deps.services.logos.read(name) if name else None
    return f"data:image/png;base64,{base64.b64encode(content).decode()}" if content else ""


@router.get("/submit/duplicates")
async def show_duplicates(request: Request, deps: Deps, name: str = "", url: str = "") -> Response:
    """Return what a resource may duplicate as a part of a page, while somebody types."""
    known = len(name.strip()) >= 3 or "://" in url
    found = await deps.services.duplicates.look_up(name[:100], url[:2000]) if known else ()
    return deps.renderer.render(request, "duplicates.html", duplicates=found)


# ── confirmation and status ──────────────────────────────────────────────────────────────────────────────────────────
@router.get("/submit/confirm/{token}")
async def show_confirmation(request: Request, deps: Deps, token: str) -> Response:
    """Show a button: opening the link alone, as mail scanners do, confirms nothing."""
    return deps.renderer.render(
        request,
        "confirm.html",
        title="Confirm your submission",
        text="Then it is put into the moderators' queue.",
        action=f"/submit/confirm/{token}",
        button="Confirm the submission",
    )


@router.post("/submit/confirm/{token}")
async def confirm(request: Request, deps: Deps, _sent: LinkPosted, token: str) -> Response:
    """Confirm a submission and show its status."""
    receipt = await deps.services.submissions.confirm(token)
    return redirect_to(request, f"/status/{receipt.token}")


@router.get("/status/{token}")
async def show_status(request: Request, deps: Deps, token: str) -> Response:
    """Show where a submission stands, to who has its link."""
    return await render_status(request, deps, token, await deps.services.submissions.status(token))


async def render_status(
    request: Request,
    deps: Deps,
    token: str,
    status: SubmissionStatus,
    *,
    form: Mapping[str, Any] | None = None,
    error: ApplicationError | None = None,
) -> Response:
    """Render the status, with the form of a resubmission if the link allows one."""
    given = form or (split_fields(status.form) if status.form else None)
    values = fill_values(given, CONTENT_STEPS) if given else {}
    errors = error.errors if isinstance(error, InvalidInput) else ()
    return deps.renderer.render(
        request,
        "status.html",
        error.status if error else 200,
        submission=status,
        token=token,
        steps=CONTENT_STEPS if values else (),
        values=values,
        errors=group_errors(errors, CONTENT_STEPS),
        error="" if isinstance(error, InvalidInput) or error is None else str(error),
        logo_preview=await preview_logo(deps, values.get(LOGO_PATH)),
    )


@router.post("/status/{token}")
async def resubmit(request: Request, deps: Deps, sent: LinkPosted, token: str) -> Response:
    """Submit a rejected resource again, or show all errors."""
    status = await deps.services.submissions.status(token)
    if status.form is None:
        raise ResourceMissing("form: only a rejected submission can be changed, with the link of the mail")
    form = read_form(sent, CONTENT_STEPS)
    try:
        form["resource"]["logoImage"] = await replace_logo(deps, sent, form["resource"]["logoImage"])
        receipt = await deps.services.submissions.resubmit(token, form)
    except ApplicationError as error:
        return await render_status(request, deps, token, status, form=form, error=error)
    return redirect_to(request, f"/status/{receipt.token}")


async def replace_logo(deps: Deps, sent: PostedForm, current: str | None) -> str | None:
    """Return the name of the logo that came with a form, or of the one that was there."""
    content = sent.file("logo")
    return (await deps.services.logos.upload(content)).name if content is not None else current
