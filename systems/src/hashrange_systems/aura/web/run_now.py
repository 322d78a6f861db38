"""Crawls and scrapes that an operator starts by hand; they run beside the pages, with the same leases as a worker's."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field

from hashrange import HashrangeError
from hashrange_systems.aura.errors import CrawlRunning
from hashrange_systems.aura.schema import LeasedCrawl, Shop
from hashrange_systems.aura.service.owner import make_owner
from hashrange_systems.aura.services import Services
from hashrange_systems.shared.errors import LimitReached

log = logging.getLogger(__name__)

AT_ONCE = 5


@dataclass(slots=True)
class RunNow:
    """The runs that were started by hand in this process."""

    services: Services
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def start(self, shop: Shop) -> None:
        """Crawl a shop now, then scrape it; raise CrawlRunning if a worker is at it."""
        if len(self._tasks) >= AT_ONCE:
            raise LimitReached("Some shops are being crawled by hand already: wait until one has ended.")
        lease = await self.services.crawls.start(shop, make_owner("by hand"))
        if lease is None:
            raise CrawlRunning(shop.domain, "crawled", None)
        task = asyncio.create_task(self._run(lease))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, lease: LeasedCrawl) -> None:
        services = self.services
        try:
            if await services.crawler.crawl(lease) is None:
                return
            shop = await services.db.shop(lease.domain).required()
            scrape = await services.scrapes.start(shop, lease.crawl_owner)
            if scrape is not None:
                await services.scraper.scrape(scrape)
        except HashrangeError as error:
            log.warning("a crawl by hand failed", exc_info=error, extra={"fields": {"shop": lease.domain}})

    async def close(self) -> None:
        """Stop the runs; they go on where they stopped when they are started again."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
