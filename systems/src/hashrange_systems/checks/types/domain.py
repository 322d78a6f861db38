"""DOMAIN: until when a domain is registered, from RDAP, the registries' own HTTP service."""

from __future__ import annotations

from urllib.parse import urlsplit

from pydantic import Field as Limit

from hashrange_systems.checks.model.attributes import Attributes
from hashrange_systems.checks.model.availability import evaluate_no_response
from hashrange_systems.checks.model.endpoint import accept_endpoint, read_endpoint
from hashrange_systems.checks.model.expiry import evaluate_expiry
from hashrange_systems.checks.model.fetch_result import Cause, NoResponse, PageResponse
from hashrange_systems.checks.model.outcome import Outcome, Status
from hashrange_systems.checks.model.rdap_answer import read_expiration
from hashrange_systems.checks.service.check_fields import RETRIES, THRESHOLDS
from hashrange_systems.checks.service.check_type import CheckType, ProbeTools
from hashrange_systems.checks.service.page_evaluation import explain_failure, make_sendable
from hashrange_systems.shared.epoch import DAY_MS, HOUR_MS
from hashrange_systems.shared.sandbox.errors import SandboxError
from hashrange_systems.shared.web.form import Field, Group

TIMEOUT_S = 20.0
NOT_FOUND, TOO_MANY = 404, 429


class Domain(Attributes):
    """Until when a domain is registered."""

    check_type = "DOMAIN"

    warning_days: int = Limit(default=30, ge=0, le=365)


async def probe_domain(tools: ProbeTools, url: str, attributes: Domain) -> Outcome:
    """Ask RDAP for the domain, and compare the end of its registration with the warning time."""
    name = read_endpoint(url, "domain", 0).host
    accept = (("Accept", "application/rdap+json, application/json"),)
    url = f"{tools.rdap}/domain/{name}"
    fetched = await tools.pages.request(url, tools.tenant, decode=False, headers=accept, timeout_s=TIMEOUT_S)
    if isinstance(fetched, NoResponse):
        return describe_unknown(fetched)
    if fetched.status != 200:
        return explain_status(name, fetched, tools.rdap)
    try:
        ends = await tools.evaluator.run(read_expiration, make_sendable(fetched), tenant=tools.tenant)
    except SandboxError as error:
        return explain_failure(make_unknown(fetched, Cause.LAYOUT, ""), error, Cause.LAYOUT, "answer")
    return evaluate_expiration(attributes, name, fetched, ends, tools.clock.millis())


def describe_unknown(silence: NoResponse) -> Outcome:
    """Return UNKNOWN: an RDAP server that does not answer says nothing about the domain."""
    outcome = evaluate_no_response(silence)
    message = f"RDAP did not answer: {silence.message}"
    return Outcome(status=Status.UNKNOWN, cause=outcome.cause, message=message, response_time=outcome.response_time)


def evaluate_expiration(attributes: Domain, name: str, response: PageResponse, ends: int | None, now: int) -> Outcome:
    """Return the outcome of an answer, whose registration ends then; in doubt it is UNKNOWN."""
    if ends is None:
        return make_unknown(response, Cause.LAYOUT, f"the registry does not say when {name} expires")
    days = (ends - now) // DAY_MS
    outcome = Outcome(status=Status.UP, domain_days=days, response_time=response.elapsed_ms)
    return evaluate_expiry(outcome, days, attributes.warning_days, "the registration", Cause.DOMAIN)


def explain_status(name: str, response: PageResponse, rdap: str) -> Outcome:
    """Return DOWN if a registry does not know the domain; UNKNOWN if there is no registry, or it refuses."""
    if response.status == NOT_FOUND and urlsplit(response.url).netloc != urlsplit(rdap).netloc:
        message = f"{name} is not registered"
        return Outcome(status=Status.DOWN, cause=Cause.DOMAIN, message=message, response_time=response.elapsed_ms)
    if response.status == NOT_FOUND:
        return make_unknown(response, Cause.LAYOUT, f"there is no RDAP service for {name}, or it is not registered")
    cause = Cause.BLOCKED if response.status == TOO_MANY else Cause.STATUS
    return make_unknown(response, cause, f"RDAP answered {response.status}")


def make_unknown(response: PageResponse, cause: Cause, message: str) -> Outcome:
    """Return the outcome of an answer that cannot be evaluated."""
    return Outcome(status=Status.UNKNOWN, cause=cause, message=message, response_time=response.elapsed_ms)


WARNING = Field(
    path="attributes.warningDays",
    label="Warn so many days before it expires",
    input_type="number",
    hint="30",
    short=True,
)
CHECK_TYPE = CheckType(
    attributes=Domain,
    title="Domain",
    summary="Until when is a domain registered?",
    form=(
        Group("Domain", (Field(path="url", label="Domain", hint="example.com", required=True), WARNING)),
        Group("More", (*THRESHOLDS, RETRIES), folded=True),
    ),
    probe=probe_domain,
    validate_target=accept_endpoint("domain", "example.com", has_port=False, is_name=True),
    usual_delay_ms=DAY_MS,
    shortest_delay_ms=HOUR_MS,
)
