"""The background work: runs due checks, sends alerts, stores roll-ups. Any number of workers may share a database.

`service.runs` runs a check; the worker decides when and how many at a time. Permits are divided between users and
hosts, and checks that were slow the last time have permits of their own. A run that has waited for two seconds returns
its permit and goes on: it needs a connection, and no work. So checks that hang delay no others. At shutdown the worker
starts nothing new, lets runs finish for a while, and releases the rest.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter, deque
from collections.abc import Awaitable, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from hashrange import Clock, Conflict
from hashrange_systems.checks import worker_limit as limit
from hashrange_systems.checks.model.fetch_result import Cause
from hashrange_systems.checks.model.outcome import read_outcome
from hashrange_systems.checks.model.schedule import SHARDS, is_too_far_ahead, next_due_time
from hashrange_systems.checks.registry import CHECK_TYPES
from hashrange_systems.checks.schema import Check, Checks, Due, Scheduled
from hashrange_systems.checks.service.adoption import adopt_checks
from hashrange_systems.checks.service.history import History
from hashrange_systems.checks.service.probe_request import find_host
from hashrange_systems.checks.service.run_recorder import Claim
from hashrange_systems.checks.service.runs import Runs
from hashrange_systems.checks.service.stored_options import read_delay
from hashrange_systems.shared.epoch import from_ms, to_ms
from hashrange_systems.shared.work.fair_semaphore import FairSemaphore, PermitLimit, PermitRequest, SemaphoreFull
from hashrange_systems.shared.work.loops import Loop
from hashrange_systems.shared.work.retry import retry_transient

log = logging.getLogger(__name__)

T = TypeVar("T")

SHARD_BATCH_SIZE = 200
FAILURES_SHOWN_MS = 600_000
PAGE_SIZE = 100  # read at a time by `maintain`
ADOPTED_EACH_TIME = 10_000  # checks up to which `adopt` reads all of them each time


class DueAlerts(Protocol):
    """Sends due alerts."""

    async def send_due(self, shard: str) -> object:
        """Send the due alerts of a shard."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """Concurrency and polling intervals. Times are in seconds."""

    at_once: int = 200
    poll_every: float = 0.5
    send_every: float = 1.0
    adopt_every: float = 40.0
    maintain_every: float = 3600.0
    grace: float = 7.0  # less than the host's

    @property
    def of_a_user(self) -> int:
        """How many permits a user can have: never all."""
        return limit.OF_A_USER.take(self.at_once)

    @property
    def slow(self) -> int:
        """How many permits checks can have that were slow the last time."""
        return limit.SLOW.take(self.at_once)

    @property
    def slow_of_a_user(self) -> int:
        """How many of a user's permits such checks can have: never all."""
        return limit.SLOW_OF_A_USER.take(self.of_a_user)

    @property
    def long_runs(self) -> int:
        """How many runs can go on without a permit; each has a connection."""
        return limit.LONG_RUNS.take(self.at_once)

    @property
    def long_runs_of_a_user(self) -> int:
        """How many runs of a user can go on without a permit: never all."""
        return limit.LONG_RUNS_OF_A_USER.take(self.long_runs)


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
        at_once = self.settings.at_once
        self._permits = FairSemaphore(
            at_once,
            self.settings.of_a_user,
            waiting=limit.WAITING.take(at_once),
            waiting_per_tenant=limit.WAITING_OF_A_USER.take(at_once),
        )
        self._started = asyncio.Semaphore(limit.STARTED.take(at_once) + self.settings.long_runs)
        self._long_runs: Counter[str] = Counter()  # by user
        self._running: dict[asyncio.Task[None], Claim | None] = {}
        self._slow_waiting = 0
        self._late: dict[int, int] = {}  # by how much the oldest due check of each shard is late
        self._failures: deque[int] = deque(maxlen=1000)
        self._known: set[str] | None = None  # checks that need no schedule
        self._rounds_off = 0  # how often `adopt` is skipped

    def list_loops(self) -> list[Loop]:
        """Return the loops of the background work; after them, `shut_down` is awaited."""
        settings = self.settings
        return [
            Loop("checks that are due", settings.poll_every, self.start_due),
            Loop("alerts that wait", settings.send_every, self.send_due),
            Loop("past days", settings.maintain_every, self.maintain),
            Loop("checks without a schedule", settings.adopt_every, self.adopt),
        ]

    def describe(self) -> tuple[str, int]:
        """Return what it is doing, and by how many milliseconds it is late."""
        recent = [at for at in self._failures if at > self._clock.millis() - FAILURES_SHOWN_MS]
        failed = f", {len(recent)} runs could not be recorded in the last minutes" if recent else ""
        running = self._permits.taken + self._long_runs.total()
        return f"{running} checks run, {self._permits.queued} wait{failed}", max(self._late.values(), default=0)

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
            found = await self._db.due(str(shard), now).limit(SHARD_BATCH_SIZE)
            oldest = min((to_ms(due.next_run_at) for due in found), default=to_ms(now))
            self._late[shard] = to_ms(now) - oldest
            more |= len(found) == SHARD_BATCH_SIZE
            for due in shuffle(found):  # concurrent workers start with different ones
                await self._started.acquire()
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
                await self._perform(claim)
        except Exception:  # the outermost handler: the run is repeated after the lease
            self._failures.append(self._clock.millis())
            log.exception("a run failed", extra={"fields": {"check": due.checkid}})

    async def _perform(self, claim: Claim) -> None:
        """Run a claimed check when it has a permit; put it off if there is none for a while."""
        slow = is_slow(claim.check)
        if slow and self._slow_waiting >= self.settings.slow:
            await self._runs.postpone(claim, limit.SLOW_POSTPONED.count)
            return
        limits = self._list_limits(claim.check, slow=slow)
        waiting = int(slow)
        self._slow_waiting += waiting
        try:
            async with self._permits.enter(claim.check.userid, *limits, timeout_s=limit.PERMIT_WAIT.count) as permit:
                self._slow_waiting -= waiting
                waiting = 0
                await self._hold(permit, self._runs.perform(claim))
        except SemaphoreFull:
            await self._runs.postpone(claim, (limit.SLOW_POSTPONED if slow else limit.POSTPONED).count)
        finally:
            self._slow_waiting -= waiting

    def _list_limits(self, check: Check, *, slow: bool) -> list[PermitLimit]:
        """Return the limits of a run: those of its host, so that no user and no slow checks take it from others."""
        host, userid = find_host(check.url), check.userid
        limits = [PermitLimit(("host of a user", host, userid), limit.AT_A_HOST_OF_A_USER.count)]
        is_first = not check.last_result
        if slow or is_first:
            limits.append(PermitLimit(("slow or first at a host", host), limit.SLOW_OR_FIRST_AT_A_HOST.count))
        if is_first:  # it may hang: those of one user leave some to the first runs of others
            limits.append(
                PermitLimit(("first of a user at a host", host, userid), limit.FIRST_AT_A_HOST_OF_A_USER.count)
            )
        if slow:
            limits.append(PermitLimit(("slow at a host", host), limit.SLOW_AT_A_HOST.count))
            limits.append(PermitLimit(("slow of a user", userid), self.settings.slow_of_a_user))
            limits.append(PermitLimit("slow", self.settings.slow))
        return [*limits, PermitLimit(("host", host), limit.AT_A_HOST.count)]

    async def _hold(self, permit: PermitRequest, run: Awaitable[object]) -> None:
        """Await a run; while it takes long, others have its permit."""
        timer = asyncio.get_running_loop().call_later(limit.SLOW_AFTER.count / 1000, self._return_early, permit)
        try:
            await run
        finally:
            timer.cancel()
            if permit.returned_early:
                self._long_runs -= Counter([permit.tenant])  # which drops users who have none

    def _return_early(self, permit: PermitRequest) -> None:
        settings, long_runs = self.settings, self._long_runs
        if long_runs.total() < settings.long_runs and long_runs[permit.tenant] < settings.long_runs_of_a_user:
            long_runs[permit.tenant] += 1
            self._permits.return_early(permit)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._started.release()
        if not task.cancelled():
            del self._running[task]

    async def shut_down(self) -> None:
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
        known: set[str] = set()
        for shard in shuffle(range(SHARDS)):
            cursor, more = None, True
            while more:
                page = await self._db.scheduled(str(shard)).whole().page(PAGE_SIZE, after=cursor)
                known.update(check.checkid for check in page)
                for check in page:
                    await self._repair(check)
                    await self._history.finalise_days(check)
                    await asyncio.sleep(0)  # an embedded database never suspends the task: yield to others
                cursor, more = page.cursor, page.cursor is not None
        self._known, self._rounds_off = known, 0
        await self.adopt()

    async def adopt(self) -> None:
        """Schedule active checks that have no schedule, as the original system writes them.

        All active checks are read from the index: 10,000 of them take 154 read units and 0.7 s of CPU time, in pages of
        100. With more than that, it is not done each time.
        """
        if self._known is None:
            return  # `maintain` has not yet read the schedule
        self._rounds_off -= 1
        if self._rounds_off >= 0:
            return
        read = [await adopt_checks(self._db, self._clock, check_type, self._known) for check_type in CHECK_TYPES]
        self._rounds_off = sum(read) // ADOPTED_EACH_TIME

    async def _repair(self, check: Scheduled) -> None:
        now, delay = self._clock.millis(), read_delay(check)
        if not is_too_far_ahead(delay, due_at=to_ms(check.next_run_at), now=now):
            return
        due_at = from_ms(next_due_time(check.checkid, delay, due_at=now - delay, now=now))
        try:
            await retry_transient(lambda: self._db.reschedule(check, next_run_at=due_at, due_at=None))
        except Conflict:
            return  # it was run or deleted


def is_slow(check: Check) -> bool:
    """Return whether the last run of a check took long, so that the next one probably does."""
    last = read_outcome(check.last_result or {})
    return last.cause is Cause.TIMEOUT or (last.response_time or 0) >= limit.SLOW_AFTER.count


def shuffle(things: Iterable[T]) -> list[T]:
    """Return a shuffled list."""
    shuffled = list(things)
    random.shuffle(shuffled)
    return shuffled
