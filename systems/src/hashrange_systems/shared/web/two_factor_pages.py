"""The pages of two-factor sign-in: turn it on with a QR code, renew the recovery codes, turn it off."""

from __future__ import annotations

from io import BytesIO

import segno
from fastapi import APIRouter, Request
from markupsafe import Markup
from starlette.responses import Response

from hashrange_systems.shared.accounts.one_time_code import make_uri
from hashrange_systems.shared.accounts.schema import SecondFactor
from hashrange_systems.shared.errors import ApplicationError
from hashrange_systems.shared.web.account_dependencies import (
    AccountDeps,
    AccountForm,
    Deps,
    Posted,
    SignedIn,
    Visitor,
    name_member,
    require_offer,
)
from hashrange_systems.shared.web.account_pages import find_page
from hashrange_systems.shared.web.templating import redirect_to

router = APIRouter(prefix="/account/two-factor", include_in_schema=False, dependencies=[require_offer("second_factor")])


@router.get("")
async def show_two_factor(request: Request, deps: Deps, visitor: SignedIn) -> Response:
    """Show whether it is on, or that it can be turned on."""
    return await render_two_factor(request, deps, visitor)


@router.post("/begin")
async def begin(request: Request, deps: Deps, sent: Posted) -> Response:
    """Make a secret and show it."""
    return await act(request, deps, sent, "begin")


@router.post("/confirm")
async def confirm(request: Request, deps: Deps, sent: Posted) -> Response:
    """Turn it on with a code; show the recovery codes, only once."""
    return await act(request, deps, sent, "confirm")


@router.post("/recovery")
async def renew(request: Request, deps: Deps, sent: Posted) -> Response:
    """Make new recovery codes and show them, only once."""
    return await act(request, deps, sent, "renew")


@router.post("/off")
async def turn_off(request: Request, deps: Deps, sent: Posted) -> Response:
    """Turn it off with a code."""
    try:
        await deps.services.accounts.factors.turn_off(sent.visitor.member, sent.text("code"))
    except ApplicationError as error:
        return await render_two_factor(request, deps, sent.visitor, error)
    return redirect_to(request, find_page(deps), "two-factor-off")


async def act(request: Request, deps: AccountDeps, sent: AccountForm, step: str) -> Response:
    """Take a step, and render the page with the codes that it made, or with the error."""
    factors, member = deps.services.accounts.factors, sent.visitor.member
    codes: list[str] = []
    try:
        if step == "begin":
            await factors.begin(member)
        elif step == "confirm":
            codes = await factors.confirm(member, sent.text("code"))
        else:
            codes = await factors.renew_recovery_codes(member, sent.text("code"))
    except ApplicationError as error:
        return await render_two_factor(request, deps, sent.visitor, error)
    return await render_two_factor(request, deps, sent.visitor, codes=codes)


async def render_two_factor(
    request: Request,
    deps: AccountDeps,
    visitor: Visitor,
    error: ApplicationError | None = None,
    codes: list[str] | None = None,
) -> Response:
    """Render the page in the state that two-factor sign-in is in."""
    found = await deps.services.accounts.factors.find(visitor.member)
    unconfirmed = found if found is not None and found.confirmed_at is None else None
    page = deps.renderer.render(
        request,
        "two_factor.html",
        visitor,
        error.status if error else 200,
        at=deps.offers.prefix,
        factor=found,
        codes=codes or [],
        error=str(error or ""),
        secret=unconfirmed.secret if unconfirmed else None,
        qr_code=await draw_secret(deps, visitor, unconfirmed) if unconfirmed else None,
    )
    page.headers.update(error.headers if error else {})
    return page


async def draw_secret(deps: AccountDeps, visitor: Visitor, factor: SecondFactor) -> Markup:
    """Return the QR code that an authenticator app reads."""
    return draw_qr_code(make_uri(factor.secret, await name_member(deps, visitor), deps.offers.issuer))


def draw_qr_code(uri: str) -> Markup:
    """Return a QR code as SVG."""
    picture = BytesIO()
    segno.make(uri, error="m").save(
        picture, kind="svg", scale=5, border=3, xmldecl=False, svgns=True, dark="#000", light="#fff", title="QR code"
    )
    return Markup(picture.getvalue().decode())  # noqa: S704 - segno writes paths only
