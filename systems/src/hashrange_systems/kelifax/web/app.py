"""The web application: the public site, the pages of moderators, the JSON API under /api, and the error pages."""

from __future__ import annotations

import logging
from http import HTTPStatus
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from hashrange import CursorInvalid, ValueInvalid
from hashrange_systems.kelifax.logos.image import MAX_BYTES as MAX_LOGO
from hashrange_systems.kelifax.services import Services
from hashrange_systems.kelifax.web import (
    admin_pages,
    admin_records,
    feeds,
    public_pages,
    resource_page,
    submission_pages,
    visitor_pages,
    worker_presence,
)
from hashrange_systems.kelifax.web.api.api_app import make_api
from hashrange_systems.kelifax.web.dependencies import PageDependencies
from hashrange_systems.kelifax.web.page_renderer import STATIC, DemoAccount, PageRenderer
from hashrange_systems.kelifax.web.visitor import Visitors
from hashrange_systems.shared.errors import ApplicationError, ResourceMissing, SignInRequired
from hashrange_systems.shared.signed_token import TokenSigner
from hashrange_systems.shared.web.rate_limit import RateLimit
from hashrange_systems.shared.web.request_guard import HEADERS, RequestGuard
from hashrange_systems.shared.web.templating import find_mount_path, make_static_files, redirect_to

log = logging.getLogger(__name__)

SIGN_INS = 10  # at once from a client address, then one every ten seconds
POSTS = 30  # at once from a client address, then one every two seconds
MAX_BODY = MAX_LOGO + 256 * 1024  # a logo with the form around it


def make_app(services: Services, base_url: str) -> FastAPI:
    """Return the application; `base_url` is its public URL."""
    secure = base_url.startswith("https://")
    demo = DemoAccount(*services.demo_admin) if services.demo_admin else None
    app = FastAPI(title="Kelifax", openapi_url=None, docs_url=None, redoc_url=None)
    app.state.deps = PageDependencies(
        services=services,
        renderer=PageRenderer(base_url, demo=demo is not None, demo_admin=demo),
        visitors=Visitors(TokenSigner(services.secret, "kelifax_visitor"), services.admins, services.clock, secure),
        post_limit=RateLimit(services.clock, burst=POSTS, per_second=0.5),
        sign_in_limit=RateLimit(services.clock, burst=SIGN_INS, per_second=0.1),
        base_url=base_url,
    )
    modules = (public_pages, submission_pages, resource_page, visitor_pages, feeds, worker_presence)
    for module in (*modules, admin_records, admin_pages):  # the lists of moderators have the most general paths
        app.include_router(module.router)
    app.mount("/static", make_static_files(STATIC), name="static")
    app.mount("/api", make_api(services, base_url, RateLimit(services.clock, burst=POSTS, per_second=0.5)), name="api")
    app.add_exception_handler(ApplicationError, render_application_error)
    app.add_exception_handler(RequestValidationError, render_invalid_address)
    app.add_exception_handler(HTTPException, render_http_error)
    app.add_exception_handler(CursorInvalid, render_invalid_cursor)
    app.add_exception_handler(ValueInvalid, render_invalid_value)
    app.add_exception_handler(Exception, render_crash)
    app.add_middleware(RequestGuard, name="kelifax", secure=secure, max_bytes=MAX_BODY)
    return app


async def render_application_error(request: Request, error: Exception) -> Response:
    """Render an application error; redirect unauthenticated admins to sign-in."""
    assert isinstance(error, ApplicationError)
    if isinstance(error, SignInRequired):
        path = request.url.path.removeprefix(find_mount_path(request)) if request.method == "GET" else "/admin"
        sign_in = redirect_to(request, "/admin/sign-in")
        sign_in.headers["Location"] += f"?next={quote(path)}" if path != "/admin" else ""
        return sign_in
    title = "Not found" if isinstance(error, ResourceMissing) else HTTPStatus(error.status).phrase
    response = render_error_page(request, error.status, title, str(error))
    response.headers.update(error.headers)
    return response


async def render_invalid_address(request: Request, _error: Exception) -> Response:
    """Render a 404 for a path with invalid parameters."""
    return render_error_page(request, 404, "Not found", "There is no such page.")


async def render_invalid_cursor(request: Request, _error: Exception) -> Response:
    """Render a 404 for a page of a list that is not there any more."""
    return render_error_page(request, 404, "Not found", "There is no such page: begin again at the first one.")


async def render_invalid_value(request: Request, error: Exception) -> Response:
    """Render a 404 for a value that cannot be a key, such as a slug that is too long."""
    log.warning("a value of an address cannot be a key: %s", str(error)[:200])
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
    if not isinstance(request.app.state.deps, PageDependencies):
        return Response(status_code=500)  # of the API, which has logged and answered it
    log.error("page failed", exc_info=error, extra={"fields": {"method": request.method, "path": request.url.path}})
    response = render_error_page(request, 500, "Something went wrong", "The error is ours, and has been logged.")
    response.headers.update(HEADERS)  # such a response does not pass the request guard
    return response


def render_error_page(request: Request, status: int, title: str, text: str) -> Response:
    """Render an error page."""
    deps: PageDependencies = request.app.state.deps
    return deps.renderer.render(request, "error.html", status, title=title, text=text)
