"""The routes of the pages of accounts that a system offers."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter

from hashrange_systems.shared.web import account_pages, sign_in_pages, sign_up_pages, team_pages, two_factor_pages
from hashrange_systems.shared.web.account_dependencies import Offers


@dataclass(frozen=True, slots=True)
class AccountRoutes:
    """Routes, as `make_pages` takes them."""

    router: APIRouter


def make_account_routes(offers: Offers) -> AccountRoutes:
    """Return the routes under the prefix of the offers; a page that is not offered is missing."""
    router = APIRouter(prefix=offers.prefix)
    for module in (sign_in_pages, sign_up_pages, account_pages, two_factor_pages, team_pages):
        router.include_router(module.router)
    return AccountRoutes(router)
