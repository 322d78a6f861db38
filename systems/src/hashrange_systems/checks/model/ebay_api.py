"""Parses offers from the JSON of eBay's Browse API (`item_summary/search`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from hashrange_systems.checks.model.attributes import Ebay
from hashrange_systems.checks.model.ebay import Found, Offer, SearchResult, Unreadable
from hashrange_systems.checks.model.fetch_result import Cause, FetchResult, NoResponse
from hashrange_systems.shared.money import Money, from_decimal

PATH = "/buy/browse/v1/item_summary/search"


def build_parameters(attributes: Ebay, limit: int = 50) -> dict[str, str]:
    """Return the query parameters of a search: cheapest first, fixed prices of the currency only."""
    return {
        "q": attributes.query or "",
        "sort": "price",
        "filter": f"buyingOptions:{{FIXED_PRICE}},priceCurrency:{attributes.currency}",
        "limit": str(limit),
    }


def read_response(fetched: FetchResult) -> SearchResult:
    """Return the offers of a response, or why it could not be evaluated."""
    if isinstance(fetched, NoResponse):
        return Unreadable(fetched.cause, fetched.message)
    if fetched.status != 200:
        return Unreadable(Cause.BLOCKED, f"the Browse API answered {fetched.status}")
    try:
        document = json.loads(fetched.body, parse_float=Decimal)
    except (ValueError, RecursionError):
        return Unreadable(Cause.LAYOUT, "the Browse API answered something else than JSON")
    return read_document(document)


def read_document(document: Any) -> SearchResult:
    """Return the offers of a parsed response; an empty list is only accepted with a total of 0."""
    summaries = document.get("itemSummaries", []) if isinstance(document, dict) else None
    if not isinstance(summaries, list):
        return Unreadable(Cause.LAYOUT, "the Browse API's answer has no list of items")
    offers = tuple(offer for summary in summaries if (offer := read_summary(summary)))
    if offers or document.get("total") == 0:
        return Found(offers)
    return Unreadable(Cause.LAYOUT, f"none of {len(summaries)} items has a readable price")


def read_summary(summary: Any) -> Offer | None:
    """Return the offer of an item; None if it has no fixed price."""
    if not isinstance(summary, Mapping) or "FIXED_PRICE" not in summary.get("buyingOptions", ["FIXED_PRICE"]):
        return None
    price = read_amount(summary.get("price"))
    if price is None:
        return None
    return Offer(
        title=str(summary.get("title", ""))[:300],
        price=price,
        shipping=read_shipping(summary.get("shippingOptions"), price.currency),
        url=str(summary.get("itemWebUrl", "")),
    )


def read_amount(amount: Any) -> Money | None:
    """Parse an amount of the API, `{"value": "11.00", "currency": "USD"}`."""
    if not isinstance(amount, Mapping):
        return None
    try:
        return from_decimal(Decimal(str(amount.get("value"))), str(amount.get("currency")))
    except InvalidOperation:
        return None


def read_shipping(options: Any, currency: str) -> int | None:
    """Return the cheapest shipping cost; None if it is calculated later or not offered."""
    costs = [read_amount(option.get("shippingCost")) for option in options or [] if isinstance(option, Mapping)]
    return min((cost.minor for cost in costs if cost and cost.currency == currency), default=None)
