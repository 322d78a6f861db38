"""The background work: mails, view counts, features, links, digests, search, logos, and repairs of foreign writes.

Any number of workers may share a database: what must happen once is claimed with a conditional write. Each job runs in
its own loop, so that a slow one delays no other; `late_ms` says how overdue the slowest is.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from hashrange import HashrangeError
from hashrange_systems.kelifax.logos.logo_consumer import LogoConsumer
from hashrange_systems.kelifax.search.index_consumer import IndexConsumer
from hashrange_systems.kelifax.service.mails import SHARDS, MailOutbox
from hashrange_systems.kelifax.services import Services

log = logging.getLogger(__name__)

AFTER_FAILURE_S = 5.0
JITTER = 0.1
FIRST_RUN_MS = 30_000  # within which every job succeeds once


@dataclass(frozen=True, slots=True)
class Job:
    """A part of the background work, and how often it runs."""

    name: str
    every_s: float
    run: Callable[[], Awaitable[object]]


@dataclass(slots=True)
class Worker:
    """Runs the background work."""

    services: Services
    outbox: MailOutbox
    index_consumer: IndexConsumer
    logo_consumer: LogoConsumer
    jobs: list[Job] = field(default_factory=list)
    _done_at: dict[str, int] = field(default_factory=dict)
    _started_at: int | None = None

    def __post_init__(self) -> None:
        self.jobs = self._list_jobs()
        self.services.presence.measure = self.measure

    def _list_jobs(self) -> list[Job]:
        services = self.services
        consumer = services.adoption.make_consumer()
        real = services.demo_admin is None  # the hosts of the demo do not exist
        links = [Job("links", 30, services.link_checks.run_due)] if real else []
        return [
            *links,
            Job("mails", 1, self.send_mails),
            Job("views", 5, services.view_counts.store),
            Job("view counts", 300, services.view_counts.flush),
            Job("features", 30, services.moderation.run_due_features),
            Job("digests", 60, services.digests.send_due),
            Job("facets", 600, services.directory.count_facets),
            Job("foreign writes", 2, lambda: services.adoption.follow(consumer)),
            Job("damage reasons", 3600, services.adoption.replace_reasons),
            Job("logos", 2, self.logo_consumer.catch_up),
            Job("unused logos", 600, services.logos.sweep),
        ]

    async def work(self) -> None:
        """Work until cancelled."""
        self._started_at = self.services.clock.millis()
        loops = [asyncio.create_task(self._repeat(job), name=f"kelifax {job.name}") for job in self.jobs]
        loops.append(asyncio.create_task(self.follow_search(), name="kelifax search"))
        loops.append(asyncio.create_task(self.services.presence.write_forever(), name="kelifax presence"))
        try:
            await asyncio.gather(*loops)
        finally:
            for loop in loops:
                loop.cancel()
            await asyncio.gather(*loops, return_exceptions=True)

    async def follow_search(self) -> None:
        """Keep the search index of this process up to date, until cancelled; every process does this for itself."""
        await self._repeat(Job("search", 0.5, self.index_consumer.catch_up))

    async def _repeat(self, job: Job) -> None:
        """Repeat a job; pause after an error."""
        while True:
            try:
                await job.run()
            except HashrangeError as error:
                log.warning("the background work failed", exc_info=error, extra={"fields": {"job": job.name}})
                await asyncio.sleep(AFTER_FAILURE_S)
            except Exception:  # the outermost handler: one job must not stop the others
                log.exception("the background work failed", extra={"fields": {"job": job.name}})
                await asyncio.sleep(AFTER_FAILURE_S)
            else:
                self._done_at[job.name] = self.services.clock.millis()
                await asyncio.sleep(job.every_s * random.uniform(1 - JITTER, 1 + JITTER))  # noqa: S311 - jitter

    async def run_once(self) -> None:
        """Run every job once: for commands and tests."""
        for job in self.jobs:
            await job.run()
        await self.index_consumer.catch_up()

    async def send_mails(self) -> None:
        """Send the mails that are due."""
        for shard in range(SHARDS):
            await self.outbox.send_due(str(shard))

    def measure(self) -> tuple[str, int]:
        """Return what the worker does, and by how many milliseconds its most overdue job is late."""
        now = self.services.clock.millis()
        done = sum(job.name in self._done_at for job in self.jobs)
        return f"{done} of {len(self.jobs)} jobs have run", max([0, *(self._find_delay(job, now) for job in self.jobs)])

    def _find_delay(self, job: Job, now: int) -> int:
        """Return by how much a job is late; one that never succeeded should have done so soon after the start."""
        if job.name in self._done_at:
            return now - self._done_at[job.name] - int(job.every_s * 2000)
        return now - self._started_at - FIRST_RUN_MS if self._started_at is not None else 0
