"""The web application of the system: the pages, the JSON API under /api, and what they answer when something fails."""

from __future__ import annotations

import logging
from http import HTTPStatus
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from hashrange_systems.checks.errors import ChecksError, NotThere
from hashrange_systems.checks.web import account, maintenance, messages, month, pages, signing, status
from hashrange_systems.checks.web.allowance import Allowance
from hashrange_systems.checks.web.api.app import make_api
from hashrange_systems.checks.web.desk import Desk
from hashrange_systems.checks.web.door import Doorkeeper, SignInNeeded
from hashrange_systems.checks.web.guard import HEADERS, Guard
from hashrange_systems.checks.web.painter import STATIC, Painter, find_root, go
from hashrange_systems.checks.web.services import Services

log = logging.getLogger(__name__)

SIGN_INS = 10  # at once from an address, and then one every ten seconds
A_YEAR = "public, max-age=31536000, immutable"


def make_app(services: Services, base_url: str) -> FastAPI:
    """Return the application; `base_url` is where users reach it, and who visits the demo is let in."""
    demo = services.demo_email is not None
    app = FastAPI(title="hashrange checks", openapi_url=None, docs_url=None, redoc_url=None)
    app.state.desk = Desk(
        services=services,
        painter=Painter(services, base_url, demo=demo),
        door=Doorkeeper(services, base_url, demo=demo),
        attempts=Allowance(services.clock, burst=SIGN_INS, per_second=0.1),
        base_url=base_url,
    )
    for module in (pages, maintenance, account, messages, month, status, signing):
        app.include_router(module.router)
    app.mount("/static", Static(directory=STATIC), name="static")
    app.mount("/api", make_api(services, base_url), name="api")
    app.add_exception_handler(ChecksError, show_refusal)
    app.add_exception_handler(RequestValidationError, show_misfit)
    app.add_exception_handler(HTTPException, show_http)
    app.add_exception_handler(Exception, show_crash)
    app.add_middleware(Guard, secure=base_url.startswith("https://"))
    return app


class Static(StaticFiles):
    """The style sheet, the script and the icon, which browsers may keep: their addresses change with them."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Answer with a file."""
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = A_YEAR
        return response


async def show_refusal(request: Request, error: Exception) -> Response:
    """Show what the service refused; who must sign in is sent there."""
    assert isinstance(error, ChecksError)
    if isinstance(error, SignInNeeded):
        path = request.url.path.removeprefix(find_root(request)) if request.method == "GET" else "/"
        response = go(request, "/sign-in")
        response.headers["Location"] += f"?next={quote(path)}" if path not in {"", "/"} else ""
        return response
    title = "Not found" if isinstance(error, NotThere) else HTTPStatus(error.status).phrase
    return draw_trouble(request, error.status, title, str(error))


async def show_misfit(request: Request, _error: Exception) -> Response:
    """Show that an address is not one of ours."""
    return draw_trouble(request, 404, "Not found", "There is no such page.")


async def show_http(request: Request, error: Exception) -> Response:
    """Show that there is no such page, or not for this method."""
    assert isinstance(error, HTTPException)
    text = "There is no such page." if error.status_code == 404 else str(error.detail)
    response = draw_trouble(request, error.status_code, HTTPStatus(error.status_code).phrase.capitalize(), text)
    response.headers.update(error.headers or {})
    return response


async def show_crash(request: Request, error: Exception) -> Response:
    """Show that it is our fault, and log why."""
    log.error("page failed", exc_info=error, extra={"fields": {"method": request.method, "path": request.url.path}})
    response = draw_trouble(request, 500, "Something went wrong", "It is our fault, and has been logged.")
    response.headers.update(HEADERS)  # what fails like this has left the guard
    return response


def draw_trouble(request: Request, status: int, title: str, text: str) -> Response:
    """Answer with a page that says what is wrong."""
    desk: Desk = request.app.state.desk
    return desk.painter.show(request, "trouble.html", None, status, title=title, text=text)
