"""Looks at what a check is about, once: visits the page, and has the model judge what came.

Nothing is stored here, and nothing raised: a probe that cannot be made has an outcome that says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hashrange import Clock
from hashrange_systems.checks.model.attributes import Attributes, Availability, Ebay
from hashrange_systems.checks.model.availability import judge_availability
from hashrange_systems.checks.model.fetched import Cause
from hashrange_systems.checks.model.outcome import Outcome, Status
from hashrange_systems.checks.service.ebay import EbayAccess, EbaySearch
from hashrange_systems.checks.service.turn import Turnstile
from hashrange_systems.checks.service.visit import Visitor
from hashrange_systems.shared.fetching.fetcher import Fetcher


@dataclass(slots=True)
class Prober:
    """Makes probes; safe to share by any number of tasks of one event loop."""

    fetcher: Fetcher
    clock: Clock
    ebay: EbayAccess = field(default_factory=EbayAccess)
    turns: Turnstile = field(default_factory=Turnstile)
    _visitor: Visitor = field(init=False)
    _search: EbaySearch = field(init=False)

    def __post_init__(self) -> None:
        self._visitor = Visitor(self.fetcher, self.turns)
        self._search = EbaySearch(self._visitor, self.clock, self.ebay)

    async def probe(self, url: str, attributes: Attributes) -> Outcome:
        """Return the outcome of looking once."""
        match attributes:
            case Availability():
                return await self._look(url, attributes)
            case Ebay():
                return await self._search.search(attributes)
            case _:
                return Outcome(status=Status.UNKNOWN, cause=Cause.OURS, message="nobody knows how to look at this")

    async def _look(self, url: str, attributes: Availability) -> Outcome:
        fetched = await self._visitor.visit(
            url,
            method=attributes.method,
            headers=tuple(attributes.headers.items()),
            body=attributes.body.encode() if attributes.body is not None else None,
            timeout_s=attributes.timeout_ms / 1000,
            follow=attributes.follow_redirects,
        )
        return judge_availability(attributes, fetched, self.clock.millis())
