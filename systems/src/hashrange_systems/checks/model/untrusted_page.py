"""Evaluates untrusted pages, as functions for the sandbox: attributes come as JSON, pages as values.

A page is decompressed, decoded and evaluated in one call.
"""

from __future__ import annotations

from hashrange_systems.checks.model.attributes import Availability, Ebay
from hashrange_systems.checks.model.availability import evaluate_availability
from hashrange_systems.checks.model.ebay import evaluate_offers
from hashrange_systems.checks.model.ebay_page import read_page
from hashrange_systems.checks.model.fetch_result import Cause, FetchResult, NoResponse, PageResponse, decode_page
from hashrange_systems.checks.model.outcome import Outcome
from hashrange_systems.shared.fetching.errors import BodyDamaged, CompressionBomb


def evaluate_page(attributes: str, page: PageResponse, now: int) -> Outcome:
    """Return the outcome of an AVAILABILITY check."""
    return evaluate_availability(Availability.model_validate_json(attributes), open_page(page), now)


def evaluate_search(attributes: str, page: PageResponse) -> Outcome:
    """Return the outcome of an EBAY check that was answered with a search page."""
    return evaluate_offers(Ebay.model_validate_json(attributes), read_page(open_page(page)), page.elapsed_ms)


def open_page(page: PageResponse) -> FetchResult:
    """Return the page as text, or why it cannot be read."""
    try:
        return decode_page(page)
    except CompressionBomb as error:  # our limit: the page may be all right
        return NoResponse(cause=Cause.OURS, message=str(error), elapsed_ms=page.elapsed_ms, phases=page.phases)
    except BodyDamaged as error:
        return NoResponse(cause=Cause.PROTOCOL, message=str(error), elapsed_ms=page.elapsed_ms, phases=page.phases)
