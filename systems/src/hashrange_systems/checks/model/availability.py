"""How an AVAILABILITY check evaluates a response: status, text, conditions, stock and certificate."""

from __future__ import annotations

from dataclasses import replace

from hashrange_systems.checks.model.attributes import Availability
from hashrange_systems.checks.model.condition import evaluate_conditions
from hashrange_systems.checks.model.fetch_result import Cause, FetchResult, NoResponse, PageResponse
from hashrange_systems.checks.model.outcome import Outcome, Status
from hashrange_systems.checks.model.regex import search_regex
from hashrange_systems.checks.model.status_range import accepts
from hashrange_systems.shared.epoch import DAY_MS

NOT_CAUSED_BY_TARGET = frozenset({Cause.OURS, Cause.REFUSED})


def evaluate_availability(attributes: Availability, fetched: FetchResult, now: int) -> Outcome:
    """Return the outcome of a probe; in doubt it is UNKNOWN, never UP."""
    if isinstance(fetched, NoResponse):
        return evaluate_no_response(fetched)
    outcome = describe_response(fetched, now)
    if not accepts(attributes.accepted_status, fetched.status):
        message = f"answered {fetched.status}, accepted are {attributes.accepted_status}"
        return replace(outcome, status=Status.DOWN, cause=Cause.STATUS, message=message)
    judged = evaluate_text(attributes, fetched, outcome)
    if judged.status is Status.UP:
        judged = evaluate_conditions(attributes.conditions, fetched, judged)
    if judged.status is not Status.UP:
        return judged
    return evaluate_certificate(attributes, replace(judged, available=find_stock(attributes, fetched)))


def evaluate_no_response(silence: NoResponse) -> Outcome:
    """Return DOWN if the target did not respond, UNKNOWN if the request could not be sent."""
    status = Status.UNKNOWN if silence.cause in NOT_CAUSED_BY_TARGET else Status.DOWN
    return Outcome(
        status=status,
        cause=silence.cause,
        message=silence.message,
        response_time=silence.elapsed_ms,
        phases=silence.phases,
    )


def describe_response(response: PageResponse, now: int) -> Outcome:
    """Return the outcome fields of a response."""
    expires = response.certificate_not_after
    return Outcome(
        status=Status.UP,
        http_status=response.status,
        response_time=response.elapsed_ms,
        phases=response.phases,
        certificate_days=None if expires is None else (expires - now) // DAY_MS,
    )


def evaluate_text(attributes: Availability, response: PageResponse, outcome: Outcome) -> Outcome:
    """Check the keyword or regex; if the body was truncated, a missing text is no failure."""
    sought = attributes.keyword or attributes.regex
    if sought is None:
        return outcome
    found = attributes.keyword in response.body if attributes.keyword else search_regex(sought, response.body)
    if not found and response.cut:
        return replace(outcome, status=Status.UNKNOWN, cause=Cause.TEXT, message="the page is too long to search whole")
    if found is not attributes.invert:
        return replace(outcome, keyword_found=found)
    message = f"the page {'contains' if found else 'lacks'} {sought[:100]!r}"
    return replace(outcome, status=Status.DOWN, cause=Cause.TEXT, message=message, keyword_found=found)


def find_stock(attributes: Availability, response: PageResponse) -> bool | None:
    """Return whether the page lacks the sold-out text; None if there is none, or the body was truncated."""
    if attributes.sold_out_text is None:
        return None
    if attributes.sold_out_text in response.body:
        return False
    return None if response.cut else True


def evaluate_certificate(attributes: Availability, outcome: Outcome) -> Outcome:
    """Turn UP into DEGRADED when the certificate expires soon: a warning, not an outage."""
    days = outcome.certificate_days
    if days is None or days >= attributes.tls_warning_days:
        return outcome
    message = f"the certificate expires in {days} days" if days >= 0 else f"the certificate expired {-days} days ago"
    return replace(outcome, status=Status.DEGRADED, cause=Cause.CERTIFICATE, message=message)
