"""Pages of two-factor sign-in: turn it on with a QR code, renew the recovery codes, turn it off; end all sessions."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import segno
from fastapi import APIRouter, Request
from markupsafe import Markup
from starlette.responses import Response

from hashrange_systems.checks.web.dependencies import ChecksPages, Deps, PostedForm, SignedIn, UserForm
from hashrange_systems.checks.web.page_renderer import Visitor
from hashrange_systems.shared.accounts.one_time_code import make_uri
from hashrange_systems.shared.errors import ApplicationError
from hashrange_systems.shared.web.templating import redirect_to

router = APIRouter(prefix="/account", include_in_schema=False)


@router.get("/two-factor")
async def show_two_factor(request: Request, deps: Deps, visitor: SignedIn) -> Response:
    """Show whether it is on, or that it can be turned on."""
    return await render_two_factor(request, deps, visitor)


@router.post("/two-factor/begin")
async def begin(request: Request, deps: Deps, sent: PostedForm) -> Response:
    """Make a secret and show it."""
    return await act(request, deps, sent, "begin")


@router.post("/two-factor/confirm")
async def confirm(request: Request, deps: Deps, sent: PostedForm) -> Response:
    """Turn it on with a code; show the recovery codes, only once."""
    return await act(request, deps, sent, "confirm")


@router.post("/two-factor/recovery")
async def renew(request: Request, deps: Deps, sent: PostedForm) -> Response:
    """Make new recovery codes and show them, only once."""
    return await act(request, deps, sent, "renew")


@router.post("/two-factor/off")
async def turn_off(request: Request, deps: Deps, sent: PostedForm) -> Response:
    """Turn it off with a code."""
    try:
        await deps.services.second_factors.turn_off(sent.visitor.user.userid, sent.text("code"))
    except ApplicationError as error:
        return await render_two_factor(request, deps, sent.visitor, error)
    return redirect_to(request, "/account", "two-factor-off")


@router.post("/sign-out-everywhere")
async def sign_out_everywhere(request: Request, deps: Deps, sent: PostedForm) -> Response:
    """End all sessions of the user."""
    await deps.services.ended_sessions.end_all(sent.visitor.user.userid)
    return deps.renderer.redirect(request, deps.authenticator.start_session("", ""), "/sign-in")


async def act(request: Request, deps: ChecksPages, sent: UserForm, step: str) -> Response:
    """Take a step, and render the page with the codes that it made, or with the error."""
    factors, userid = deps.services.second_factors, sent.visitor.user.userid
    codes: list[str] = []
    try:
        if step == "begin":
            await factors.begin(userid)
        elif step == "confirm":
            codes = await factors.confirm(userid, sent.text("code"))
        else:
            codes = await factors.renew_recovery_codes(userid, sent.text("code"))
    except ApplicationError as error:
        return await render_two_factor(request, deps, sent.visitor, error)
    return await render_two_factor(request, deps, sent.visitor, codes=codes)


async def render_two_factor(
    request: Request,
    deps: ChecksPages,
    visitor: Visitor,
    error: ApplicationError | None = None,
    codes: list[str] | None = None,
) -> Response:
    """Render the page in the state that two-factor sign-in is in."""
    found = await deps.services.second_factors.find(visitor.user.userid)
    context: dict[str, Any] = {"secret": None, "qr_code": None}
    if found is not None and found.confirmed_at is None:
        context = {
            "secret": found.secret,
            "qr_code": draw_qr_code(make_uri(found.secret, visitor.user.email, "Checks")),
        }
    return deps.renderer.render(
        request,
        "two_factor.html",
        visitor,
        error.status if error else 200,
        factor=found,
        codes=codes or [],
        error=str(error or ""),
        **context,
    )


def draw_qr_code(uri: str) -> Markup:
    """Return a QR code as SVG."""
    picture = BytesIO()
    segno.make(uri, error="m").save(
        picture, kind="svg", scale=5, border=3, xmldecl=False, svgns=True, dark="#000", light="#fff", title="QR code"
    )
    return Markup(picture.getvalue().decode())  # noqa: S704 - segno writes paths only
