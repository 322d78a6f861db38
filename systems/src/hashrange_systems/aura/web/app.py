"""The web application: the pages, the JSON API under /api, and the error pages."""

from __future__ import annotations

from fastapi import FastAPI

from hashrange_systems.aura.application import Application
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
from hashrange_systems.aura.web.api.api_app import make_aura_api
from hashrange_systems.aura.web.dependencies import AuraPages
from hashrange_systems.aura.web.page_renderer import STATIC, PageRenderer
from hashrange_systems.shared.web.pages import make_pages
from hashrange_systems.shared.web.rate_limit import RateLimit
from hashrange_systems.shared.web.session import SessionCookies
from hashrange_systems.shared.web.session_authenticator import SessionAuthenticator

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


def make_app(services: Application) -> FastAPI:
    """Return the pages."""
    runtime, clock = services.runtime, services.clock
    sessions = SessionCookies(runtime.signer)
    preview_limit = RateLimit(clock, burst=PREVIEWS, per_second=0.2)
    deps = AuraPages(
        services=services,
        renderer=PageRenderer(services, sessions),
        authenticator=SessionAuthenticator(MemberAccounts(services), sessions, clock, runtime.base_url),
        sign_in_limit=RateLimit(clock, burst=SIGN_INS, per_second=0.1),
        preview_limit=preview_limit,
        import_limit=RateLimit(clock, burst=IMPORTS, per_second=IMPORTS / 3600),
    )
    return make_pages(deps, PAGES, make_aura_api(services, preview_limit), static=STATIC, uploads=UPLOADS)
