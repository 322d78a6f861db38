"""The queue of large and long requests: they run one at a time, and take at most half of the time from the others.

They run in steps. A large body is read in the first one; then the operation runs, part by part (`engine.partial_work`).
After each step the others have as long as it took, if there are any.
"""

from __future__ import annotations

import asyncio
import gc
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter
from typing import Protocol

from hashrange.server.http_request import HttpRequest
from hashrange.server.settings import KIB

LARGE_BODY = 256 * KIB  # bytes; most smaller requests take less than 50 ms, see docs/reference/limits.md


class SuspendableSink(Protocol):
    """A connection whose later requests can be made to wait."""

    @property
    def is_lost(self) -> bool:
        """Whether the client has gone."""
        ...

    def suspend(self) -> None:
        """Let further requests wait, so that responses keep their order."""
        ...

    def resume(self) -> None:
        """Continue with the requests that waited."""
        ...


def is_large(request: HttpRequest) -> bool:
    """Return whether the time for a request may be long; a compressed body may be of any size."""
    return len(request.body) > LARGE_BODY or b"content-encoding" in request.head.names


class LargeRequests:
    """Requests that wait for their turn."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        count_others: Callable[[], int],
        max_bytes: int,
    ) -> None:
        self._loop = loop
        self._count_others = count_others  # how many other requests there have been
        self._room = max_bytes
        self._waiting: deque[tuple[SuspendableSink, Iterator[None], int]] = deque()
        self._is_scheduled = False
        self._is_closed = False

    def close(self) -> None:
        """Run nothing more."""
        self._is_closed = True
        self._waiting.clear()

    def add(self, connection: SuspendableSink, steps: Iterator[None], size: int = 0) -> bool:
        """Take the steps of a request with so large a body; return False if there is no room for it."""
        if size > self._room:
            return False
        self._room -= size
        connection.suspend()
        self._waiting.append((connection, steps, size))
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._run_next)
        return True

    def _run_next(self) -> None:
        """Begin with the next request, if there is one; drop those before it whose clients have gone."""
        while self._waiting and not self._is_closed:
            connection, steps, size = self._waiting.popleft()
            self._room += size
            if not connection.is_lost:
                self._run_step(connection, steps)
                return
        self._is_scheduled = False

    def _run_step(self, connection: SuspendableSink, steps: Iterator[None]) -> None:
        """Run the next step of a request; the others are served before the one after it.

        What is left of a request whose client has gone is not done: it has written nothing, and nobody waits for it.
        """
        if self._is_closed:
            return
        if connection.is_lost:
            self._run_next()
            return
        started = perf_counter()
        with_gc = gc.isenabled()
        gc.disable()  # a request has no cycles; collecting the many objects of its body doubled the time
        try:
            is_done = next(steps, self) is self
            if is_done:
                connection.resume()
        finally:
            if with_gc:
                gc.enable()
        proceed = self._run_next if is_done else partial(self._run_step, connection, steps)
        # The loop reads what other clients have sent meanwhile before it calls this.
        self._loop.call_soon(
            self._loop.call_soon, self._proceed_after_others, perf_counter() - started, self._count_others(), proceed
        )

    def _proceed_after_others(self, seconds: float, others: int, proceed: Callable[[], None]) -> None:
        if self._count_others() > others:
            self._loop.call_later(seconds, proceed)
        else:
            proceed()
