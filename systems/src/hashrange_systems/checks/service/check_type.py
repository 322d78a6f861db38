"""What a type of check consists of: its attributes, its form, its target, and how it is probed.

Each module of `checks.types` has one as `CHECK_TYPE`; `checks.registry` finds them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from hashrange import Clock
from hashrange_systems.checks.model.attributes import Attributes
from hashrange_systems.checks.model.availability import evaluate_no_response
from hashrange_systems.checks.model.fetch_result import Cause, NoResponse
from hashrange_systems.checks.model.outcome import Outcome
from hashrange_systems.checks.schema import Check
from hashrange_systems.checks.service.ebay_search import EbaySearch
from hashrange_systems.checks.service.host_concurrency import HostBusy
from hashrange_systems.checks.service.page_evaluation import PageEvaluator
from hashrange_systems.checks.service.probe_request import PageProbe, describe_failure, describe_phases
from hashrange_systems.shared.fetching.errors import FetchError, TimedOut
from hashrange_systems.shared.fetching.fetcher import Fetcher
from hashrange_systems.shared.fetching.progress import Phases
from hashrange_systems.shared.fetching.timing import PhaseTimer
from hashrange_systems.shared.user_url import validate_url
from hashrange_systems.shared.web.form import Group
from hashrange_systems.shared.work.presence import Gap

USUAL_DELAY_MS = 300_000
RDAP = "https://rdap.org"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeTools:
    """What probes may use: every connection goes through the fetcher or its connector."""

    fetcher: Fetcher
    pages: PageProbe
    clock: Clock
    ebay: EbaySearch
    rdap: str = RDAP
    evaluator: PageEvaluator = field(default_factory=PageEvaluator)
    tenant: str = ""  # whose check it is

    @asynccontextmanager
    async def limit(self, host: str, timeout_s: float) -> AsyncIterator[PhaseTimer]:
        """Hold a permit of the host for the block, and limit its time; the timer measures its phases."""
        async with self.pages.limiter.enter(host, self.tenant):
            timer = PhaseTimer(time.monotonic)
            try:
                async with asyncio.timeout(timeout_s):
                    yield timer
            except TimeoutError as error:
                late = TimedOut(timer.phase, timeout_s)
                late.phases = timer.read()
                raise late from error
            except FetchError as error:
                error.phases = timer.read()
                raise


Probe = Callable[[ProbeTools, str, Any], Awaitable[Outcome]]
Observe = Callable[[Check, Any, int], Outcome]
ObserveGap = Callable[[Check, Any, int, Gap], Outcome | None]


def show_url(url: str, _attributes: Mapping[str, object] | None = None) -> str:
    """Return a URL without scheme and query: the name of a check that has none."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    return (parts.netloc + parts.path).rstrip("/") or url


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckType:
    """A type of check. Either `probe` requests something, or `observe` evaluates what the check itself has stored."""

    attributes: type[Attributes]
    title: str
    summary: str
    form: tuple[Group, ...]
    probe: Probe | None = None
    observe: Observe | None = None
    observe_gap: ObserveGap | None = None  # the outcome instead of lateness, if no worker was there; None: it is late
    validate_target: Callable[[object, Collection[str]], str] = validate_url
    make_name: Callable[[str, Mapping[str, object]], str] = show_url
    usual_delay_ms: int = USUAL_DELAY_MS
    shortest_delay_ms: int = 0
    receives_signals: bool = False
    first_values: Mapping[str, str] = field(default_factory=dict)  # of the form, besides the defaults

    @property
    def name(self) -> str:
        """The value of `checkType`."""
        return self.attributes.check_type


async def run_probe(check_type: CheckType, tools: ProbeTools, url: str, attributes: Attributes) -> Outcome:
    """Return the outcome of a probe; an error is an outcome too."""
    assert check_type.probe is not None
    try:
        return await check_type.probe(tools, url, attributes)
    except FetchError as error:
        return evaluate_no_response(describe_failure(error))
    except HostBusy as error:
        return evaluate_no_response(NoResponse(cause=Cause.OURS, message=str(error)))


def describe_timing(phases: Phases) -> dict[str, Any]:
    """Return the fields of an outcome with the times of a connection."""
    return {"response_time": phases.total_ms, "phases": describe_phases(phases)}
