"""What is done with the pages of strangers, as functions for the sandbox: attributes come as JSON, pages as values."""

from __future__ import annotations

from hashrange_systems.checks.model.attributes import Availability, Ebay
from hashrange_systems.checks.model.availability import evaluate_availability
from hashrange_systems.checks.model.ebay import evaluate_offers
from hashrange_systems.checks.model.ebay_page import read_page
from hashrange_systems.checks.model.fetch_result import PageResponse, decode_page
from hashrange_systems.checks.model.outcome import Outcome


def evaluate_page(attributes: str, page: PageResponse, now: int) -> Outcome:
    """Return the outcome of an AVAILABILITY check."""
    return evaluate_availability(Availability.model_validate_json(attributes), decode_page(page), now)


def evaluate_search(attributes: str, page: PageResponse) -> Outcome:
    """Return the outcome of an EBAY check that was answered with a search page."""
    return evaluate_offers(Ebay.model_validate_json(attributes), read_page(decode_page(page)), page.elapsed_ms)
