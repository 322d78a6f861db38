"""The background work of a system: loops beside each other, and the presence of the process that runs them.

Any number of processes may share a database: what must happen once is claimed with a conditional write, or has a lease.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hashrange import HashrangeError
from hashrange_systems.shared.work.presence import Presence
from hashrange_systems.shared.work.retry import Backoff, jitter

log = logging.getLogger(__name__)

PAUSES = Backoff(2.0, 10.0)  # after errors
EARLIER = 0.1  # the share of its pause by which a loop runs earlier at random, so that processes do not run in step
FIRST_RUN_MS = 30_000  # within which a loop has run at least once
ACTIVITY_LENGTH = 500


@dataclass(frozen=True, slots=True)
class Loop:
    """A part of the background work, which runs again and again; `run` returns True to run again at once.

    It runs in processes that work, or, if it says so, `in_each_process`.
    """

    name: str
    every_s: float
    run: Callable[[], Awaitable[object]]
    in_each_process: bool = False


@dataclass(slots=True)
class LoopState:
    """Since when a loop runs, fails, and when it last succeeded, in milliseconds."""

    started_at: int
    done_at: int | None = None
    failed_at: int | None = None  # the first failure after the last success
    failures: int = 0

    def find_delay(self, loop: Loop, now: int) -> int:
        """Return by how much a loop is overdue; one that fails has been since it began to."""
        if self.failed_at is not None:
            return now - self.failed_at
        pause = int(loop.every_s * 2000)
        if self.done_at is not None:
            return now - self.done_at - pause
        return now - self.started_at - max(pause, FIRST_RUN_MS)


class Loops:
    """Runs the loops of a process beside each other, so that none delays another, and writes its presence.

    `describe` returns what the process is doing, and by how many milliseconds that is late. `finish` is awaited when
    the loops have ended: it lets what they started end in an orderly way.
    """

    def __init__(
        self,
        presence: Presence[Any],
        loops: Sequence[Loop],
        *,
        describe: Callable[[], tuple[str, int]] | None = None,
        finish: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        self.presence, self.loops = presence, tuple(loops)
        self._describe, self._finish = describe or self._count_runs, finish
        self._states: dict[str, LoopState] = {}
        presence.measure = self.measure

    async def work(self) -> None:
        """Work until cancelled; then cancel the loops, finish what they started, and say that this process ended."""
        now = self.presence.clock.millis()
        chosen = [loop for loop in self.loops if self.presence.works or loop.in_each_process]
        self._states = {loop.name: LoopState(now) for loop in chosen}
        tasks = [asyncio.create_task(self._repeat(loop), name=loop.name) for loop in chosen]
        presence = asyncio.create_task(self.presence.write_forever(), name="presence")
        try:
            ended, _ = await asyncio.wait([presence, *tasks], return_when=asyncio.FIRST_COMPLETED)
            ended.pop().result()  # loops have no end: it was an error that is not theirs
        finally:
            try:
                await cancel_all(tasks)
                if self._finish is not None:
                    await self._finish()
            finally:
                await cancel_all([presence])

    async def _repeat(self, loop: Loop) -> None:
        """Run a loop until cancelled; after an error, pause, and run it again."""
        state = self._states[loop.name]
        while True:
            try:
                more = await loop.run()
            except Exception as error:  # the outermost handler: an error in one loop ends no other
                now = self.presence.clock.millis()
                state.failures += 1
                state.failed_at = now if state.failed_at is None else state.failed_at
                level = logging.WARNING if isinstance(error, HashrangeError) else logging.ERROR
                log.log(level, "the background work failed", exc_info=error, extra={"fields": {"loop": loop.name}})
                await asyncio.sleep(PAUSES.find_pause(state.failures))
            else:
                state.done_at, state.failed_at, state.failures = self.presence.clock.millis(), None, 0
                await asyncio.sleep(0 if more is True else jitter(loop.every_s, EARLIER))

    async def run_once(self) -> None:
        """Run each loop once, one after the other, as commands and tests need it; an error of one is raised."""
        for loop in self.loops:
            await loop.run()

    def measure(self) -> tuple[str, int]:
        """Return what this process does, which loops fail, and by how many milliseconds the slowest is overdue."""
        now = self.presence.clock.millis()
        activity, late_ms = self._describe()
        delays = (self._states[loop.name].find_delay(loop, now) for loop in self.loops if loop.name in self._states)
        failing = [name for name, state in self._states.items() if state.failed_at is not None]
        shown = [activity, f"failing: {', '.join(failing)}"] if failing else [activity]
        return "; ".join(filter(None, shown))[:ACTIVITY_LENGTH], max(0, late_ms, *delays)

    def _count_runs(self) -> tuple[str, int]:
        done = sum(state.done_at is not None for state in self._states.values())
        return f"{done} of {len(self._states)} loops have run", 0


async def cancel_all(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancel tasks, and wait until they have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
