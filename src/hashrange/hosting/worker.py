"""Keeps a system's work going: fills in the demo data first, and calls the work again, later each time, if it fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Literal

from hashrange.hosting.system import Running

log = logging.getLogger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
STEADY = 60.0  # seconds of work after which a failure counts as the first again
GRACE = 10.0  # seconds to finish the step under way when it is all to stop
LAST_GRACE = 1.0


class Worker:
    """The work of one system, as a task."""

    def __init__(
        self,
        name: str,
        running: Running,
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
        """Begin, on the running event loop."""
        self._task = asyncio.create_task(self._attend(), name=f"{self.name} work")

    async def stop(self) -> None:
        """Have the work finish its step and end; who does not within the grace time is left behind."""
        task = self._task
        if task is None:
            return
        self._stopping = True
        for patience in (GRACE, LAST_GRACE):
            task.cancel()
            ended, _ = await asyncio.wait([task], timeout=patience)
            if ended:
                break
            log.warning("work does not stop", extra={"fields": {"system": self.name, "waited": patience}})
        self.state = "stopped"

    def stop_now(self) -> None:
        """Interrupt the step that is being finished too."""
        if self._task is not None:
            self._task.cancel()

    async def _attend(self) -> None:
        if self._demo:
            await self._fill()
        loop = asyncio.get_running_loop()
        pause = FIRST_PAUSE
        while True:
            self.state, began = "working", loop.time()
            if await self._work() or self._stopping:
                self.state = "finished"
                return
            if loop.time() - began > STEADY:
                pause = FIRST_PAUSE
            self.state = "restarting"
            self.restarts += 1
            await self._pause(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _fill(self) -> None:
        self.state = "filling"
        try:
            await self._running.fill()
        except Exception:  # the outermost handler: the system works without its demo data
            log.exception("demo data failed", extra={"fields": {"system": self.name}})
        else:
            log.info("demo data is there", extra={"fields": {"system": self.name}})

    async def _work(self) -> bool:
        """Work; tell whether it came to an end by itself."""
        try:
            await self._running.work()
        except Exception:  # the outermost handler: it is started again
            log.exception("work failed", extra={"fields": {"system": self.name}})
            return False
        return True
