"""Runs one probe of a check: its type says how, and the thresholds for the response time are applied.

It stores nothing and raises nothing: a failed probe is an outcome.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hashrange import Clock
from hashrange_systems.checks.model.attributes import Attributes
from hashrange_systems.checks.model.outcome import Outcome
from hashrange_systems.checks.model.response_time import evaluate_time
from hashrange_systems.checks.registry import CHECK_TYPES
from hashrange_systems.checks.service.check_type import RDAP, ProbeTools, run_probe
from hashrange_systems.checks.service.ebay_search import EbayAccess, EbaySearch
from hashrange_systems.checks.service.host_concurrency import HostLimiter
from hashrange_systems.checks.service.page_evaluation import PageEvaluator
from hashrange_systems.checks.service.probe_request import PageProbe
from hashrange_systems.shared.fetching.fetcher import Fetcher


@dataclass(slots=True)
class Prober:
    """Runs probes; tasks of one event loop may share it."""

    fetcher: Fetcher
    clock: Clock
    ebay: EbayAccess = field(default_factory=EbayAccess)
    turns: HostLimiter = field(default_factory=HostLimiter)
    rdap: str = RDAP
    evaluator: PageEvaluator = field(default_factory=PageEvaluator)
    _tools: ProbeTools = field(init=False)

    def __post_init__(self) -> None:
        pages = PageProbe(self.fetcher, self.turns)
        search = EbaySearch(pages, self.clock, self.ebay, self.evaluator)
        self._tools = ProbeTools(
            fetcher=self.fetcher,
            pages=pages,
            clock=self.clock,
            ebay=search,
            rdap=self.rdap,
            evaluator=self.evaluator,
        )

    async def probe(self, url: str, attributes: Attributes, tenant: str = "") -> Outcome:
        """Return the outcome of one probe of a tenant's check."""
        check_type, tools = CHECK_TYPES[attributes.check_type], replace(self._tools, tenant=tenant)
        return evaluate_time(attributes, await run_probe(check_type, tools, url, attributes))
