"""Whether the work is done: workers that are present, and what waits for one. Their absence counts as a failure."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hashrange_systems.aura.service.crawls import Crawls
from hashrange_systems.aura.service.damaged_shops import DamagedShops
from hashrange_systems.aura.service.scrapes import Scrapes
from hashrange_systems.aura.work_schema import WorkerPresence
from hashrange_systems.shared.work.presence import Monitoring, Presence, PresenceFields, WorkState

if TYPE_CHECKING:
    from hashrange import Clock

START = "start hashrange up, or hashrange aura worker"
ENOUGH = 200  # due shops that are counted


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthReport:
    """The state of the background work; `healthy` is false when no worker is there, or a crawl or scrape is stuck."""

    healthy: bool
    monitoring: Monitoring
    due_crawls: int
    due_scrapes: int
    stuck: int
    damaged: int  # shops that cannot be read or worked on
    problems: tuple[str, ...]

    @property
    def workers(self) -> tuple[PresenceFields, ...]:
        """The workers that are there."""
        return self.monitoring.workers


@dataclass(frozen=True, slots=True)
class Health:
    """Looks at the background work."""

    presence: Presence[WorkerPresence]
    clock: Clock
    crawls: Crawls
    scrapes: Scrapes
    damaged: DamagedShops

    async def report(self) -> HealthReport:
        """Return the state of the background work."""
        is_starting = self.presence.is_starting  # before the presence is read, which may be written meanwhile
        monitoring = await self.presence.read()
        stuck = [each for each in (*await self.crawls.find_stuck(), *await self.scrapes.find_stuck()) if each.abandoned]
        due_crawls, due_scrapes = await count(self.crawls.find_due()), await count(self.scrapes.find_eligible())
        problems = find_problems(monitoring, self.clock.millis(), is_starting=is_starting)
        if stuck:
            problems.append(f"{len(stuck)} crawls or scrapes are stuck: hashrange aura stuck")
        return HealthReport(
            healthy=not problems,
            monitoring=monitoring,
            due_crawls=due_crawls,
            due_scrapes=due_scrapes,
            stuck=len(stuck),
            damaged=await self.damaged.count(),
            problems=tuple(problems),
        )


async def count(found: AsyncIterator[object]) -> int:
    """Count what is found, up to a limit."""
    due = 0
    async for _ in found:
        due += 1
        if due >= ENOUGH:
            break
    return due


def find_problems(monitoring: Monitoring, now: int, *, is_starting: bool = False) -> list[str]:
    """Return what is wrong with the workers, in words."""
    if monitoring.state is WorkState.LATE:
        return [monitoring.describe("The work").rstrip(".")]
    if monitoring.healthy:
        return []
    if is_starting:
        return ["no worker is running yet: that of this process is starting"]
    if monitoring.since is None:
        return [f"no worker has ever run: {START}"]
    return [f"no worker for {(now - monitoring.since) // 1000} s: {START}"]
