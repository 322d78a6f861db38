"""The web application: the public site, the pages of moderators, the JSON API under /api, and the error pages."""

from __future__ import annotations

from fastapi import FastAPI

from hashrange_systems.kelifax.application import Application
from hashrange_systems.kelifax.demo.demo_data import ADMIN, PASSWORD
from hashrange_systems.kelifax.logos.image import MAX_BYTES as MAX_LOGO
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
from hashrange_systems.kelifax.web.api.api_app import make_kelifax_api
from hashrange_systems.kelifax.web.dependencies import KelifaxPages
from hashrange_systems.kelifax.web.page_renderer import STATIC, DemoAccount, PageRenderer
from hashrange_systems.kelifax.web.visitor import Visitors
from hashrange_systems.shared.signed_token import TokenSigner
from hashrange_systems.shared.web.pages import make_pages
from hashrange_systems.shared.web.rate_limit import RateLimit

SIGN_INS = 10  # at once from a client's network, then one every ten seconds
POSTS = 30  # at once from a client's network, then one every two seconds
MODULES = (
    public_pages,
    submission_pages,
    resource_page,
    visitor_pages,
    feeds,
    worker_presence,
    admin_records,
    admin_pages,  # the lists of moderators have the most general paths
)
MAX_BODY = MAX_LOGO + 256 * 1024  # a logo with the form around it


def make_app(services: Application) -> FastAPI:
    """Return the pages of the directory."""
    runtime, clock = services.runtime, services.clock
    base_url = runtime.base_url
    visitor_signer = TokenSigner(runtime.secret, "kelifax_visitor")
    demo_admin = DemoAccount(ADMIN, PASSWORD) if runtime.demo else None
    deps = KelifaxPages(
        services=services,
        renderer=PageRenderer(base_url, demo=runtime.demo, demo_admin=demo_admin),
        visitors=Visitors(visitor_signer, services.accounts, clock, base_url.startswith("https://")),
        post_limit=RateLimit(clock, burst=POSTS, per_second=0.5),
        sign_in_limit=RateLimit(clock, burst=SIGN_INS, per_second=0.1),
    )
    api = make_kelifax_api(services, base_url, RateLimit(clock, burst=POSTS, per_second=0.5))
    return make_pages(deps, MODULES, api, static=STATIC, sign_in="/admin/sign-in", max_bytes=MAX_BODY)
