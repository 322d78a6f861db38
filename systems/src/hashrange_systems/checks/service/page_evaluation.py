"""Evaluates untrusted input with a budget: patterns, JSON, HTML and DNS in the sandbox, small texts at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar, TypeVarTuple

from hashrange_systems.checks.model import dns_answer, rdap_answer, untrusted_page
from hashrange_systems.checks.model.attributes import Attributes, Availability, Ebay
from hashrange_systems.checks.model.availability import describe_response, evaluate_availability
from hashrange_systems.checks.model.ebay import evaluate_offers
from hashrange_systems.checks.model.ebay_page import read_page
from hashrange_systems.checks.model.fetch_result import Cause, FetchResult, NoResponse, PageResponse
from hashrange_systems.checks.model.outcome import Outcome, Status
from hashrange_systems.checks.model.untrusted_page import open_page
from hashrange_systems.checks.service.probe_request import MAX_BYTES
from hashrange_systems.shared.fetching import content_encoding
from hashrange_systems.shared.sandbox.errors import Reason, SandboxError
from hashrange_systems.shared.sandbox.sandbox import Sandbox

Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")

SECONDS = 2.0  # of CPU time; a page of 2 MB takes some ms
MEMORY_MIB = 256
MAX_ANSWER = MAX_BYTES + 65_536  # a decompressed body
SMALL = 64 * 1024  # characters; looking for a text in so many takes less than sending them
QUICKLY_DECODED = frozenset({"utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1"})
OURS = frozenset({Reason.BUSY, Reason.CLOSED})
WHY = {
    Reason.TIME: "it takes longer than allowed to evaluate this {}",
    Reason.MEMORY: "it takes more memory than allowed to evaluate this {}",
    Reason.BUSY: "too many pages wait to be evaluated",
}


def make_sandbox(wait_s: float = 20.0) -> Sandbox:
    """Return the sandbox of an application; a call waits so long for its turn."""
    return Sandbox(
        wait_s=wait_s,
        seconds=SECONDS,
        memory_mib=MEMORY_MIB,
        max_answer=MAX_ANSWER,
        modules=[each.__name__ for each in (untrusted_page, dns_answer, rdap_answer, content_encoding)],
    )


@dataclass(frozen=True, slots=True)
class PageEvaluator:
    """Evaluates responses; without a sandbox in this process, for tests and commands with one's own pages."""

    sandbox: Sandbox | None = None

    async def run(self, function: Callable[[*Arguments], Result], *arguments: *Arguments, tenant: str) -> Result:
        """Return the result of a function on untrusted bytes; raise SandboxError if the budget is exceeded."""
        if self.sandbox is None:
            return function(*arguments)
        return await self.sandbox.run(function, *arguments, tenant=tenant)

    async def evaluate(self, attributes: Availability, fetched: FetchResult, now: int, tenant: str) -> Outcome:
        """Return the outcome of an AVAILABILITY check; UNKNOWN if the budget is exceeded."""
        if isinstance(fetched, NoResponse) or not reads_body(attributes):
            return evaluate_availability(attributes, fetched, now)
        if self.sandbox is None or is_simple(attributes, fetched):
            return evaluate_availability(attributes, open_page(fetched), now)
        try:
            page = make_sendable(fetched)
            return await self.sandbox.run(untrusted_page.evaluate_page, write(attributes), page, now, tenant=tenant)
        except SandboxError as error:
            return explain_failure(describe_response(fetched, now), error, Cause.TEXT)

    async def evaluate_search(self, attributes: Ebay, fetched: FetchResult, tenant: str) -> Outcome:
        """Return the outcome of an EBAY check that was answered with a page; UNKNOWN if the budget is exceeded."""
        if isinstance(fetched, NoResponse):
            return evaluate_offers(attributes, read_page(fetched), fetched.elapsed_ms)
        if self.sandbox is None:
            return evaluate_offers(attributes, read_page(open_page(fetched)), fetched.elapsed_ms)
        try:
            page = make_sendable(fetched)
            return await self.sandbox.run(untrusted_page.evaluate_search, write(attributes), page, tenant=tenant)
        except SandboxError as error:
            known = Outcome(status=Status.UNKNOWN, response_time=fetched.elapsed_ms)
            return explain_failure(known, error, Cause.LAYOUT)


def is_simple(attributes: Availability, page: PageResponse) -> bool:
    """Return whether evaluating a page is a search for a text in a small one, not compressed and quickly decoded."""
    size = len(page.body) + len(page.encoded.received)
    small = size <= SMALL and not page.encoded.coding and page.charset in QUICKLY_DECODED
    return small and attributes.regex is None and not attributes.conditions


def reads_body(attributes: Availability) -> bool:
    """Return whether a check looks at the content of its page."""
    return bool(attributes.keyword or attributes.regex or attributes.conditions or attributes.sold_out_text)


def explain_failure(outcome: Outcome, error: SandboxError, cause: Cause, what: str = "page") -> Outcome:
    """Return the outcome as UNKNOWN, with the reason why a page or an answer was not evaluated."""
    message = WHY.get(error.reason, "the {} cannot be evaluated").format(what)
    return replace(outcome, status=Status.UNKNOWN, cause=Cause.OURS if error.reason in OURS else cause, message=message)


def write(attributes: Attributes) -> str:
    """Return attributes as they are stored."""
    return attributes.model_dump_json(by_alias=True, exclude_none=True)


def make_sendable(page: PageResponse) -> PageResponse:
    """Return the page without what UTF-8 cannot encode."""
    return replace(page, body=page.body.encode("utf-8", "replace").decode("utf-8"))
