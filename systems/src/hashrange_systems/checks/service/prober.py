"""Runs one probe of a check: requests the page and evaluates the response.

It stores nothing and raises nothing: a failed probe is an outcome.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hashrange import Clock
from hashrange_systems.checks.model.attributes import Attributes, Availability, Ebay
from hashrange_systems.checks.model.availability import evaluate_availability
from hashrange_systems.checks.model.fetch_result import Cause
from hashrange_systems.checks.model.outcome import Outcome, Status
from hashrange_systems.checks.service.ebay_search import EbayAccess, EbaySearch
from hashrange_systems.checks.service.host_concurrency import HostLimiter
from hashrange_systems.checks.service.probe_request import PageProbe
from hashrange_systems.shared.fetching.fetcher import Fetcher


@dataclass(slots=True)
class Prober:
    """Runs probes; tasks of one event loop may share it."""

    fetcher: Fetcher
    clock: Clock
    ebay: EbayAccess = field(default_factory=EbayAccess)
    turns: HostLimiter = field(default_factory=HostLimiter)
    _visitor: PageProbe = field(init=False)
    _search: EbaySearch = field(init=False)

    def __post_init__(self) -> None:
        self._visitor = PageProbe(self.fetcher, self.turns)
        self._search = EbaySearch(self._visitor, self.clock, self.ebay)

    async def probe(self, url: str, attributes: Attributes) -> Outcome:
        """Return the outcome of one probe."""
        match attributes:
            case Availability():
                return await self._look(url, attributes)
            case Ebay():
                return await self._search.search(attributes)
            case _:
                return Outcome(status=Status.UNKNOWN, cause=Cause.OURS, message="nobody knows how to look at this")

    async def _look(self, url: str, attributes: Availability) -> Outcome:
        fetched = await self._visitor.request(
            url,
            method=attributes.method,
            headers=tuple(attributes.headers.items()),
            body=attributes.body.encode() if attributes.body is not None else None,
            timeout_s=attributes.timeout_ms / 1000,
            follow=attributes.follow_redirects,
        )
        return evaluate_availability(attributes, fetched, self.clock.millis())
