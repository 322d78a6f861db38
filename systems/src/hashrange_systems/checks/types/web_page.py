"""AVAILABILITY: whether a web page is reachable, says what it should, and has in stock what it sells."""

from __future__ import annotations

from typing import get_args

from hashrange_systems.checks.model.attributes import Availability
from hashrange_systems.checks.model.outcome import Outcome
from hashrange_systems.checks.service.check_fields import RETRIES, THRESHOLDS, TIMEOUT, TLS_WARNING
from hashrange_systems.checks.service.check_type import CheckType, ProbeTools
from hashrange_systems.shared.fetching.http_message import Method
from hashrange_systems.shared.web.form import Field, Group

METHODS = tuple((method, method) for method in get_args(Method))
CONTENT = (
    Field(
        path="attributes.keyword",
        label="Text on the page",
        help="The check fails when the page lacks this text. Empty to look at the status only.",
    ),
    Field(path="attributes.invert", label="Fail when the text is there, not when it is missing", input_type="tick"),
    Field(
        path="attributes.soldOutText",
        label="Text that means sold out",
        hint="Currently unavailable",
        help="You are told when this text is no longer on the page.",
    ),
)
REQUEST = (
    Field(path="attributes.method", label="Method", input_type="select", options=METHODS, short=True),
    Field(path="attributes.acceptedStatus", label="Accepted statuses", hint="200-299", short=True),
    TIMEOUT,
    Field(path="attributes.followRedirects", label="Follow redirects", input_type="tick"),
    Field(
        path="attributes.headers", label="Headers", input_type="area", hint="Accept-Language: en", help="One a line."
    ),
    Field(path="attributes.body", label="Body", input_type="area"),
    Field(path="attributes.regex", label="Regular expression on the page", help="RE2, instead of a text."),
    Field(
        path="attributes.conditions",
        label="Conditions on JSON and headers",
        input_type="area",
        hint="json data.status == ok",
        help="One a line: json data.status == ok, header content-type contains json, warn json queue.length < 100. "
        "Operators: == != < <= > >= contains. After warn it is a warning, not an outage.",
    ),
    TLS_WARNING,
    *THRESHOLDS,
    RETRIES,
)


async def probe_page(tools: ProbeTools, url: str, attributes: Availability) -> Outcome:
    """Request the page and evaluate the response."""
    fetched = await tools.pages.request(
        url,
        tools.tenant,
        decode=False,
        method=attributes.method,
        headers=tuple(attributes.headers.items()),
        body=attributes.body.encode() if attributes.body is not None else None,
        timeout_s=attributes.timeout_ms / 1000,
        follow=attributes.follow_redirects,
    )
    return await tools.evaluator.evaluate(attributes, fetched, tools.clock.millis(), tools.tenant)


CHECK_TYPE = CheckType(
    attributes=Availability,
    title="Web page",
    summary="Is it reachable, does it say what it should, is it in stock?",
    form=(
        Group(
            "Page", (Field(path="url", label="Address", input_type="url", hint="https://example.com", required=True),)
        ),
        Group("Content", CONTENT),
        Group("Request", REQUEST, folded=True),
    ),
    probe=probe_page,
)
