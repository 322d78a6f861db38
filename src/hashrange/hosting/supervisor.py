"""Runs the background work of a system: writes the demo data first, restarts failed work with backoff."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Literal

from hashrange.hosting.system import RunningSystem

log = logging.getLogger(__name__)

FIRST_PAUSE, MAX_PAUSE = 1.0, 60.0
RESET_BACKOFF_AFTER = 60.0  # seconds of work after which the backoff starts anew
GRACE = 10.0  # seconds to finish the current step when the host stops
LAST_GRACE = 1.0


class Supervisor:
    """The background work of one system, as a task."""

    def __init__(
        self,
        name: str,
        running: RunningSystem,
        *,
        demo: bool = False,
        pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self.name = name
        self.state: Literal["starting", "filling", "working", "restarting", "finished", "stopped"] = "starting"
        self.restarts = 0
        self._running = running
        self._demo = demo
        self._pause = pause
        self._task: asyncio.Task[None] | None = None
        self._stopping = False

    def start(self) -> None:
        """Start the task on the running event loop."""
        self._task = asyncio.create_task(self._supervise(), name=f"{self.name} work")

    async def stop(self) -> None:
        """Cancel the work and wait until it has finished its step; give up after the grace time."""
        task = self._task
        if task is None:
            return
        self._stopping = True
        for timeout in (GRACE, LAST_GRACE):
            task.cancel()
            ended, _ = await asyncio.wait([task], timeout=timeout)
            if ended:
                break
            log.warning("work does not stop", extra={"fields": {"system": self.name, "waited": timeout}})
        self.state = "stopped"

    def stop_now(self) -> None:
        """Interrupt the step that is being finished."""
        if self._task is not None:
            self._task.cancel()

    async def _supervise(self) -> None:
        if self._demo:
            await self._fill_demo()
        loop = asyncio.get_running_loop()
        pause = FIRST_PAUSE
        while True:
            self.state, began = "working", loop.time()
            if await self._work() or self._stopping:
                self.state = "finished"
                return
            if loop.time() - began > RESET_BACKOFF_AFTER:
                pause = FIRST_PAUSE
            self.state = "restarting"
            self.restarts += 1
            await self._pause(pause)
            pause = min(2 * pause, MAX_PAUSE)

    async def _fill_demo(self) -> None:
        self.state = "filling"
        try:
            await self._running.fill_demo()
        except Exception:  # the outermost handler: the system works without its demo data
            log.exception("demo data failed", extra={"fields": {"system": self.name}})
        else:
            log.info("demo data is there", extra={"fields": {"system": self.name}})

    async def _work(self) -> bool:
        """Run the work; return whether it ended without an error."""
        try:
            await self._running.work()
        except Exception:  # the outermost handler: the work is restarted
            log.exception("work failed", extra={"fields": {"system": self.name}})
            return False
        return True
