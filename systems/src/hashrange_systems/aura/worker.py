"""The background work: crawls and scrapes due shops, reaps stuck ones, notifies members of changes.

Any number of workers may share a database: a shop is worked on by one of them, which has its lease.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hashrange import HashrangeError
from hashrange_systems.aura.schema import Shop
from hashrange_systems.aura.service.crawler import Crawler
from hashrange_systems.aura.service.crawls import Crawls
from hashrange_systems.aura.service.damaged_shops import explain_name
from hashrange_systems.aura.service.notices import NoticeOutbox
from hashrange_systems.aura.service.scraper import Scraper
from hashrange_systems.aura.service.scrapes import Scrapes
from hashrange_systems.aura.service.stream_registration import Registrar
from hashrange_systems.aura.service.watches import Watches
from hashrange_systems.aura.work_schema import WorkerPresence
from hashrange_systems.shared.work.presence import Presence

if TYPE_CHECKING:
    from hashrange import Clock

log = logging.getLogger(__name__)

MAX_ACTIVITY = 500
MISNAMED_FOR_MS = 600_000  # after which a shop that was skipped for its name is looked at again


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """Concurrency and polling intervals. Times are in seconds."""

    at_once: int = 4
    poll_every: float = 2.0
    notify_every: float = 1.0
    reap_every: float = 60.0
    register_every: float = 30.0
    after_failure: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerParts:
    """The services that a worker uses."""

    crawls: Crawls
    crawler: Crawler
    scrapes: Scrapes
    scraper: Scraper
    watches: Watches
    outbox: NoticeOutbox
    registrar: Registrar


@dataclass(slots=True)
class Worker:
    """Runs the background work."""

    parts: WorkerParts
    presence: Presence[WorkerPresence]
    clock: Clock
    settings: WorkerSettings = field(default_factory=WorkerSettings)
    _running: dict[str, asyncio.Task[None]] = field(default_factory=dict)  # by "crawl domain" or "scrape domain"
    _polled_at: int | None = None
    _misnamed: dict[str, int] = field(default_factory=dict)  # shops that are skipped, until when

    def __post_init__(self) -> None:
        self.presence.measure = self.measure

    @property
    def name(self) -> str:
        """The owner of its leases."""
        return self.presence.worker_id

    async def work(self) -> None:
        """Work until cancelled; then release the shops, so that other workers go on with them at once."""
        settings = self.settings
        loops = [
            self._repeat(self.start_due, settings.poll_every),
            self._repeat(self.notify, settings.notify_every),
            self._repeat(self.reap, settings.reap_every),
            self._repeat(self.parts.registrar.register_new, settings.register_every),
            self.presence.write_forever(),
        ]
        tasks = [asyncio.create_task(loop) for loop in loops]
        try:
            await asyncio.gather(*tasks)
        finally:
            everything = [*tasks, *self._running.values()]
            for task in everything:
                task.cancel()
            await asyncio.gather(*everything, return_exceptions=True)

    async def _repeat(self, job: Callable[[], Awaitable[object]], pause: float) -> None:
        """Repeat a job; pause after an error of the database."""
        while True:
            try:
                await job()
            except HashrangeError as error:
                log.warning("the database failed", exc_info=error)
                await asyncio.sleep(self.settings.after_failure)
            else:
                await asyncio.sleep(pause)

    # ── crawls and scrapes ───────────────────────────────────────────────────────────────────────────────────────────
    async def run_due(self) -> None:
        """Crawl and scrape what is due, and wait until that is finished."""
        while await self.start_due():
            await asyncio.wait(list(self._running.values()))

    async def start_due(self) -> int:
        """Start due scrapes and crawls as far as there are free slots; return how many run."""
        if len(self._running) < self.settings.at_once:
            async for shop in self.parts.scrapes.find_eligible():
                if await self._is_misnamed(shop):
                    continue
                if not await self._start(f"scrape {shop.domain}", self._scrape, shop):
                    break
        if len(self._running) < self.settings.at_once:
            async for shop in self.parts.crawls.find_due():
                if await self._is_misnamed(shop):
                    continue
                if not await self._start(f"crawl {shop.domain}", self._crawl, shop):
                    break
        self._polled_at = self.clock.millis()
        return len(self._running)

    async def _is_misnamed(self, shop: Shop) -> bool:
        """Return whether a shop is skipped because no shop has its domain as its key, or that is no host."""
        now = self.clock.millis()
        if self._misnamed.get(shop.domain, 0) > now:
            return True
        reason = await explain_name(self.parts.crawls.db, shop)
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
        return len(self._running) < self.settings.at_once

    async def _guard(self, job: Callable[[Shop], Awaitable[None]], shop: Shop) -> None:
        try:
            await job(shop)
        except Exception:  # the outermost handler: the shop is taken over when its lease has expired
            log.exception("work on a shop failed", extra={"fields": {"shop": shop.domain}})

    async def _crawl(self, shop: Shop) -> None:
        lease = await self.parts.crawls.start(shop, self.name)
        if lease is not None:
            log.info("crawling", extra={"fields": {"shop": shop.domain}})
            await self.parts.crawler.crawl(lease)

    async def _scrape(self, shop: Shop) -> None:
        lease = await self.parts.scrapes.start(shop, self.name)
        if lease is not None:
            log.info("scraping", extra={"fields": {"shop": shop.domain}})
            await self.parts.scraper.scrape(lease)

    # ── the rest ─────────────────────────────────────────────────────────────────────────────────────────────────────
    async def notify(self) -> None:
        """Write the messages of new changes, and send what is due."""
        await self.parts.watches.notify_changes()
        await self.parts.outbox.send_due("all")

    async def reap(self) -> list[str]:
        """Return stuck crawls and scrapes to the state before them."""
        reaped = [*await self.parts.crawls.reap(), *await self.parts.scrapes.reap()]
        for domain in reaped:
            log.warning("a stuck shop was released", extra={"fields": {"shop": domain}})
        return reaped

    def measure(self) -> tuple[str, int]:
        """Return what it works on, and by how much the look for due shops is late, in milliseconds."""
        now, expected_ms = self.clock.millis(), round(self.settings.poll_every * 1000)
        late_ms = 0 if self._polled_at is None else now - self._polled_at - expected_ms
        return ", ".join(sorted(self._running))[:MAX_ACTIVITY], max(0, late_ms)
