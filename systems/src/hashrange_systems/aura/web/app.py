"""The web application: the pages, the JSON API under /api, and the error pages."""

from __future__ import annotations

from fastapi import FastAPI

from hashrange_systems.aura.application import Application
from hashrange_systems.aura.web import (
    add_page,
    board_page,
    change_page,
    explain_page,
    health_page,
    product_page,
    shop_page,
)
from hashrange_systems.aura.web.account_offers import OFFERS
from hashrange_systems.aura.web.add_page import MAX_CSV_BYTES
from hashrange_systems.aura.web.api.api_app import make_aura_api
from hashrange_systems.aura.web.dependencies import AuraPages
from hashrange_systems.aura.web.page_renderer import STATIC, PageRenderer
from hashrange_systems.shared.web.account_authenticator import AccountAuthenticator
from hashrange_systems.shared.web.account_dependencies import make_sign_in_limit
from hashrange_systems.shared.web.account_routes import make_account_routes
from hashrange_systems.shared.web.pages import make_pages
from hashrange_systems.shared.web.rate_limit import RateLimit
from hashrange_systems.shared.web.session import SessionCookies

UPLOADS = {"/import": MAX_CSV_BYTES + 10_000}
PAGES = (
    board_page,
    shop_page,
    add_page,
    product_page,
    change_page,
    explain_page,
    make_account_routes(OFFERS),
    health_page,
)
IMPORTS = 6  # of a member at once, and an hour
PREVIEWS = 10  # of a member at once, then one every five seconds


def make_app(services: Application) -> FastAPI:
    """Return the pages."""
    runtime, clock = services.runtime, services.clock
    sessions = SessionCookies(runtime.signer)
    preview_limit = RateLimit(clock, burst=PREVIEWS, per_second=0.2)
    deps = AuraPages(
        services=services,
        renderer=PageRenderer(services, sessions),
        authenticator=AccountAuthenticator(
            accounts=services.accounts, cookies=sessions, base_url=runtime.base_url, demo_login=services.demo_email
        ),
        sign_in_limit=make_sign_in_limit(clock),
        offers=OFFERS,
        preview_limit=preview_limit,
        import_limit=RateLimit(clock, burst=IMPORTS, per_second=IMPORTS / 3600),
    )
    return make_pages(deps, PAGES, make_aura_api(services, preview_limit), static=STATIC, uploads=UPLOADS)
