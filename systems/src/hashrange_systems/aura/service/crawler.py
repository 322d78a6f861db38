"""Crawls one shop: robots.txt, sitemaps and known URLs first, then breadth first, until nothing waits.

A crawl that is interrupted goes on in the same frontier: a page is stored before its links, its links before the note
that it was visited, so the final table is the same. URLs are upserted, and their `hash` is never touched.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from hashrange import Conflict, Missing, Taken
from hashrange_systems.aura.extraction.page_facts import PageFacts
from hashrange_systems.aura.model.page_url import MAX_DEPTH
from hashrange_systems.aura.schema import Aura, Crawled, LeasedCrawl, Shop, Url
from hashrange_systems.aura.service.crawls import Crawls
from hashrange_systems.aura.service.frontier import Frontier, begin_run
from hashrange_systems.aura.service.schedule import RENEWAL_INTERVAL_S
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
from hashrange_systems.aura.work_schema import CrawlReport, ShopOptions, WaitingUrl, Work
from hashrange_systems.shared.epoch import to_second
from hashrange_systems.shared.errors import ApplicationError
from hashrange_systems.shared.fetching.errors import FetchError, RequestRefused
from hashrange_systems.shared.sandbox.errors import Reason, SandboxError
from hashrange_systems.shared.work.lease import LeaseLost, keep_alive
from hashrange_systems.shared.work.retry import retry_transient

if TYPE_CHECKING:
    from hashrange import Clock

log = logging.getLogger(__name__)

READ_AHEAD = 64  # URLs taken from the frontier at a time
FLUSH_AT = 200  # links and visits in memory
MAX_SITEMAPS = 500
MAX_NOTES = 10  # of one report
MAX_REDIRECTS = 10  # in a row
MAX_URLS, URLS_PER_PAGE = 100_000, 10  # of one run: the larger one of these, or so many for each page of its limit
KNOWN_AT_ONCE = 500
GONE = frozenset({404, 410})
STOPPED = "stopped by the operator"


class CrawlFailed(ApplicationError):
    """The crawl cannot go on; it is tried again later."""


class CrawlStopped(Exception):
    """The operator asked to stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlLimits:
    """What bounds a crawl: pages of one run, requests at the same time, the pause between them in seconds."""

    max_pages: int = 100_000
    at_once: int = 4
    delay_s: float = 1.0


@dataclass(frozen=True, slots=True)
class Crawler:
    """Crawls shops, one at a time for each call; any number of calls may run at the same time."""

    db: Aura
    work: Work
    clock: Clock
    crawls: Crawls
    tools: SiteTools
    limits: CrawlLimits = field(default_factory=CrawlLimits)

    async def crawl(self, lease: LeasedCrawl) -> Crawled | None:
        """Crawl a shop to its end; None if it failed, was stopped, or another worker has it."""
        shop = await self.db.shop(lease.domain).required()
        try:
            return await keep_alive(lambda: self.crawls.extend(lease), self._run(shop, lease), RENEWAL_INTERVAL_S)
        except LeaseLost:
            log.warning("the lease of a crawl was lost", extra={"fields": {"shop": lease.domain}})
        except CrawlStopped:
            await self.crawls.stop(lease, STOPPED)
        except (CrawlFailed, FetchError, SandboxError, ApplicationError) as error:
            log.info("a crawl failed", extra={"fields": {"shop": lease.domain, "reason": str(error)}})
            await self.crawls.fail(lease, str(error), shop.crawl_attempts, find_wait(error))
        except asyncio.CancelledError:
            await asyncio.shield(self.crawls.release(lease))
            raise
        return None

    async def _run(self, shop: Shop, lease: LeasedCrawl) -> Crawled:
        options = await self.work.options(shop.domain) or ShopOptions(domain=shop.domain)
        site = Site(
            tools=self.tools,
            domain=shop.domain,
            start_url=find_start(shop.domain, shop.start_url),
            own_delay_s=self.limits.delay_s if options.delay_ms is None else options.delay_ms / 1000,
            excludes=tuple(options.excludes),
            pace=self.tools.paces.find(shop.domain),
        )
        await site.open()
        frontier = await begin_run(self.work, self.clock, shop.domain, lease.last_crawled_end)
        walk = CrawlWalk(self, site, frontier, options.max_pages or self.limits.max_pages)
        if frontier.run.note:
            walk.notes += frontier.run.note.split("; ")
        await walk.seed()
        await walk.walk()
        finished = await self.crawls.finish(lease)
        await self._report(shop, site, frontier, walk)
        return finished

    async def _report(self, shop: Shop, site: Site, frontier: Frontier, walk: CrawlWalk) -> None:
        """Store what the crawl did, and forget the run."""
        run = await self.work.run(shop.domain).consistent() or frontier.run
        report = CrawlReport(
            domain=shop.domain,
            at=self.now(),
            started_at=run.started_at,
            fetched=run.fetched,
            found=run.found,
            failed=run.failed,
            unchanged=run.unchanged,
            crawl_delay_s=site.robots.crawl_delay_s,
            delay_s=site.pace.delay_s,
            sitemaps=walk.sitemaps,
            note="; ".join(walk.notes) or None,
        )
        await self.work.put(report)
        if walk.standards:
            used = sorted(walk.standards | set(shop.standards_used or ()))
            with suppress(Missing):
                await self.db.update_details(shop.domain, standards_used=used)
        await self.work.end_run(shop.domain)

    def now(self) -> datetime:
        """The time, in whole seconds."""
        return to_second(self.clock.millis())


@dataclass(slots=True)
class CrawlWalk:
    """One crawl in progress: takes URLs from the frontier, visits them, stores what they are and where they lead."""

    crawler: Crawler
    site: Site
    frontier: Frontier
    max_pages: int
    standards: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    sitemaps: int = 0
    _ready: deque[tuple[WaitingUrl, Url | None]] = field(default_factory=deque)
    _busy: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _tries: Counter[str] = field(default_factory=Counter)
    _redirects: dict[str, int] = field(default_factory=dict)  # how many in a row led to a URL
    _counts: Counter[str] = field(default_factory=Counter)
    _failures: int = 0
    _visited: int = 0
    _stopped: bool = False

    @property
    def domain(self) -> str:
        """The shop."""
        return self.site.domain

    @property
    def _has_read_nothing(self) -> bool:
        return not self._visited and not self.frontier.run.fetched

    # ── seeds ────────────────────────────────────────────────────────────────────────────────────────────────────────
    async def seed(self) -> None:
        """Put the start, the sitemaps and the known URLs into the frontier, unless the interrupted run did."""
        run = self.frontier.run
        start = await self.site.select([self.site.start_url])
        if not start:
            raise CrawlFailed("robots.txt, or an exclude, forbids the start page.")
        if run.seeded:
            return
        self.frontier.add(start, 0)
        await self._read_sitemaps()
        async for page in self._known_pages():
            forms = await self.site.find_canonical([url.url for url in page])
            for url, form in zip(page, forms, strict=True):
                if form is not None and form != url.url:
                    await self._respell(url, form)
            self.frontier.add(filter(None, forms), 1)
            await self._flush()
        await self._flush()
        self.frontier.run = await self.crawler.work.mark_seeded(self.domain, seeded=True, run=run.run)

    async def _read_sitemaps(self) -> None:
        declared = self.site.robots.sitemaps or (urljoin(self.site.start_url, "/sitemap.xml"),)
        waiting, seen = deque(declared), set(declared)
        while waiting and self.sitemaps < MAX_SITEMAPS:
            address = waiting.popleft()
            sitemap = await self.site.read_sitemap(address)
            self.sitemaps += 1
            if sitemap.problem and self.site.robots.sitemaps:
                self._note(f"the sitemap {address[:200]}: {sitemap.problem}")
            if sitemap.kind == "urls":
                self._add_links(sitemap.locations, 1)
                await self._flush()
                continue
            fresh = [url for url in sitemap.locations if url not in seen]
            seen.update(fresh)
            waiting.extend(fresh)

    async def _respell(self, url: Url, form: str) -> None:
        """Move a page that another program stored in another spelling, so that it is not stored twice.

        One with a state of ours has a history under its spelling, and keeps it.
        """
        if url.state is not None:
            return
        db = self.crawler.db
        try:
            await db.transact(
                db.create(url.model_copy(update={"url": form})).imported(), db.drop(self.domain, url.url)
            ).unread()
        except Taken:
            await db.drop(self.domain, url.url)

    async def _known_pages(self) -> AsyncIterator[list[Url]]:
        cursor, more = None, True
        while more:
            page = await self.crawler.db.urls(self.domain).skip_unreadable().page(KNOWN_AT_ONCE, after=cursor)
            yield list(page.items)
            cursor, more = page.cursor, page.cursor is not None

    # ── the walk ─────────────────────────────────────────────────────────────────────────────────────────────────────
    async def walk(self) -> None:
        """Visit what waits until nothing does, or a limit is reached."""
        try:
            await self._visit_waiting()
        except SiteUnavailable:
            await self._flush()
            raise
        await self._flush()
        if self._stopped:
            raise CrawlStopped
        if self._has_read_nothing:
            raise CrawlFailed("No page could be read.")

    async def _visit_waiting(self) -> None:
        try:
            while await self._refill():
                while self._ready and len(self._busy) < self.crawler.limits.at_once:
                    entry, known = self._ready.popleft()
                    self._busy[entry.url] = asyncio.create_task(self._visit(entry, known))
                if not self._busy:
                    continue  # everything that was taken is forbidden now
                done, _ = await asyncio.wait(self._busy.values(), return_when=asyncio.FIRST_COMPLETED)
                self._busy = {url: task for url, task in self._busy.items() if task not in done}
                for task in done:
                    task.result()
                if self.frontier.unwritten >= FLUSH_AT:
                    await self._flush()
        finally:
            for task in self._busy.values():
                task.cancel()
            await asyncio.gather(*self._busy.values(), return_exceptions=True)

    async def _refill(self) -> bool:
        """Take the next URLs when few are left; return whether there is anything to do."""
        if self._stopped:
            self._ready.clear()
            return bool(self._busy)
        room = self.max_pages - self.frontier.run.fetched - self._visited - len(self._busy) - len(self._ready)
        if len(self._ready) < self.crawler.limits.at_once and (room > 0 or not (self._ready or self._busy)):
            await self._flush()
            busy = [*self._busy, *(entry.url for entry, _ in self._ready)]
            taken = await self.frontier.take(min(READ_AHEAD, max(room, 1)), busy)
            if room <= 0:
                if taken:
                    self._note(f"the limit of {self.max_pages} pages was reached")
                return False
            allowed = await self._drop_forbidden(taken)
            db = self.crawler.db
            known = await db.fetch([db.url(self.domain, entry.url) for entry in allowed]) if allowed else []
            self._ready.extend(zip(allowed, known, strict=True))
            return bool(taken or self._ready or self._busy)
        return bool(self._ready or self._busy)

    async def _drop_forbidden(self, taken: Sequence[WaitingUrl]) -> list[WaitingUrl]:
        """Return the URLs that may be visited: the rules may be new since they were found, or of another origin."""
        forms = await self.site.find_canonical([entry.url for entry in taken]) if taken else []
        allowed = []
        for entry, form in zip(taken, forms, strict=True):
            if form is None:
                self.frontier.finish(entry)
            else:
                allowed.append(entry)
        return allowed

    async def _proceed(self) -> None:
        """Raise CrawlStopped if the operator asked to stop; half a read before each page."""
        if not self._stopped:
            options = await self.crawler.work.options(self.domain)
            self._stopped = options is not None and options.stop
        if self._stopped:
            raise CrawlStopped

    def _note(self, text: str) -> None:
        if text not in self.notes and len(self.notes) < MAX_NOTES:
            self.notes.append(text)

    async def _keep_notes(self) -> None:
        """Store the notes with the run, so that an interruption does not lose them."""
        run, text = self.frontier.run, "; ".join(self.notes)
        if text != (run.note or ""):
            self.frontier.run = await self.crawler.work.note_run(self.domain, run=run.run, note=text)

    async def _visit(self, entry: WaitingUrl, known: Url | None) -> None:
        """Visit one URL; failures are counted, and end the crawl when there is nothing else."""
        try:
            visit = await self.site.visit(entry.url, self._find_validators(known), self._proceed)
        except CrawlStopped:
            return  # it waits in the frontier
        except RequestRefused:
            self._finish(entry, "failed")
            return
        except FetchError as error:
            self._fail(entry, known, str(error))
            return
        except SiteUnavailable:
            if not self._has_read_nothing:
                self._finish(entry, "failed")  # else the next attempt would end at the same page
            raise
        except SandboxError as error:
            if error.reason in {Reason.CLOSED, Reason.BUSY}:
                raise
            log.warning("a page cannot be read", extra={"fields": {"url": entry.url, "reason": str(error)}})
            self._finish(entry, "failed")
            return
        if visit.wait_s is not None:
            self._fail(entry, known, f"{visit.url} answers {visit.status}")
            return
        self._failures = 0
        await retry_transient(lambda: self._store(entry, visit, known))

    def _find_validators(self, known: Url | None) -> Validators | None:
        """Return what makes a request conditional; None for a page that this run stored before it was interrupted.

        Its links may not be in the frontier yet, and a response without a body has none.
        """
        if known is None or known.last_seen is None or known.last_seen >= self.frontier.run.started_at:
            return None
        return Validators(etag=known.etag, last_modified=known.last_modified)

    def _fail(self, entry: WaitingUrl, known: Url | None, reason: str) -> None:
        """Try a page again at the end of what is ready; give it up after some tries."""
        self._failures += 1
        self._tries[entry.url] += 1
        if self._failures >= MAX_FAILURES or (self._has_read_nothing and self._tries[entry.url] >= MAX_TRIES):
            raise CrawlFailed(f"The site does not answer: {reason}")
        if self._tries[entry.url] < MAX_TRIES:
            self._ready.append((entry, known))
            return
        del self._tries[entry.url]
        self._finish(entry, "failed")

    def _finish(self, entry: WaitingUrl, outcome: str) -> None:
        self.frontier.finish(entry)
        self._counts[outcome] += 1

    async def _store(self, entry: WaitingUrl, visit: PageVisit, known: Url | None) -> None:
        """Store what a page is, then note its links, then that it was visited."""
        db, now = self.crawler.db, self.crawler.now()
        outcome = "fetched"
        if visit.redirect is not None:
            await self._follow(entry, visit.redirect)
        elif visit.status == 304:
            outcome = "unchanged"
            with suppress(Missing):
                await db.record_unchanged(self.domain, entry.url, last_seen=now, http_status=304)
        elif visit.facts is not None and not visit.facts.missing and not visit.facts.blocked:
            await self._store_page(entry, visit, visit.facts, known)
        elif visit.status in GONE or (visit.facts is not None and visit.facts.missing):
            outcome = "failed"
            if known is not None:
                await self._store_missing(entry, visit)
        elif visit.status != 200:
            outcome = "failed"
        self._visited += 1
        self._counts["visited"] += 1
        self._finish(entry, outcome)

    async def _store_page(self, entry: WaitingUrl, visit: PageVisit, facts: PageFacts, known: Url | None) -> None:
        """Upsert the page; `hash`, `state` and the price belong to the scrape and are not touched.

        A product whose page shows nothing for once stays a product.
        """
        now = self.crawler.now()
        lost = known is not None and known.type == "product" and facts.type == "other"
        if facts.noindex and facts.type != "product":
            self._add_links(facts.links, entry.depth + 1)
            return
        await self.crawler.db.record_visit(
            self.domain,
            entry.url,
            type="product" if lost else facts.type,
            last_seen=now,
            first_seen=now,
            http_status=visit.status,
            etag=visit.etag,
            last_modified=visit.last_modified,
            standards_used=list(facts.standards_used) or None,
            title=known.title if known is not None and lost else facts.title,
        )
        self.standards.update(facts.standards_used)
        self._add_links(facts.links, entry.depth + 1)

    def _add_links(self, urls: Sequence[str], depth: int) -> None:
        """Note links for the frontier, unless a site invents them without end."""
        limit = max(MAX_URLS, URLS_PER_PAGE * self.max_pages)
        room = max(0, limit - self.frontier.run.found - self.frontier.unwritten)
        if len(urls) > room:
            self._note(f"the limit of {limit} URLs was reached")
        self.frontier.add(urls[:room], depth)

    async def _follow(self, entry: WaitingUrl, location: str) -> None:
        """Let the target of a redirect wait like a link, unless redirects do not end."""
        in_a_row = self._redirects.pop(entry.url, 0) + 1
        if in_a_row > MAX_REDIRECTS:
            self._note(f"more than {MAX_REDIRECTS} redirects in a row were not followed")
            return
        for url in await self.site.select([location]):
            if not self.frontier.has_seen(url):
                self._redirects[url] = in_a_row
            self.frontier.add([url], entry.depth)

    async def _store_missing(self, entry: WaitingUrl, visit: PageVisit) -> None:
        with suppress(Conflict):
            await self.crawler.db.record_missing(self.domain, entry.url, http_status=visit.status, missing_count=1)

    async def _flush(self) -> None:
        """Write the frontier, and count what was done since the last time."""
        new = await retry_transient(self.frontier.flush)
        if self.frontier.cut:
            self._note(f"pages more than {MAX_DEPTH} links away from the start were left out")
        await self._keep_notes()
        counts, self._counts = self._counts, Counter()
        if new or counts:
            run = self.frontier.run
            updated = await self.crawler.work.count_run(
                self.domain,
                run=run.run,
                fetched=counts["visited"],
                found=new,
                failed=counts["failed"],
                unchanged=counts["unchanged"],
            )
            self._visited -= counts["visited"]
            self.frontier.run = updated
