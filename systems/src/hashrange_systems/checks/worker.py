"""The background work: runs due checks, sends alerts, stores roll-ups. Any number of workers may share a database.

`service.runs` runs a check; the worker decides when and how many at a time. At shutdown it starts nothing new, lets
runs finish for a while, and releases the rest.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from hashrange import Clock, Conflict, HashrangeError
from hashrange_systems.checks.model.schedule import SHARDS, is_too_far_ahead, next_due_time
from hashrange_systems.checks.schema import Checks, Due, Scheduled
from hashrange_systems.checks.service.history import History
from hashrange_systems.checks.service.run_recorder import Claim
from hashrange_systems.checks.service.runs import Runs
from hashrange_systems.checks.service.stored_options import read_delay
from hashrange_systems.shared.epoch import from_ms, to_ms
from hashrange_systems.shared.retry import retry_transient

log = logging.getLogger(__name__)

T = TypeVar("T")

AT_ONCE_FROM_A_SHARD = 200
CHECKS_AT_ONCE = 100  # read at a time by `maintain`


class DueAlerts(Protocol):
    """Sends due alerts."""

    async def send_due(self, shard: str) -> object:
        """Send the due alerts of a shard."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """Concurrency and polling intervals. Times are in seconds."""

    at_once: int = 100
    poll_every: float = 0.5
    send_every: float = 1.0
    maintain_every: float = 3600.0
    after_failure: float = 5.0
    grace: float = 7.0  # less than the host's


class Worker:
    """Runs the background work."""

    def __init__(
        self,
        runs: Runs,
        history: History,
        outbox: DueAlerts,
        db: Checks,
        clock: Clock,
        settings: WorkerSettings | None = None,
    ) -> None:
        self.settings = settings or WorkerSettings()
        self._runs, self._history, self._outbox = runs, history, outbox
        self._db, self._clock = db, clock
        self._permits = asyncio.Semaphore(self.settings.at_once)
        self._running: dict[asyncio.Task[None], Claim | None] = {}

    async def work(self) -> None:
        """Work until cancelled; then finish running checks within the grace time."""
        settings = self.settings
        loops = [
            asyncio.create_task(self._repeat(self.start_due, settings.poll_every), name="checks that are due"),
            asyncio.create_task(self._repeat(self.send_due, settings.send_every), name="alerts that wait"),
            asyncio.create_task(self._repeat(self.maintain, settings.maintain_every), name="past days"),
        ]
        try:
            await asyncio.gather(*loops)
        finally:
            for loop in loops:
                loop.cancel()
            await asyncio.gather(*loops, return_exceptions=True)
            await self._shut_down()

    async def _repeat(self, job: Callable[[], Awaitable[object]], pause: float) -> None:
        """Repeat a job; pause after an error of the database."""
        while True:
            try:
                busy = await job()
            except HashrangeError as error:
                log.warning("the database failed", exc_info=error)
                await asyncio.sleep(self.settings.after_failure)
            else:
                await asyncio.sleep(0 if busy is True else pause)

    # ── runs ─────────────────────────────────────────────────────────────────────────────────────────────────────────
    async def run_due(self) -> None:
        """Run the due checks, and wait until they are finished."""
        await self.start_due()
        while self._running:
            await asyncio.wait(list(self._running))

    async def start_due(self) -> bool:
        """Start the due checks; return whether there are probably more. Waits while the maximum is running."""
        more = False
        for shard in shuffle(range(SHARDS)):
            now = from_ms(self._clock.millis())
            found = await self._db.due(str(shard), now).limit(AT_ONCE_FROM_A_SHARD)
            more |= len(found) == AT_ONCE_FROM_A_SHARD
            for due in shuffle(found):  # concurrent workers start with different ones
                await self._permits.acquire()
                task = asyncio.create_task(self._run(due), name=f"check {due.checkid}")
                self._running[task] = None
                task.add_done_callback(self._forget)
        return more

    async def _run(self, due: Due) -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            claim = await self._runs.claim(due)
            if claim is not None:
                self._running[task] = claim
                await self._runs.perform(claim)
        except Exception:  # the outermost handler: the run is repeated after the lease
            log.exception("a run failed", extra={"fields": {"check": due.checkid}})

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._permits.release()
        if not task.cancelled():
            del self._running[task]

    async def _shut_down(self) -> None:
        """Let runs finish, then release the rest."""
        if self._running:
            await asyncio.wait(list(self._running), timeout=self.settings.grace)
        left = dict(self._running)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        for claim in left.values():
            if claim is not None:
                await self._runs.release(claim)
        self._running.clear()

    # ── alerts ───────────────────────────────────────────────────────────────────────────────────────────────────────
    async def send_due(self) -> None:
        """Send due alerts."""
        for shard in shuffle(range(SHARDS)):
            await self._outbox.send_due(str(shard))

    # ── tending ──────────────────────────────────────────────────────────────────────────────────────────────────────
    async def maintain(self) -> None:
        """Store roll-ups of every scheduled check, and reschedule those that a wrong clock moved far ahead."""
        for shard in shuffle(range(SHARDS)):
            cursor, more = None, True
            while more:
                page = await self._db.scheduled(str(shard)).whole().page(CHECKS_AT_ONCE, after=cursor)
                for check in page:
                    await self._repair(check)
                    await self._history.finalise_days(check)
                    await asyncio.sleep(0)  # an embedded database never suspends the task: yield to others
                cursor, more = page.cursor, page.cursor is not None

    async def _repair(self, check: Scheduled) -> None:
        now, delay = self._clock.millis(), read_delay(check)
        if not is_too_far_ahead(delay, due_at=to_ms(check.next_run_at), now=now):
            return
        due_at = from_ms(next_due_time(check.checkid, delay, due_at=now - delay, now=now))
        try:
            await retry_transient(lambda: self._db.reschedule(check, next_run_at=due_at, due_at=None))
        except Conflict:
            return  # it was run or deleted


def shuffle(things: Iterable[T]) -> list[T]:
    """Return a shuffled list."""
    shuffled = list(things)
    random.shuffle(shuffled)
    return shuffled
