"""EBAY: whether the lowest Buy It Now price of a search is at or below a threshold."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from hashrange_systems.checks.model.attributes import Ebay
from hashrange_systems.checks.model.outcome import Outcome
from hashrange_systems.checks.service.check_fields import PRICE, RETRIES, THRESHOLDS
from hashrange_systems.checks.service.check_type import CheckType, ProbeTools, show_url
from hashrange_systems.shared.money import CURRENCIES
from hashrange_systems.shared.user_url import validate_url
from hashrange_systems.shared.web.form import Field, Group

EBAY_SITE = "https://www.ebay.com/"
SEARCH = (
    Field(path="attributes.query", label="Search for", hint="leica m6"),
    Field(
        path="attributes.url",
        label="or a search page of eBay",
        input_type="url",
        hint="https://www.ebay.com/sch/i.html?_nkw=leica+m6",
        help="Either words or a page.",
    ),
    Field(path=PRICE, label="Tell me at or below", input_type="price", hint="1500.00", short=True, required=True),
    Field(
        path="attributes.currency",
        label="Currency",
        input_type="select",
        options=tuple((code, code) for code in CURRENCIES),
        short=True,
    ),
    Field(path="attributes.includeShipping", label="Shipping counts", input_type="tick"),
)


async def search_offers(tools: ProbeTools, _url: str, attributes: Ebay) -> Outcome:
    """Search, and compare the lowest price."""
    return await tools.ebay.search(attributes, tools.tenant)


def validate_site(value: object, own_origins: Collection[str] = ()) -> str:
    """Return the URL of the site: the search itself is in the attributes."""
    return validate_url(value or EBAY_SITE, own_origins)


def name_search(url: str, attributes: Mapping[str, object]) -> str:
    """Return the words of the search."""
    query = attributes.get("query")
    return f"eBay: {query}" if isinstance(query, str) else show_url(url, attributes)


CHECK_TYPE = CheckType(
    attributes=Ebay,
    title="eBay price",
    summary="Tell me when the lowest Buy It Now price falls to my limit.",
    form=(Group("Search", SEARCH), Group("More", (*THRESHOLDS, RETRIES), folded=True)),
    probe=search_offers,
    validate_target=validate_site,
    make_name=name_search,
)
