"""When shops are crawled and scraped: intervals, leases, and pauses after failures; used by both lifecycles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hashrange_systems.aura.work_schema import ShopOptions, Work
from hashrange_systems.shared.work.retry import Backoff

LEASE = timedelta(seconds=60)
RENEWAL_INTERVAL_S = 15.0
STUCK_AFTER = timedelta(hours=2)  # as the seed has it
RETRIES = Backoff(5 * 60, 12 * 3600)
MAX_WAIT = timedelta(days=1)  # that a server may ask for
MAX_ERROR_LENGTH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervals:
    """How often shops are crawled and scraped unless their options say otherwise."""

    crawl: timedelta = timedelta(days=2)
    scrape: timedelta = timedelta(days=2)


@dataclass(frozen=True, slots=True)
class OptionsByShop:
    """The options of all shops that have some, read once for each round of scheduling."""

    options: Mapping[str, ShopOptions] = field(default_factory=dict)

    def is_paused(self, domain: str) -> bool:
        """Return whether a shop is paused or was asked to stop."""
        found = self.options.get(domain)
        return found is not None and (found.paused or found.stop)

    def crawl_interval(self, domain: str, usual: timedelta) -> timedelta:
        """Return how often a shop is crawled."""
        found = self.options.get(domain)
        return timedelta(hours=found.crawl_every_h) if found and found.crawl_every_h else usual

    def scrape_interval(self, domain: str, usual: timedelta) -> timedelta:
        """Return how often a shop is scraped."""
        found = self.options.get(domain)
        return timedelta(hours=found.scrape_every_h) if found and found.scrape_every_h else usual

    def find_with_own_interval(self) -> list[str]:
        """Return the shops with an interval of their own, which the query for the usual one may not find."""
        return [each.domain for each in self.options.values() if each.crawl_every_h or each.scrape_every_h]


async def read_options(work: Work) -> OptionsByShop:
    """Read the options of all shops that have some."""
    return OptionsByShop({each.domain: each async for each in work.all_options()})


def find_retry_time(attempts: int, now: datetime, wait_s: float = 0.0) -> datetime:
    """Return when a shop is tried again after so many failures; not before its server asks for, up to a day."""
    return now + timedelta(seconds=max(RETRIES.find_longest(attempts), min(wait_s, MAX_WAIT.total_seconds())))
