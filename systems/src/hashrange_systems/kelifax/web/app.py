"""The web application: the public site, the pages of moderators, the JSON API under /api, and the error pages."""

from __future__ import annotations

from fastapi import FastAPI, Request
from starlette.responses import Response

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
from hashrange_systems.shared.signed_token import TokenSigner
from hashrange_systems.shared.web.error_pages import ErrorPages
from hashrange_systems.shared.web.rate_limit import RateLimit
from hashrange_systems.shared.web.request_guard import RequestGuard
from hashrange_systems.shared.web.templating import make_static_files

SIGN_INS = 10  # at once from a client's network, then one every ten seconds
POSTS = 30  # at once from a client's network, then one every two seconds
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
    ErrorPages(app, render_error_page, sign_in="/admin/sign-in", home="/admin").install()
    app.add_middleware(RequestGuard, name="kelifax", secure=secure, max_bytes=MAX_BODY)
    return app


def render_error_page(request: Request, status: int, title: str, text: str) -> Response:
    """Render an error page."""
    deps: PageDependencies = request.app.state.deps
    return deps.renderer.render(request, "error.html", status, title=title, text=text)
