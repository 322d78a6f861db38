"""The lifecycle of scrapes: eligible shops by the seed's two queries, started with owner and lease, reaped when stuck.

The index does not show a crawl that runs, so every start is a condition on the table: the crawl has ended, and after
the scrape before, or inside it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from hashrange import Conflict
from hashrange_systems.aura.schema import Aura, Crawled, LeasedScrape, NeverScraped, Scraped, Scraping, Shop
from hashrange_systems.aura.service.crawls import REAPED, StuckShop
from hashrange_systems.aura.service.schedule import (
    LEASE,
    MAX_ERROR_LENGTH,
    STUCK_AFTER,
    Intervals,
    OptionsByShop,
    find_retry_time,
    read_options,
)
from hashrange_systems.aura.work_schema import Work
from hashrange_systems.shared.epoch import to_second
from hashrange_systems.shared.text import shorten
from hashrange_systems.shared.work.retry import retry_transient

if TYPE_CHECKING:
    from hashrange import Clock


@dataclass(frozen=True, slots=True)
class Scrapes:
    """The scrapes of all shops."""

    db: Aura
    work: Work
    clock: Clock
    intervals: Intervals = field(default_factory=Intervals)

    # ── finding ──────────────────────────────────────────────────────────────────────────────────────────────────────
    async def find_eligible(self) -> AsyncIterator[Shop]:
        """Yield the shops to scrape now, as the table has them: abandoned scrapes, never scraped, crawled since."""
        now, options = self._now(), await read_options(self.work)
        countries = await self._countries()
        for country in countries:
            async for shop in self.db.scraping(country).whole().skip_unreadable():
                if is_abandoned(shop.scrape, now) and not options.is_paused(shop.domain):
                    yield shop
        for country in countries:
            async for shop in self.db.never_scraped(country).whole().skip_unreadable():
                if self._is_due(shop, now, options):
                    yield shop
            cutoff = now - self.intervals.scrape
            async for shop in self.db.scraped(country, last_scraped_end=cutoff).whole().skip_unreadable():
                if self._is_due(shop, now, options):
                    yield shop
        for domain in options.find_with_own_interval():
            found = await self.db.shop(domain)
            if found is not None and self._is_due(found, now, options):
                yield found

    def _is_due(self, shop: Shop, now: datetime, options: OptionsByShop) -> bool:
        if options.is_paused(shop.domain) or not isinstance(shop.crawl, Crawled):
            return False
        if shop.scrape_retry_at is not None and shop.scrape_retry_at > now:
            return False
        match shop.scrape:
            case NeverScraped():
                return True
            case Scraped(last_scraped_end=end):
                return end <= now - options.scrape_interval(shop.domain, self.intervals.scrape)
            case _:
                return False

    async def find_stuck(self) -> list[StuckShop]:
        """Return the scrapes in progress for over two hours, with their leases from the table."""
        now = self._now()
        found = []
        for country in await self._countries():
            async for shop in self.db.stuck_scrapes(country, now - STUCK_AFTER).whole().skip_unreadable():
                scrape = shop.scrape
                if isinstance(scrape, Scraping):
                    found.append(describe_stuck(shop, scrape, now))
        return found

    async def _countries(self) -> list[str]:
        found = await self.db.countries()
        return sorted(found.countries) if found else []

    # ── steps ────────────────────────────────────────────────────────────────────────────────────────────────────────
    async def start(self, shop: Shop, owner: str) -> LeasedScrape | None:
        """Start the scrape of a shop, or take over an abandoned one; None if it is not eligible any more."""
        now, scrape = self._now(), shop.scrape
        lease = now + LEASE
        try:
            if isinstance(scrape, Scraping):
                return await self.db.take_scrape(
                    scrape,
                    now=now,
                    last_scraped_start=scrape.last_scraped_start,
                    scrape_owner=owner,
                    scrape_lease_until=lease,
                    scrape_attempts=1,
                )
            if not isinstance(shop.crawl, Crawled):
                return None
            if isinstance(scrape, NeverScraped):
                return await self.db.start_scrape(
                    scrape,
                    shop.crawl,
                    last_scraped_start=now,
                    scrape_owner=owner,
                    scrape_lease_until=lease,
                    scrape_attempts=1,
                )
            return await self.db.restart_scrape(
                scrape,
                shop.crawl,
                last_scraped_start=now,
                scrape_owner=owner,
                scrape_lease_until=lease,
                scrape_attempts=1,
            )
        except Conflict:
            return None

    async def extend(self, scrape: LeasedScrape) -> LeasedScrape:
        """Extend the lease; raise Conflict if it belongs to another worker now."""
        return await retry_transient(
            lambda: self.db.extend_scrape(
                scrape, scrape_lease_until=self._now() + LEASE, scrape_owner=scrape.scrape_owner
            )
        )

    async def finish(self, scrape: LeasedScrape) -> Scraped:
        """End a scrape; raise Conflict if it belongs to another worker now."""
        return await retry_transient(
            lambda: self.db.finish_scrape(scrape, last_scraped_end=self._now(), scrape_owner=scrape.scrape_owner)
        )

    async def fail(self, scrape: LeasedScrape, reason: str, attempts: int, wait_s: float = 0.0) -> None:
        """Return a scrape to the state before it, with the error; it is tried again later, where it stopped."""
        await self._return(scrape, reason, {"scrape_retry_at": find_retry_time(attempts, self._now(), wait_s)})

    async def stop(self, scrape: LeasedScrape, note: str) -> None:
        """Return a scrape to the state before it because the operator asked; it goes on as soon as it may."""
        await self._return(scrape, note, {})

    async def _return(self, scrape: LeasedScrape, reason: str, retry: dict[str, datetime]) -> None:
        error = shorten(reason, MAX_ERROR_LENGTH)
        try:
            if scrape.last_scraped_end is None:
                await self.db.fail_first_scrape(
                    scrape, last_scrape_error=error, scrape_owner=scrape.scrape_owner, **retry
                )
            else:
                await self.db.fail_scrape(
                    scrape,
                    last_scrape_error=error,
                    last_scraped_end=scrape.last_scraped_end,
                    scrape_owner=scrape.scrape_owner,
                    **retry,
                )
        except Conflict:
            return  # another worker has it

    async def release(self, scrape: LeasedScrape) -> None:
        """End the lease of a scrape that its worker cannot go on with: the next worker takes it over at once."""
        ended = self._now() - timedelta(seconds=1)
        with suppress(Conflict):
            await self.db.release_scrape(
                scrape, scrape_lease_until=ended, scrape_owner=scrape.scrape_owner, scrape_attempts=-1
            )

    async def reap(self) -> list[str]:
        """Return scrapes that are stuck and whose lease has expired to the state before them; return their domains."""
        stuck = await self.find_stuck()
        return [each.shop.domain for each in stuck if each.abandoned and await self._revert(each.shop)]

    async def _revert(self, shop: Shop) -> bool:
        scrape, now = shop.scrape, self._now()
        assert isinstance(scrape, Scraping)
        try:
            if scrape.last_scraped_end is None:
                await self.db.forget_scrape(scrape, now=now, last_scrape_error=REAPED)
            else:
                await self.db.revert_scrape(
                    scrape, now=now, last_scrape_error=REAPED, last_scraped_end=scrape.last_scraped_end
                )
        except Conflict:
            return False  # its worker is alive, or another one has it
        return True

    def _now(self) -> datetime:
        return to_second(self.clock.millis())


def is_abandoned(scrape: object, now: datetime) -> bool:
    """Return whether a scrape in progress has no worker any more: no lease, as in the original, or an expired one."""
    if isinstance(scrape, LeasedScrape):
        return scrape.scrape_lease_until < now
    return isinstance(scrape, Scraping) and scrape.last_scraped_start < now - STUCK_AFTER


def describe_stuck(shop: Shop, scrape: Scraping, now: datetime) -> StuckShop:
    """Return a scrape that is stuck, with its lease."""
    leased = scrape if isinstance(scrape, LeasedScrape) else None
    return StuckShop(
        shop=shop,
        what="scrape",
        started_at=scrape.last_scraped_start,
        owner=leased.scrape_owner if leased else None,
        lease_until=leased.scrape_lease_until if leased else None,
        abandoned=leased is None or leased.scrape_lease_until < now,
    )
