"""EBAY checks: the search, and the evaluation of the lowest price against the threshold.

`ebay_page` parses search pages, `ebay_api` the JSON of the Browse API.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from hashrange_systems.checks.model.attributes import Ebay
from hashrange_systems.checks.model.fetch_result import Cause
from hashrange_systems.checks.model.outcome import Outcome, Status
from hashrange_systems.shared.money import Money

SITE = "https://www.ebay.com"
CHEAPEST_FIRST = {"_sop": "15", "LH_BIN": "1"}  # by price with shipping, Buy It Now only


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A Buy It Now offer; `shipping` in minor units of the price's currency, None if unknown."""

    title: str
    price: Money
    shipping: int | None
    url: str


@dataclass(frozen=True, slots=True)
class Found:
    """The offers of a search; empty only if eBay reports no results."""

    offers: tuple[Offer, ...]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a page could not be evaluated."""

    cause: Cause
    message: str


SearchResult = Found | Unreadable


def build_search_url(attributes: Ebay, site: str = SITE) -> str:
    """Return the search URL: of the query or the given page, cheapest first, Buy It Now only."""
    parts = urlsplit(attributes.url or f"{site}/sch/i.html?{urlencode({'_nkw': attributes.query or ''})}")
    asked = [
        (name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True) if name not in CHEAPEST_FIRST
    ]
    return urlunsplit(parts._replace(query=urlencode([*asked, *CHEAPEST_FIRST.items()]), fragment=""))


def evaluate_offers(attributes: Ebay, found: SearchResult, response_time: int | None = None) -> Outcome:
    """Return the outcome: UP with the lowest price if the search could be parsed, else UNKNOWN."""
    if isinstance(found, Unreadable):
        return make_unknown(found.cause, found.message, response_time)
    comparable = [offer for offer in found.offers if offer.price.currency == attributes.currency]
    if found.offers and not comparable:
        return make_unknown(Cause.LAYOUT, f"no price is in {attributes.currency}", response_time)
    if not comparable:
        return Outcome(status=Status.UP, message="no offers", available=False, response_time=response_time)
    return evaluate_prices(attributes, comparable, response_time)


def evaluate_prices(attributes: Ebay, offers: Sequence[Offer], response_time: int | None) -> Outcome:
    """Compare the cheapest offer; an offer with unknown shipping never proves a price."""
    known = [offer for offer in offers if offer.shipping is not None or not attributes.include_shipping]
    doubtful = [offer for offer in offers if offer.shipping is None and attributes.include_shipping]
    best = min(known, key=lambda offer: total(offer, attributes), default=None)
    doubt = min(doubtful, key=lambda offer: offer.price.minor, default=None)
    shown = best or doubt
    assert shown is not None
    return Outcome(
        status=Status.UP,
        message=describe_offers(attributes, best, doubt),
        available=is_available(attributes, best, doubt),
        price=total(shown, attributes),
        shipping=shown.shipping,
        shipping_known=shown.shipping is not None,
        currency=attributes.currency,
        link=shown.url,
        response_time=response_time,
    )


def total(offer: Offer, attributes: Ebay) -> int:
    """Return the price to compare: with shipping if requested and known."""
    return offer.price.minor + (offer.shipping or 0 if attributes.include_shipping else 0)


def is_available(attributes: Ebay, best: Offer | None, doubt: Offer | None) -> bool | None:
    """Return whether an offer is at or below the threshold; None if that depends on unknown shipping."""
    if best and total(best, attributes) <= attributes.threshold:
        return True
    return None if doubt and doubt.price.minor <= attributes.threshold else False


def describe_offers(attributes: Ebay, best: Offer | None, doubt: Offer | None) -> str:
    """Describe the lowest price, and a lower one with unknown shipping."""
    words = []
    if best:
        shipping = "unknown" if best.shipping is None else str(Money(best.shipping, attributes.currency))
        words.append(
            f"lowest {Money(total(best, attributes), attributes.currency)} (shipping {shipping}): {best.title[:80]}"
        )
    if doubt and (best is None or doubt.price.minor < total(best, attributes)):
        words.append(f"{doubt.price} with unknown shipping: {doubt.title[:80]}")
    return "; ".join(words)


def make_unknown(cause: Cause, message: str, response_time: int | None) -> Outcome:
    """Return the outcome of a search that could not be evaluated."""
    return Outcome(status=Status.UNKNOWN, cause=cause, message=message, response_time=response_time)
