"""Crawls and scrapes that an operator starts by hand; they run beside the pages, with leases as a worker has them."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field

from hashrange import HashrangeError
from hashrange_systems.aura.errors import CrawlRunning
from hashrange_systems.aura.schema import Aura, LeasedCrawl, Shop
from hashrange_systems.aura.service.crawler import Crawler
from hashrange_systems.aura.service.crawls import Crawls
from hashrange_systems.aura.service.owner import make_owner
from hashrange_systems.aura.service.scraper import Scraper
from hashrange_systems.aura.service.scrapes import Scrapes
from hashrange_systems.shared.errors import LimitReached

log = logging.getLogger(__name__)

AT_ONCE = 5


@dataclass(slots=True)
class RunNow:
    """The runs that were started by hand in this process."""

    db: Aura
    crawls: Crawls
    crawler: Crawler
    scrapes: Scrapes
    scraper: Scraper
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def start(self, shop: Shop) -> None:
        """Crawl a shop now, then scrape it; raise CrawlRunning if a worker is at it."""
        if len(self._tasks) >= AT_ONCE:
            raise LimitReached("Some shops are being crawled by hand already: wait until one has ended.")
        lease = await self.crawls.start(shop, make_owner("by hand"))
        if lease is None:
            raise CrawlRunning(shop.domain, "crawled", None)
        task = asyncio.create_task(self._run(lease))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, lease: LeasedCrawl) -> None:
        try:
            if await self.crawler.crawl(lease) is None:
                return
            shop = await self.db.shop(lease.domain).required()
            scrape = await self.scrapes.start(shop, lease.crawl_owner)
            if scrape is not None:
                await self.scraper.scrape(scrape)
        except HashrangeError as error:
            log.warning("a crawl by hand failed", exc_info=error, extra={"fields": {"shop": lease.domain}})

    async def close(self) -> None:
        """Stop the runs; they go on where they stopped when they are started again."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
