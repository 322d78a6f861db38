"""The web application: the pages, the JSON API under /api, and the error pages."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.types import Scope

from hashrange_systems.checks.application import Application
from hashrange_systems.checks.model.import_file import MAX_IMPORT_BYTES
from hashrange_systems.checks.web import account_page as account
from hashrange_systems.checks.web import check_routes as pages
from hashrange_systems.checks.web import heartbeat_url as heartbeats
from hashrange_systems.checks.web import import_page as imports
from hashrange_systems.checks.web import maintenance_page as maintenance
from hashrange_systems.checks.web import messages_page as messages
from hashrange_systems.checks.web import pages_page as status_pages
from hashrange_systems.checks.web import reports as month
from hashrange_systems.checks.web import sign_in as signing
from hashrange_systems.checks.web import status_page as status
from hashrange_systems.checks.web import two_factor_page as two_factor
from hashrange_systems.checks.web import worker_metrics
from hashrange_systems.checks.web.api.api_app import make_checks_api
from hashrange_systems.checks.web.authentication import UserAccounts
from hashrange_systems.checks.web.dependencies import ChecksPages
from hashrange_systems.checks.web.page_renderer import STATIC, PageRenderer
from hashrange_systems.shared.errors import TooManyRequests
from hashrange_systems.shared.web.pages import make_pages
from hashrange_systems.shared.web.problem import ProblemResponse, describe_problem
from hashrange_systems.shared.web.rate_limit import RateLimit
from hashrange_systems.shared.web.response_cache import CachedResponse, ResponseCache, describe_refusal
from hashrange_systems.shared.web.session import SessionCookies
from hashrange_systems.shared.web.session_authenticator import SessionAuthenticator

PUBLIC = ("/status/", "/api/status/")  # readable without signing in
UPLOADS = {"/import": MAX_IMPORT_BYTES + 10_000}
IMPORTS = 6  # of a user at once, then one every 50 seconds
SIGNALS = 20  # at once for a heartbeat, then one every two seconds
SIGN_INS = 10  # at once from a client's network, then one every ten seconds
MODULES = (
    pages,
    heartbeats,
    maintenance,
    account,
    two_factor,
    imports,
    status_pages,
    messages,
    month,
    status,
    signing,
    worker_metrics,
)


def make_app(services: Application) -> FastAPI:
    """Return the pages."""
    runtime, clock = services.runtime, services.clock
    sessions = SessionCookies(runtime.signer)
    authenticator = SessionAuthenticator(UserAccounts(services), sessions, clock, runtime.base_url)
    deps = ChecksPages(
        services=services,
        renderer=PageRenderer(services, sessions),
        authenticator=authenticator,
        sign_in_limit=RateLimit(clock, burst=SIGN_INS, per_second=0.1),
        import_limit=RateLimit(clock, burst=IMPORTS, per_second=0.02),
        signal_limit=RateLimit(clock, burst=SIGNALS, per_second=0.5),
    )

    async def is_signed_in(scope: Scope) -> bool:
        return await authenticator.find_visitor(Request(scope)) is not None

    cache = Middleware(
        ResponseCache,
        clock=clock,
        prefix=PUBLIC,
        parameters={"of", "page"},
        refuse=refuse_rendering,
        is_signed_in=is_signed_in,
    )
    return make_pages(deps, MODULES, make_checks_api(services), static=STATIC, uploads=UPLOADS, middleware=[cache])


def refuse_rendering(error: TooManyRequests, path: str) -> CachedResponse:
    """Return the response to a client that asks for too many public pages: a text, or of the API a problem."""
    if not path.startswith("/api/"):
        return describe_refusal(error)
    problem = describe_problem("checks", error.status, type(error).__name__, str(error))
    return describe_refusal(error, problem.model_dump_json().encode(), ProblemResponse.media_type)
