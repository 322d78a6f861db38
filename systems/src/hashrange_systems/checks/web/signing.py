"""Signing in with an API key, signing out, and confirming an address by the link that was sent there."""

from __future__ import annotations

import re

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from hashrange_systems.checks.errors import KeyUnknown, Suspended
from hashrange_systems.checks.web.allowance import TooMany
from hashrange_systems.checks.web.desk import Desk, Here, take_form
from hashrange_systems.checks.web.door import refuse_foreign
from hashrange_systems.checks.web.painter import go
from hashrange_systems.checks.web.session import Session

OUR_PATH = re.compile(r"/[A-Za-z0-9/_-]*", re.ASCII)

router = APIRouter(include_in_schema=False)


@router.get("/sign-in")
async def show_sign_in(request: Request, desk: Here, next: str = "/") -> Response:  # noqa: A002 - the address says next
    """Show the form to sign in, unless that is done."""
    if await desk.door.recognise(request):
        return go(request, settle_path(next))
    return draw_sign_in(request, desk, settle_path(next))


@router.post("/sign-in")
async def sign_in(request: Request, desk: Here) -> Response:
    """Begin a session for the user whose key was given."""
    refuse_foreign(request)
    form = await request.form(max_files=0, max_fields=10)
    key, path = str(form.get("key", "")).strip(), settle_path(str(form.get("next", "/")))
    try:
        desk.attempts.take(request.client.host if request.client else "")
        session = await desk.door.sign_in(key)
    except KeyUnknown:
        return draw_sign_in(request, desk, path, "This key is not valid.", 401)
    except (Suspended, TooMany) as trouble:
        return draw_sign_in(request, desk, path, str(trouble), trouble.status)
    return begin(request, desk, session, path)


@router.post("/sign-in/demo")
async def sign_in_demo(request: Request, desk: Here) -> Response:
    """Begin a session as the demo's user."""
    refuse_foreign(request)
    visitor = await desk.door.enter_demo(request)
    if visitor is None:
        return draw_sign_in(request, desk, "/", "There is no demo user here.", 403)
    return begin(request, desk, visitor.session, "/")


@router.post("/sign-out", dependencies=[Depends(take_form)])
async def sign_out(request: Request, desk: Here) -> Response:
    """End the session."""
    return begin(request, desk, desk.door.sign_out(), "/sign-in")


@router.get("/verify")
async def show_verify(request: Request, desk: Here, token: str = "") -> Response:
    """Ask for a click: who only looks into mail, as scanners do, confirms nothing."""
    return desk.painter.show(request, "verify.html", link_token=token, channel=None)


@router.post("/verify")
async def verify(request: Request, desk: Here) -> Response:
    """Confirm the address that the link was sent to."""
    form = await request.form(max_files=0, max_fields=10)
    channel = await desk.services.channels.verify(str(form.get("token", "")))
    return desk.painter.show(request, "verify.html", channel=channel)


def begin(request: Request, desk: Desk, session: Session, path: str) -> Response:
    """Have the browser keep a session, and send it on."""
    response = go(request, path)
    desk.painter.keep(request, response, session)
    return response


def settle_path(path: str) -> str:
    """Return the page to go to after signing in: one of ours, whatever was asked for."""
    return path if OUR_PATH.fullmatch(path) and not path.startswith("//") else "/"


def draw_sign_in(request: Request, desk: Desk, path: str, trouble: str = "", status: int = 200) -> Response:
    """Answer with the form to sign in."""
    is_demo_visit = desk.door.is_demo_visit(request)
    return desk.painter.show(
        request, "sign_in.html", None, status, next=path, trouble=trouble, is_demo_visit=is_demo_visit
    )
