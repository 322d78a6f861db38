"""The web application: the pages, the JSON API under /api, and the error pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fastapi import FastAPI, Request
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
from hashrange_systems.aura.web.add_page import MAX_CSV_BYTES
from hashrange_systems.aura.web.api.api_app import make_api
from hashrange_systems.aura.web.dependencies import AuraPages
from hashrange_systems.aura.web.page_renderer import STATIC, PageRenderer
from hashrange_systems.aura.web.run_now import RunNow
from hashrange_systems.shared.errors import SignInRequired
from hashrange_systems.shared.web.error_pages import ErrorPages
from hashrange_systems.shared.web.rate_limit import RateLimit
from hashrange_systems.shared.web.request_guard import RequestGuard
from hashrange_systems.shared.web.session_authenticator import SessionAuthenticator
from hashrange_systems.shared.web.templating import find_mount_path, make_static_files

UPLOADS = {"/import": MAX_CSV_BYTES + 10_000}
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
IMPORTS = 6  # of a member at once, and an hour
PREVIEWS = 10  # of a member at once, then one every five seconds
SIGN_INS = 10  # at once from a client's network, then one every ten seconds


def make_app(services: Services, base_url: str, run_now: RunNow) -> FastAPI:
    """Return the application; `base_url` is its public URL."""
    renderer = PageRenderer(services, base_url)
    preview_limit = RateLimit(services.clock, burst=PREVIEWS, per_second=0.2)
    app = FastAPI(title="hashrange aura", openapi_url=None, docs_url=None, redoc_url=None)
    app.state.deps = AuraPages(
        services=services,
        renderer=renderer,
        authenticator=SessionAuthenticator(MemberAccounts(services), services.sessions, services.clock, base_url),
        run_now=run_now,
        sign_in_limit=RateLimit(services.clock, burst=SIGN_INS, per_second=0.1),
        preview_limit=preview_limit,
        import_limit=RateLimit(services.clock, burst=IMPORTS, per_second=IMPORTS / 3600),
        base_url=base_url,
    )
    for module in PAGES:
        app.include_router(module.router)
    app.mount("/static", make_static_files(STATIC), name="static")
    app.mount("/api", make_api(services, run_now, base_url, preview_limit), name="api")
    pages = ErrorPages(app, renderer.render_error)
    pages.install()
    app.add_exception_handler(SignInRequired, refuse_feeds_without_token(pages))
    app.add_middleware(RequestGuard, name="aura", secure=base_url.startswith("https://"), uploads=UPLOADS)
    return app


def refuse_feeds_without_token(pages: ErrorPages) -> Callable[[Request, Exception], Awaitable[Response]]:
    """Return a handler that answers programs, which read feeds, with JSON instead of the sign-in page."""

    async def handle(request: Request, error: Exception) -> Response:
        path = request.url.path.removeprefix(find_mount_path(request))
        if path.startswith("/changes."):
            return JSONResponse({"error": "Use the link of the page, which has a token."}, 401)
        return await pages.render_application_error(request, error)

    return handle
