"""The web application: the pages, the JSON API under /api, and the error pages."""

from __future__ import annotations

import logging
from http import HTTPStatus
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from hashrange_systems.aura.services import Services
from hashrange_systems.aura.web import (
    account_page,
    add_page,
    board_page,
    change_page,
    explain_page,
    health_page,
    product_page,
    shop_page,
    sign_in,
)
from hashrange_systems.aura.web.account import MemberAccounts
from hashrange_systems.aura.web.api.api_app import make_api
from hashrange_systems.aura.web.dependencies import PageDependencies
from hashrange_systems.aura.web.page_renderer import STATIC, PageRenderer
from hashrange_systems.aura.web.run_now import RunNow
from hashrange_systems.shared.errors import ApplicationError, ResourceMissing, SignInRequired
from hashrange_systems.shared.web.rate_limit import RateLimit
from hashrange_systems.shared.web.request_guard import HEADERS, RequestGuard
from hashrange_systems.shared.web.session_authenticator import SessionAuthenticator
from hashrange_systems.shared.web.templating import find_mount_path, make_static_files, redirect_to

log = logging.getLogger(__name__)

PAGES = (
    board_page,
    shop_page,
    add_page,
    product_page,
    change_page,
    explain_page,
    account_page,
    sign_in,
    health_page,
)
SIGN_INS = 10  # at once from a client address, then one every ten seconds


def make_app(services: Services, base_url: str, run_now: RunNow) -> FastAPI:
    """Return the application; `base_url` is its public URL."""
    app = FastAPI(title="hashrange aura", openapi_url=None, docs_url=None, redoc_url=None)
    app.state.deps = PageDependencies(
        services=services,
        renderer=PageRenderer(services, base_url),
        authenticator=SessionAuthenticator(MemberAccounts(services), services.sessions, services.clock, base_url),
        run_now=run_now,
        sign_in_limit=RateLimit(services.clock, burst=SIGN_INS, per_second=0.1),
        base_url=base_url,
    )
    for module in PAGES:
        app.include_router(module.router)
    app.mount("/static", make_static_files(STATIC), name="static")
    app.mount("/api", make_api(services, run_now, base_url), name="api")
    app.add_exception_handler(ApplicationError, render_application_error)
    app.add_exception_handler(RequestValidationError, render_invalid_address)
    app.add_exception_handler(HTTPException, render_http_error)
    app.add_exception_handler(Exception, render_crash)
    app.add_middleware(RequestGuard, name="aura", secure=base_url.startswith("https://"))
    return app


async def render_application_error(request: Request, error: Exception) -> Response:
    """Render an application error; redirect unauthenticated visitors to sign-in, and answer programs with JSON."""
    assert isinstance(error, ApplicationError)
    if isinstance(error, SignInRequired):
        path = request.url.path.removeprefix(find_mount_path(request)) if request.method == "GET" else "/"
        if path.startswith("/changes."):
            return JSONResponse({"error": "Use the link of the page, which has a token."}, 401)
        response = redirect_to(request, "/sign-in")
        response.headers["Location"] += f"?next={quote(path)}" if path not in {"", "/"} else ""
        return response
    title = "Not found" if isinstance(error, ResourceMissing) else HTTPStatus(error.status).phrase
    return render_error_page(request, error.status, title, str(error))


async def render_invalid_address(request: Request, _error: Exception) -> Response:
    """Render a 404 for a path with invalid parameters."""
    return render_error_page(request, 404, "Not found", "There is no such page.")


async def render_http_error(request: Request, error: Exception) -> Response:
    """Render an error such as 404 or 405."""
    assert isinstance(error, HTTPException)
    text = "There is no such page." if error.status_code == 404 else str(error.detail)
    response = render_error_page(request, error.status_code, HTTPStatus(error.status_code).phrase.capitalize(), text)
    response.headers.update(error.headers or {})
    return response


async def render_crash(request: Request, error: Exception) -> Response:
    """Log an unexpected error, and render a 500."""
    log.error("page failed", exc_info=error, extra={"fields": {"method": request.method, "path": request.url.path}})
    response = render_error_page(request, 500, "Something went wrong", "The error is ours, and has been logged.")
    response.headers.update(HEADERS)  # such a response does not pass the request guard
    return response


def render_error_page(request: Request, status: int, title: str, text: str) -> Response:
    """Render an error page."""
    deps: PageDependencies = request.app.state.deps
    return deps.renderer.render(request, "error.html", None, status, title=title, text=text)
