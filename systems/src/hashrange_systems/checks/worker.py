"""The work of the checks system: runs what is due, sends what waits, settles past days. Any number may work at once.

What a run is, `service.runs` says; here it is when, how many at a time, and how to stop: nothing new is begun, what
runs may finish for a while, and what does not is given back.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from hashrange import Clock, Conflict, HashrangeError
from hashrange_systems.checks.model.schedule import SHARDS, is_stranded, next_slot
from hashrange_systems.checks.schema import Checks, Due, Scheduled
from hashrange_systems.checks.service.history import History
from hashrange_systems.checks.service.moment import from_ms, to_ms
from hashrange_systems.checks.service.patience import insist
from hashrange_systems.checks.service.reading import read_delay
from hashrange_systems.checks.service.record import Claim
from hashrange_systems.checks.service.runs import Runs

log = logging.getLogger(__name__)

T = TypeVar("T")

AT_ONCE_FROM_A_SHARD = 200
CHECKS_AT_ONCE = 100  # read together when all are tended


class Outbox(Protocol):
    """What sends the alerts that wait."""

    async def send_due(self, shard: str) -> object:
        """Send what is due in a shard."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """How much is done at once and how often is looked. Times are in seconds."""

    at_once: int = 100
    look_every: float = 0.5
    send_every: float = 1.0
    tend_every: float = 3600.0
    after_failure: float = 5.0
    grace: float = 7.0  # less than the host's own


class Worker:
    """Does the work until cancelled."""

    def __init__(
        self,
        runs: Runs,
        history: History,
        outbox: Outbox,
        db: Checks,
        clock: Clock,
        settings: WorkerSettings | None = None,
    ) -> None:
        self.settings = settings or WorkerSettings()
        self._runs, self._history, self._outbox = runs, history, outbox
        self._db, self._clock = db, clock
        self._places = asyncio.Semaphore(self.settings.at_once)
        self._running: dict[asyncio.Task[None], Claim | None] = {}

    async def work(self) -> None:
        """Work until cancelled; then finish what has begun, within the grace time."""
        settings = self.settings
        loops = [
            asyncio.create_task(self._repeat(self.start_due, settings.look_every), name="checks that are due"),
            asyncio.create_task(self._repeat(self.send_due, settings.send_every), name="alerts that wait"),
            asyncio.create_task(self._repeat(self.tend, settings.tend_every), name="past days"),
        ]
        try:
            await asyncio.gather(*loops)
        finally:
            for loop in loops:
                loop.cancel()
            await asyncio.gather(*loops, return_exceptions=True)
            await self._wind_down()

    async def _repeat(self, job: Callable[[], Awaitable[object]], pause: float) -> None:
        """Do a job again and again; a database that fails is given some time."""
        while True:
            try:
                busy = await job()
            except HashrangeError as fault:
                log.warning("the database does not answer as it should", exc_info=fault)
                await asyncio.sleep(self.settings.after_failure)
            else:
                await asyncio.sleep(0 if busy is True else pause)

    # ── runs ─────────────────────────────────────────────────────────────────────────────────────────────────────────
    async def run_due(self) -> None:
        """Run what is due now, and wait until it is done."""
        await self.start_due()
        while self._running:
            await asyncio.wait(list(self._running))

    async def start_due(self) -> bool:
        """Begin what is due now; whether there is likely more. Waits while as much runs as may run at once."""
        more = False
        for shard in shuffle(range(SHARDS)):
            now = from_ms(self._clock.millis())
            found = await self._db.due(str(shard), now).limit(AT_ONCE_FROM_A_SHARD)
            more |= len(found) == AT_ONCE_FROM_A_SHARD
            for due in shuffle(found):  # workers that look at once begin with different ones
                await self._places.acquire()
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
        except Exception:  # the outermost handler: the slot comes again when the lease is over
            log.exception("a run failed", extra={"fields": {"check": due.checkid}})

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._places.release()
        if not task.cancelled():
            del self._running[task]

    async def _wind_down(self) -> None:
        """Let what runs finish, then give back what did not."""
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
        """Send the alerts that wait."""
        for shard in shuffle(range(SHARDS)):
            await self._outbox.send_due(str(shard))

    # ── tending ──────────────────────────────────────────────────────────────────────────────────────────────────────
    async def tend(self) -> None:
        """Settle the past days of every scheduled check, and give those a new slot that a wrong clock sent far off."""
        for shard in shuffle(range(SHARDS)):
            cursor, more = None, True
            while more:
                page = await self._db.scheduled(str(shard)).whole().page(CHECKS_AT_ONCE, after=cursor)
                for check in page:
                    await self._repair(check)
                    await self._history.settle_days(check)
                    await asyncio.sleep(0)  # an embedded database answers at once: others must have their turn
                cursor, more = page.cursor, page.cursor is not None

    async def _repair(self, check: Scheduled) -> None:
        now, delay = self._clock.millis(), read_delay(check)
        if not is_stranded(delay, slot=to_ms(check.next_run_at), now=now):
            return
        slot = from_ms(next_slot(check.checkid, delay, slot=now - delay, now=now))
        try:
            await insist(lambda: self._db.move_slot(check, next_run_at=slot, slot=None))
        except Conflict:
            return  # it was run, or is gone


def shuffle(things: Iterable[T]) -> list[T]:
    """Return the things in a random order."""
    shuffled = list(things)
    random.shuffle(shuffled)
    return shuffled
