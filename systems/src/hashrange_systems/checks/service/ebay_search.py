"""Searches eBay: with the Browse API if there are credentials, else with the search pages.

The model evaluates the responses. In doubt the outcome is UNKNOWN.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

import orjson

from hashrange import Clock
from hashrange_systems.checks.model import ebay_api
from hashrange_systems.checks.model.attributes import Ebay
from hashrange_systems.checks.model.ebay import SITE, build_search_url, evaluate_offers
from hashrange_systems.checks.model.fetch_result import Cause, FetchResult, NoResponse, PageResponse
from hashrange_systems.checks.model.outcome import Outcome, read_whole
from hashrange_systems.checks.service.page_evaluation import PageEvaluator
from hashrange_systems.checks.service.probe_request import PageProbe

TIMEOUT_S = 20.0
SCOPE = "https://api.ebay.com/oauth/api_scope"
TOKEN_PATH = "/identity/v1/oauth2/token"  # noqa: S105 - where tokens are, not one
USUAL_LIFE_S = 7200
UNAUTHORIZED = 401
MARKETPLACES = {"GBP": "EBAY_GB", "EUR": "EBAY_DE", "CAD": "EBAY_CA", "AUD": "EBAY_AU", "CHF": "EBAY_CH"} | {
    "PLN": "EBAY_PL",
    "HKD": "EBAY_HK",
    "SGD": "EBAY_SG",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EbayAccess:
    """The URLs of eBay, and the credentials of the Browse API, if any."""

    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    site: str = SITE
    api: str = "https://api.ebay.com"


@dataclass(slots=True)
class EbaySearch:
    """Runs searches; they share one access token."""

    pages: PageProbe
    clock: Clock
    access: EbayAccess
    evaluator: PageEvaluator = field(default_factory=PageEvaluator)
    token: str = field(default="", repr=False)
    token_ends: int = 0
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def search(self, attributes: Ebay, tenant: str = "") -> Outcome:
        """Return the outcome of a search; a search given as a URL always uses that page."""
        if self.access.client_id and attributes.url is None:
            fetched = await self._ask_api(attributes, tenant)
            return evaluate_offers(attributes, ebay_api.read_response(fetched), fetched.elapsed_ms)
        url = build_search_url(attributes, self.access.site)
        page = await self.pages.request(url, tenant, decode=False, timeout_s=TIMEOUT_S)
        return await self.evaluator.evaluate_search(attributes, page, tenant)

    async def _ask_api(self, attributes: Ebay, tenant: str) -> FetchResult:
        token = await self._find_token()
        if isinstance(token, NoResponse):
            return token
        url = f"{self.access.api}{ebay_api.PATH}?{urlencode(ebay_api.build_parameters(attributes))}"
        marketplace = MARKETPLACES.get(attributes.currency, "EBAY_US")
        headers = (("Authorization", f"Bearer {token}"), ("X-EBAY-C-MARKETPLACE-ID", marketplace))
        fetched = await self.pages.request(url, tenant, headers=headers, timeout_s=TIMEOUT_S)
        if isinstance(fetched, PageResponse) and fetched.status == UNAUTHORIZED:
            self.token = ""  # revoked early: the next search requests another
        return fetched

    async def _find_token(self) -> str | NoResponse:
        """Return the access token; a new one is requested shortly before it expires, once for concurrent searches."""
        async with self.asking:
            if self.token and self.token_ends > self.clock.millis():
                return self.token
            fetched = await self._request_token()
            if isinstance(fetched, NoResponse):
                return fetched
            granted = read_grant(fetched)
            if granted is None:
                return NoResponse(cause=Cause.OURS, message=f"eBay refused our credentials (HTTP {fetched.status})")
            self.token, life_s = granted
            self.token_ends = self.clock.millis() + life_s * 900
            return self.token

    async def _request_token(self) -> FetchResult:
        basic = base64.b64encode(f"{self.access.client_id}:{self.access.client_secret}".encode()).decode()
        return await self.pages.request(
            f"{self.access.api}{TOKEN_PATH}",
            "",  # the token is of all users
            method="POST",
            headers=(("Authorization", f"Basic {basic}"), ("Content-Type", "application/x-www-form-urlencoded")),
            body=urlencode({"grant_type": "client_credentials", "scope": SCOPE}).encode(),
            timeout_s=TIMEOUT_S,
        )


def read_grant(response: PageResponse) -> tuple[str, int] | None:
    """Return the access token and its lifetime in seconds; None if there is none."""
    try:
        grant = orjson.loads(response.body)
    except orjson.JSONDecodeError:
        return None
    token = grant.get("access_token") if isinstance(grant, Mapping) else None
    if response.status != 200 or not isinstance(token, str) or not token.isascii() or not token.isprintable():
        return None
    return token, read_whole(grant.get("expires_in")) or USUAL_LIFE_S
