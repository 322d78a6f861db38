"""The frontier of a crawl, in the working table: URLs that wait, breadth first, and URLs that were visited.

One worker writes it. Every step costs the same however many URLs it has: links that this process saw lately are not
looked up again, the others are looked up and written in batches, and the next ones come from the start of an index.
While this process has seen every URL of the run, nothing has to be looked up at all.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from hashrange_systems.aura.model.page_url import MAX_DEPTH
from hashrange_systems.aura.work_schema import CrawlRun, VisitedUrl, WaitingUrl, Work
from hashrange_systems.shared.epoch import from_ms
from hashrange_systems.shared.identifier import make_id

if TYPE_CHECKING:
    from datetime import datetime

    from hashrange import Clock

KEPT = timedelta(days=120)  # entries of URLs that no later run finds
RUN_LASTS = timedelta(days=14)  # an older run is begun anew
LOOK_UP_AT_ONCE = 100
REMEMBERED = 100_000  # links, so that the navigation of each page is not looked up again


@dataclass(slots=True)
class Frontier:
    """The frontier of one run; `begin` continues the run that was interrupted, or begins a new one."""

    work: Work
    clock: Clock
    run: CrawlRun
    has_seen_all: bool = False  # whether every URL of the run is among the recent ones
    cut: int = 0  # links that are too deep to be followed
    _recent: OrderedDict[str, None] = field(default_factory=OrderedDict)
    _links: dict[str, int] = field(default_factory=dict)  # found, with their depth, not yet looked up
    _visited: list[WaitingUrl] = field(default_factory=list)
    _new: int = 0  # URLs written since the last flush that succeeded

    async def take(self, count: int, busy: Iterable[str]) -> Sequence[WaitingUrl]:
        """Return waiting URLs, nearest to the start first, without those that are in progress."""
        await self.flush()
        taken = set(busy)
        found = await self.work.waiting(self.run.domain, self.run.run).consistent().limit(count + len(taken))
        return [entry for entry in found if entry.url not in taken]

    def add(self, urls: Iterable[str], depth: int) -> None:
        """Note links; those that the run knows are left out when they are written."""
        if depth > MAX_DEPTH:
            self.cut += sum(url not in self._recent for url in urls)
            return
        for url in urls:
            if url in self._recent:
                self._recent.move_to_end(url)
                continue
            self._recent[url] = None
            self._links.setdefault(url, depth)
        while len(self._recent) > REMEMBERED:
            self._recent.popitem(last=False)
            self.has_seen_all = False

    def has_seen(self, url: str) -> bool:
        """Return whether a link was noted lately."""
        return url in self._recent

    def finish(self, entry: WaitingUrl) -> None:
        """Note that a URL was visited."""
        self._visited.append(entry)

    @property
    def unwritten(self) -> int:
        """How many links and visits are only in memory."""
        return len(self._links) + len(self._visited)

    async def flush(self) -> int:
        """Write what was noted: new links before visits, so that an interruption loses none; return the new ones.

        What fails to be written stays noted for the next flush. A sitemap brings 50,000 links: other tasks, such as
        the renewal of the lease and requests for pages, take turns with the batches.
        """
        visited, links = len(self._visited), list(self._links)
        expires = self._now() + KEPT
        for start in range(0, len(links), LOOK_UP_AT_ONCE):
            chunk = links[start : start + LOOK_UP_AT_ONCE]
            entries = [
                WaitingUrl(
                    domain=self.run.domain, url=url, run=self.run.run, depth=self._links[url], expires_at=expires
                )
                for url in await self._leave_out_known(chunk)
            ]
            await self.work.batch(entries)
            self._new += len(entries)
            for url in chunk:
                del self._links[url]
            await asyncio.sleep(0)
        if visited:
            await self.work.batch([make_visited(entry, expires) for entry in self._visited[:visited]])
            del self._visited[:visited]
        new, self._new = self._new, 0
        return new

    async def _leave_out_known(self, urls: list[str]) -> list[str]:
        """Return the URLs that the run does not have."""
        if self.has_seen_all:
            return urls
        found = await self.work.fetch([self.work.frontier_url(self.run.domain, url).consistent() for url in urls])
        return [url for url, entry in zip(urls, found, strict=True) if entry is None or entry.run != self.run.run]

    def _now(self) -> datetime:
        return from_ms(self.clock.millis())


def make_visited(entry: WaitingUrl, expires: datetime) -> VisitedUrl:
    """Return the entry of a URL that was visited."""
    return VisitedUrl(domain=entry.domain, url=entry.url, run=entry.run, depth=entry.depth, expires_at=expires)


def is_over(started_at: datetime, now: datetime, last_end: datetime | None) -> bool:
    """Return whether a run is not continued: it is too old, or it ended before its worker was killed."""
    return started_at < now - RUN_LASTS or (last_end is not None and started_at <= last_end)


async def begin_run(work: Work, clock: Clock, domain: str, last_end: datetime | None = None) -> Frontier:
    """Return the frontier of the interrupted run of a shop, whose crawl before ended then, or of a new run."""
    now = from_ms(clock.millis())
    run = await work.run(domain).consistent()
    if run is None or is_over(run.started_at, now, last_end):
        run = await work.put(CrawlRun(domain=domain, run=make_id(), started_at=now))
        return Frontier(work, clock, run, has_seen_all=True)
    return Frontier(work, clock, run)
