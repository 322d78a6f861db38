"""The lifecycle of crawls: which shops are due, who crawls them, and what becomes of crawls whose worker is gone.

A crawl is started by one conditional update with owner and lease. Only its owner extends or ends it; when the lease has
expired, another worker takes it over and goes on in the same frontier.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from hashrange import Conflict
from hashrange_systems.aura.schema import Aura, Crawled, Crawling, LeasedCrawl, LeasedScrape, NeverCrawled, Shop
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

REAPED = "the worker did not answer: its lease has expired"


@dataclass(frozen=True, slots=True, kw_only=True)
class StuckShop:
    """A crawl or scrape in progress for over two hours; `abandoned` if its lease has expired too."""

    shop: Shop
    what: str  # "crawl" or "scrape"
    started_at: datetime
    owner: str | None
    lease_until: datetime | None
    abandoned: bool


@dataclass(frozen=True, slots=True)
class Crawls:
    """The crawls of all shops."""

    db: Aura
    work: Work
    clock: Clock
    intervals: Intervals = field(default_factory=Intervals)

    # ── finding ──────────────────────────────────────────────────────────────────────────────────────────────────────
    async def find_due(self) -> AsyncIterator[Shop]:
        """Yield the shops to crawl now, as the table has them: abandoned crawls, new shops, old crawls."""
        now, options = self._now(), await read_options(self.work)
        for country in await self._countries():
            async for crawling in self.db.crawling(country).whole().skip_unreadable():
                if is_abandoned(crawling.crawl, now) and not options.is_paused(crawling.domain):
                    yield crawling
        for country in await self._countries():
            cutoff = now - self.intervals.crawl
            async for shop in self.db.crawl_due(country, last_crawled_end=cutoff).whole().skip_unreadable():
                if self._is_due(shop, now, options):
                    yield shop
        for domain in options.find_with_own_interval():
            found = await self.db.shop(domain)
            if found is not None and self._is_due(found, now, options):
                yield found

    def _is_due(self, shop: Shop, now: datetime, options: OptionsByShop) -> bool:
        if options.is_paused(shop.domain) or (shop.crawl_retry_at is not None and shop.crawl_retry_at > now):
            return False
        if isinstance(shop.scrape, LeasedScrape) and shop.scrape.scrape_lease_until >= now:
            return False  # a crawl of another worker beside it would double the requests
        match shop.crawl:
            case NeverCrawled():
                return True
            case Crawled(last_crawled_end=end):
                return end <= now - options.crawl_interval(shop.domain, self.intervals.crawl)
            case _:
                return False

    async def find_stuck(self) -> list[StuckShop]:
        """Return the crawls in progress for over two hours, with their leases from the table."""
        now = self._now()
        found = []
        for country in await self._countries():
            async for shop in self.db.stuck_crawls(country, now - STUCK_AFTER).whole().skip_unreadable():
                crawl = shop.crawl
                if isinstance(crawl, Crawling):
                    found.append(describe_stuck(shop, crawl, now))
        return found

    async def _countries(self) -> list[str]:
        found = await self.db.countries()
        return sorted(found.countries) if found else []

    # ── steps ────────────────────────────────────────────────────────────────────────────────────────────────────────
    async def start(self, shop: Shop, owner: str) -> LeasedCrawl | None:
        """Start the crawl of a shop, or take over an abandoned one; None if another worker was faster."""
        now = self._now()
        lease = now + LEASE
        crawl = shop.crawl
        try:
            if isinstance(crawl, Crawling):
                return await self.db.take_crawl(
                    crawl,
                    now=now,
                    last_crawled_start=crawl.last_crawled_start,
                    crawl_owner=owner,
                    crawl_lease_until=lease,
                    crawl_attempts=1,
                )
            return await self.db.start_crawl(
                crawl, last_crawled_start=now, crawl_owner=owner, crawl_lease_until=lease, crawl_attempts=1
            )
        except Conflict:
            return None

    async def extend(self, crawl: LeasedCrawl) -> LeasedCrawl:
        """Extend the lease; raise Conflict if it belongs to another worker now."""
        return await retry_transient(
            lambda: self.db.extend_crawl(crawl, crawl_lease_until=self._now() + LEASE, crawl_owner=crawl.crawl_owner)
        )

    async def finish(self, crawl: LeasedCrawl) -> Crawled:
        """End a crawl that has visited everything; raise Conflict if it belongs to another worker now."""
        return await retry_transient(
            lambda: self.db.finish_crawl(crawl, last_crawled_end=self._now(), crawl_owner=crawl.crawl_owner)
        )

    async def fail(self, crawl: LeasedCrawl, reason: str, attempts: int, wait_s: float = 0.0) -> None:
        """Return a crawl to the state before it, with the error; it is tried again later, where it stopped."""
        await self._return(crawl, reason, {"crawl_retry_at": find_retry_time(attempts, self._now(), wait_s)})

    async def stop(self, crawl: LeasedCrawl, note: str) -> None:
        """Return a crawl to the state before it because the operator asked; it goes on as soon as it may."""
        await self._return(crawl, note, {})

    async def _return(self, crawl: LeasedCrawl, reason: str, retry: dict[str, datetime]) -> None:
        error = shorten(reason, MAX_ERROR_LENGTH)
        try:
            if crawl.last_crawled_end is None:
                await self.db.fail_first_crawl(crawl, last_crawl_error=error, crawl_owner=crawl.crawl_owner, **retry)
            else:
                await self.db.fail_crawl(
                    crawl,
                    last_crawl_error=error,
                    last_crawled_end=crawl.last_crawled_end,
                    crawl_owner=crawl.crawl_owner,
                    **retry,
                )
        except Conflict:
            return  # another worker has it

    async def release(self, crawl: LeasedCrawl) -> None:
        """End the lease of a crawl that its worker cannot go on with: the next worker takes it over at once."""
        ended = self._now() - timedelta(seconds=1)
        with suppress(Conflict):
            await self.db.release_crawl(
                crawl, crawl_lease_until=ended, crawl_owner=crawl.crawl_owner, crawl_attempts=-1
            )

    async def reap(self) -> list[str]:
        """Return crawls that are stuck and whose lease has expired to the state before them; return their domains."""
        stuck = await self.find_stuck()
        return [each.shop.domain for each in stuck if each.abandoned and await self._revert(each.shop)]

    async def _revert(self, shop: Shop) -> bool:
        crawl, now = shop.crawl, self._now()
        assert isinstance(crawl, Crawling)
        try:
            if crawl.last_crawled_end is None:
                await self.db.forget_crawl(crawl, now=now, last_crawl_error=REAPED)
            else:
                await self.db.revert_crawl(
                    crawl, now=now, last_crawl_error=REAPED, last_crawled_end=crawl.last_crawled_end
                )
        except Conflict:
            return False  # its worker is alive, or another one has it
        return True

    def _now(self) -> datetime:
        return to_second(self.clock.millis())


def is_abandoned(crawl: object, now: datetime) -> bool:
    """Return whether a crawl in progress has no worker any more: no lease, as in the original, or an expired one."""
    if isinstance(crawl, LeasedCrawl):
        return crawl.crawl_lease_until < now
    return isinstance(crawl, Crawling) and crawl.last_crawled_start < now - STUCK_AFTER


def describe_stuck(shop: Shop, crawl: Crawling, now: datetime) -> StuckShop:
    """Return a crawl that is stuck, with its lease."""
    leased = crawl if isinstance(crawl, LeasedCrawl) else None
    return StuckShop(
        shop=shop,
        what="crawl",
        started_at=crawl.last_crawled_start,
        owner=leased.crawl_owner if leased else None,
        lease_until=leased.crawl_lease_until if leased else None,
        abandoned=leased is None or leased.crawl_lease_until < now,
    )
