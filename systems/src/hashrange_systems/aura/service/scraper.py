"""Scrapes one shop: visits its products, conditionally, and records what changed.

A scrape that is interrupted goes on: products visited since its start are left out. An error page, a CAPTCHA, or a
page that proves nothing never changes a state.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from hashrange import Conflict
from hashrange_systems.aura.model.breakage import Coverage, find_breakage
from hashrange_systems.aura.schema import Aura, LeasedScrape, Product, Scraped, Shop, Url
from hashrange_systems.aura.service.crawler import GONE, STOPPED, CrawlFailed, CrawlLimits, CrawlStopped
from hashrange_systems.aura.service.frontier import is_over
from hashrange_systems.aura.service.price_recorder import Finding, PriceRecorder, ProductVisit, find_proven
from hashrange_systems.aura.service.products import Products
from hashrange_systems.aura.service.registry import read_overrides
from hashrange_systems.aura.service.schedule import RENEWAL_INTERVAL_S
from hashrange_systems.aura.service.scrapes import Scrapes
from hashrange_systems.aura.service.site import (
    MAX_FAILURES,
    MAX_TRIES,
    PageVisit,
    Site,
    SiteTools,
    SiteUnavailable,
    Validators,
    find_start,
    find_wait,
)
from hashrange_systems.aura.work_schema import NewChange, ScrapeReport, ScrapeRun, ShopOptions, Work
from hashrange_systems.shared.epoch import from_ms, to_second
from hashrange_systems.shared.errors import ApplicationError
from hashrange_systems.shared.fetching.errors import FetchError, RequestRefused
from hashrange_systems.shared.sandbox.errors import Reason, SandboxError
from hashrange_systems.shared.work.lease import LeaseLost, keep_alive
from hashrange_systems.shared.work.retry import retry_transient

if TYPE_CHECKING:
    from hashrange import Clock

log = logging.getLogger(__name__)

PAGE = 50
REMOVED_AFTER = 2  # visits in a row that found nothing; 410 counts at once
READ = frozenset({200, 304})
BASELINE = 5  # reports that a scrape is compared with


@dataclass(frozen=True, slots=True)
class Scraper:
    """Scrapes shops, one at a time for each call; any number of calls may run at the same time."""

    db: Aura
    work: Work
    clock: Clock
    scrapes: Scrapes
    products: Products
    recorder: PriceRecorder
    tools: SiteTools
    limits: CrawlLimits = field(default_factory=CrawlLimits)

    async def scrape(self, lease: LeasedScrape) -> Scraped | None:
        """Scrape a shop to its end; None if it failed, was stopped, or another worker has it."""
        shop = await self.db.shop(lease.domain).required()
        try:
            return await keep_alive(lambda: self.scrapes.extend(lease), self._run(shop, lease), RENEWAL_INTERVAL_S)
        except LeaseLost:
            log.warning("the lease of a scrape was lost", extra={"fields": {"shop": lease.domain}})
        except CrawlStopped:
            await self.scrapes.stop(lease, STOPPED)
        except (FetchError, SandboxError, ApplicationError) as error:
            log.info("a scrape failed", extra={"fields": {"shop": lease.domain, "reason": str(error)}})
            await self.scrapes.fail(lease, str(error), shop.scrape_attempts, find_wait(error))
        except asyncio.CancelledError:
            await asyncio.shield(self.scrapes.release(lease))
            raise
        return None

    async def _run(self, shop: Shop, lease: LeasedScrape) -> Scraped:
        options = await self.work.options(shop.domain) or ShopOptions(domain=shop.domain)
        site = Site(
            tools=self.tools,
            domain=shop.domain,
            start_url=find_start(shop.domain, shop.start_url),
            own_delay_s=self.limits.delay_s if options.delay_ms is None else options.delay_ms / 1000,
            excludes=tuple(options.excludes),
            pace=self.tools.paces.find(shop.domain),
            overrides=read_overrides(options),
        )
        await site.open()
        run = await self.work.put(await self._begin_run(lease))
        await ScrapeWalk(self, site, shop, run).walk()
        finished = await self.scrapes.finish(lease)
        await self._report(shop)
        return finished

    async def _begin_run(self, lease: LeasedScrape) -> ScrapeRun:
        """Return the run that was interrupted, or a new one.

        Its walk counts the products that were visited before again, from the table: a worker that was killed had
        counts in memory, and a scrape with too few products raises an alarm.
        """
        run = await self.work.scrape_run(lease.domain).consistent()
        if run is None or is_over(run.started_at, self.now(), lease.last_scraped_end):
            return ScrapeRun(domain=lease.domain, started_at=self.now())
        return ScrapeRun(domain=lease.domain, started_at=run.started_at, changed=run.changed, removed=run.removed)

    async def _report(self, shop: Shop) -> None:
        """Store the coverage of the scrape, compare it with the shop's own baseline, and forget the run."""
        run = await self.work.scrape_run(shop.domain).consistent()
        if run is None:
            return
        before = await self.work.scrape_reports(shop.domain).limit(BASELINE * 2)
        past = [read_coverage(each) for each in before if each.broken is None][:BASELINE]
        broken = find_breakage(past, read_coverage(run))
        counts = run.model_dump(exclude={"domain", "started_at"})
        await self.work.put(ScrapeReport(domain=shop.domain, at=self.now(), broken=broken, **counts))
        was_broken = bool(before) and before[0].broken is not None
        if (broken is not None) != was_broken:
            await self._alarm(shop, broken)
        await self.work.end_scrape_run(shop.domain)

    async def _alarm(self, shop: Shop, broken: str | None) -> None:
        change = NewChange(
            at=from_ms(self.clock.millis()),
            change_id=self.recorder.make_id(),
            domain=shop.domain,
            shop_country=shop.shop_country,
            url=find_start(shop.domain, shop.start_url),
            kind="BROKEN" if broken else "MENDED",
            title=shop.shop_name or shop.domain,
            detail=broken or "its products have their fields again",
        )
        await self.work.create(change)

    def now(self) -> datetime:
        """The time, in whole seconds."""
        return to_second(self.clock.millis())


@dataclass(slots=True)
class ScrapeWalk:
    """One scrape in progress."""

    scraper: Scraper
    site: Site
    shop: Shop
    run: ScrapeRun
    _counts: Counter[str] = field(default_factory=Counter)
    _failures: int = 0
    _stopped: bool = False

    @property
    def _selectors(self) -> str | None:
        """The shop's own selectors; a page that was read with others is read again, even if it is the same."""
        return self.site.overrides.text if self.site.overrides else None

    async def walk(self) -> None:
        """Visit every product that was not visited since the run began."""
        async for page in self._pages():
            for url in filter(self._is_visited, page):
                self._count_visited(url)
            waiting = [url for url in page if not self._is_visited(url)]
            forms = await self.site.find_canonical([url.url for url in waiting]) if waiting else []
            queue = [url for url, form in zip(waiting, forms, strict=True) if form is not None]
            self._counts["skipped"] += len(waiting) - len(queue)
            permits = asyncio.Semaphore(self.scraper.limits.at_once)
            await gather_or_cancel([self._visit_when_free(url, permits) for url in queue])
            await self._count()
            if self._stopped:
                raise CrawlStopped

    def _is_visited(self, url: Url) -> bool:
        return url.scraped_at is not None and url.scraped_at >= self.run.started_at

    async def _pages(self) -> AsyncIterator[list[Product]]:
        cursor, more = None, True
        while more:
            query = self.scraper.db.products(self.shop.domain).skip_unreadable()
            page = await query.page(PAGE, after=cursor)
            yield list(page.items)
            cursor, more = page.cursor, page.cursor is not None

    async def _proceed(self) -> None:
        """Raise CrawlStopped if the operator asked to stop; half a read before each product."""
        if not self._stopped:
            options = await self.scraper.work.options(self.shop.domain)
            self._stopped = options is not None and options.stop
        if self._stopped:
            raise CrawlStopped

    async def _visit_when_free(self, url: Url, permits: asyncio.Semaphore) -> None:
        async with permits:
            for _ in range(MAX_TRIES):
                if await self._visit(url):
                    return
            self._counts["products"] += 1
            self._counts["failed"] += 1

    async def _visit(self, url: Url) -> bool:
        """Visit a product; return False if it should be tried again."""
        known = None
        if url.scraped_at is not None and url.state is not None and url.scraped_with == self._selectors:
            known = Validators(etag=url.scraped_etag, last_modified=url.scraped_modified)
        try:
            visit = await self.site.visit(url.url, known, self._proceed)
        except CrawlStopped:
            return True  # it waits; those at hand are finished, then `walk` raises it
        except RequestRefused:
            self._counts.update(products=1, failed=1)
            return True
        except FetchError as error:
            self._fail(str(error))
            return False
        except SiteUnavailable:
            await self._mark(url, 503)  # else the next attempt would end at the same page
            raise
        except SandboxError as error:
            if error.reason in {Reason.CLOSED, Reason.BUSY}:
                raise
            log.warning("a page cannot be read", extra={"fields": {"url": url.url, "reason": str(error)}})
            self._counts.update(products=1, failed=1)
            return True
        if visit.wait_s is not None:
            self._fail(f"{visit.url} answers {visit.status}")
            return False
        self._failures = 0
        await retry_transient(lambda: self._record(url, visit))
        return True

    def _fail(self, reason: str) -> None:
        self._failures += 1
        if self._failures >= MAX_FAILURES:
            raise CrawlFailed(f"The site does not answer: {reason}")

    async def _record(self, url: Url, visit: PageVisit) -> None:
        facts = visit.facts
        if visit.status == 304:
            self._count_product(url.price_minor, url.state, url.title)
            await self._mark(url, 304)
        elif visit.status in GONE or (facts is not None and facts.missing):
            await self._record_missing(url, visit.status)
        elif facts is None or facts.blocked:
            self._counts.update(products=1, failed=1)
            await self._mark(url, visit.status)
        else:
            await self._record_facts(
                url,
                ProductVisit(
                    status=visit.status,
                    facts=facts,
                    etag=visit.etag,
                    last_modified=visit.last_modified,
                    selectors=self._selectors,
                ),
            )

    async def _record_facts(self, url: Url, visit: ProductVisit) -> None:
        facts, recorder, country = visit.facts, self.scraper.recorder, self.shop.shop_country
        if facts.type != "product":  # it shows nothing of the product, for now
            self._count_product(None, None, facts.title)
            await self._mark(url, visit.status)
            return
        finding = find_proven(url, facts)
        changed = await recorder.record(url, finding, country, facts.title)
        self._count_product(facts.price_minor, facts.state, facts.title)
        if changed is not None:
            self._counts["changed"] += 1
        with suppress(Conflict):  # the page was dropped
            await recorder.record_details(changed or url, visit, country)
        if changed is not None or facts.title != url.title:
            now = changed or url
            await self.scraper.products.index_words(now.model_copy(update={"title": facts.title}), country)

    async def _record_missing(self, url: Url, status: int) -> None:
        """Count a product that is not there; it is REMOVED when that is certain."""
        db = self.scraper.db
        with suppress(Conflict):
            counted = await db.record_missing(url.domain, url.url, http_status=status, missing_count=1)
            if status == 410 or counted.missing_count >= REMOVED_AFTER:
                removed = await self.scraper.recorder.record(url, Finding(state="REMOVED"), self.shop.shop_country)
                self._counts["removed"] += 1 if removed is not None else 0
            await db.record_scrape(url, scraped_at=self.scraper.now(), http_status=status)

    async def _mark(self, url: Url, status: int) -> None:
        with suppress(Conflict):
            await self.scraper.db.record_scrape(url, scraped_at=self.scraper.now(), http_status=status)

    def _count_visited(self, url: Url) -> None:
        """Count a product that this run visited before it was interrupted."""
        if url.http_status in READ:
            self._count_product(url.price_minor, url.state, url.title)
        elif url.http_status not in GONE:
            self._counts.update(products=1, failed=1)

    def _count_product(self, price_minor: int | None, state: str | None, title: str | None) -> None:
        self._counts.update(
            products=1,
            priced=int(price_minor is not None),
            stated=int(state not in {None, "UNKNOWN"}),
            titled=int(bool(title)),
        )

    async def _count(self) -> None:
        counts, self._counts = self._counts, Counter()
        names = ("products", "priced", "stated", "titled", "failed", "changed", "removed", "skipped")
        with suppress(Conflict):
            await self.scraper.work.count_scrape(self.shop.domain, **{name: counts[name] for name in names})


async def gather_or_cancel(work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run coroutines at the same time; when one fails, cancel the others and raise its error."""
    tasks = [asyncio.create_task(each) for each in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def read_coverage(report: ScrapeReport | ScrapeRun) -> Coverage:
    """Return the coverage of a report."""
    return Coverage(products=report.products, priced=report.priced, stated=report.stated, titled=report.titled)
