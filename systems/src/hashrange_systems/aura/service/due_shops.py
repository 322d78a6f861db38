"""Crawls and scrapes that are due, some at the same time; any number of processes may do it.

A shop is worked on by one of them, which has its lease.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hashrange_systems.aura.schema import Shop
from hashrange_systems.aura.service.crawler import Crawler
from hashrange_systems.aura.service.crawls import Crawls
from hashrange_systems.aura.service.damaged_shops import explain_name
from hashrange_systems.aura.service.scraper import Scraper
from hashrange_systems.aura.service.scrapes import Scrapes
from hashrange_systems.shared.work.loops import cancel_all

if TYPE_CHECKING:
    from hashrange import Clock

log = logging.getLogger(__name__)

MISNAMED_FOR_MS = 600_000  # after which a shop that was skipped for its name is looked at again


@dataclass(slots=True)
class DueShops:
    """Crawls and scrapes due shops, `at_once` at the same time; `owner` has their leases."""

    crawls: Crawls
    crawler: Crawler
    scrapes: Scrapes
    scraper: Scraper
    clock: Clock
    owner: str
    at_once: int
    _running: dict[str, asyncio.Task[None]] = field(default_factory=dict)  # by "crawl domain" or "scrape domain"
    _misnamed: dict[str, int] = field(default_factory=dict)  # shops that are skipped, until when

    def describe(self) -> tuple[str, int]:
        """Return what it works on, and that the work on a shop is never late by itself."""
        return ", ".join(sorted(self._running)), 0

    async def stop(self) -> None:
        """Cancel what runs, which releases the shops, so that other workers go on with them at once."""
        await cancel_all(list(self._running.values()))

    async def start_due(self) -> int:
        """Start due scrapes and crawls as far as there are free slots; return how many run."""
        if len(self._running) < self.at_once:
            async for shop in self.scrapes.find_eligible():
                if await self._is_misnamed(shop):
                    continue
                if not await self._start(f"scrape {shop.domain}", self._scrape, shop):
                    break
        if len(self._running) < self.at_once:
            async for shop in self.crawls.find_due():
                if await self._is_misnamed(shop):
                    continue
                if not await self._start(f"crawl {shop.domain}", self._crawl, shop):
                    break
        return len(self._running)

    async def _is_misnamed(self, shop: Shop) -> bool:
        """Return whether a shop is skipped because no shop has its domain as its key, or that is no host."""
        now = self.clock.millis()
        if self._misnamed.get(shop.domain, 0) > now:
            return True
        reason = await explain_name(self.crawls.db, shop)
        if reason is None:
            return False
        self._misnamed = {domain: until for domain, until in self._misnamed.items() if until > now}
        self._misnamed[shop.domain] = now + MISNAMED_FOR_MS
        log.warning("a shop is skipped", extra={"fields": {"shop": shop.domain, "reason": reason}})
        return True

    async def _start(self, name: str, job: Callable[[Shop], Awaitable[None]], shop: Shop) -> bool:
        """Start a job unless it runs; return whether there are free slots."""
        if name not in self._running:
            task = asyncio.create_task(self._guard(job, shop), name=name)
            self._running[name] = task
            task.add_done_callback(lambda _: self._running.pop(name, None))
            await asyncio.sleep(0)
        return len(self._running) < self.at_once

    async def _guard(self, job: Callable[[Shop], Awaitable[None]], shop: Shop) -> None:
        try:
            await job(shop)
        except Exception:  # the outermost handler: the shop is taken over when its lease has expired
            log.exception("work on a shop failed", extra={"fields": {"shop": shop.domain}})

    async def _crawl(self, shop: Shop) -> None:
        lease = await self.crawls.start(shop, self.owner)
        if lease is not None:
            log.info("crawling", extra={"fields": {"shop": shop.domain}})
            await self.crawler.crawl(lease)

    async def _scrape(self, shop: Shop) -> None:
        lease = await self.scrapes.start(shop, self.owner)
        if lease is not None:
            log.info("scraping", extra={"fields": {"shop": shop.domain}})
            await self.scraper.scrape(lease)
