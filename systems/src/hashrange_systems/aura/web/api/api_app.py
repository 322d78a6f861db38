"""The JSON API, mounted under /api: its description, its limits and its OpenAPI document."""

from __future__ import annotations

from fastapi import FastAPI

from hashrange_systems.aura.application import Application
from hashrange_systems.aura.web.api import shop_api
from hashrange_systems.aura.web.api.shop_api import ApiDependencies
from hashrange_systems.shared.web.api import make_account_callers, make_api
from hashrange_systems.shared.web.problem import ProblemHandlers
from hashrange_systems.shared.web.rate_limit import RateLimit

ABOUT = """Antique shops: register them, read their products, prices and what changed.

Send an API key as `Authorization: Bearer KEY`. A key may make 100 requests at once and 10 a second; beyond that the
answer is 429, with `Retry-After`. `explain` and the trials of the pages are ten at once for a member, then one every
five seconds. Every refusal is a problem document (RFC 9457)."""


def make_aura_api(services: Application, preview_limit: RateLimit) -> FastAPI:
    """Return the API; `preview_limit` is that of the pages."""
    callers = make_account_callers(services.accounts.keys, services.clock)
    deps = ApiDependencies(services, callers, preview_limit)
    return make_api("hashrange aura", ABOUT, services.runtime.base_url, deps, [shop_api], ProblemHandlers("aura"))
