"""The queue of large requests: they run one at a time, and together take at most half of the time from the others.

The time of a request grows with its body; one of 16 MB takes seconds, in which no other request runs. PartiQL is
parsed in steps, a statement each. After each step of a large request the others have as long as it took, if there are
any.
"""

from __future__ import annotations

import asyncio
import gc
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter
from typing import Generic, Protocol, TypeVar

from hashrange.server.http_request import HttpRequest
from hashrange.server.settings import KIB

LARGE_BODY = 256 * KIB  # bytes; most smaller requests take less than 50 ms, see docs/reference/limits.md
LARGE_STATEMENTS = 10 * KIB  # of PartiQL, which takes 50 ms to parse; one statement has at most 8,192 characters
EXECUTE = b"Execute"  # in the names of the operations that take statements


class SuspendableSink(Protocol):
    """A connection whose later requests can be made to wait."""

    def suspend(self) -> None:
        """Let further requests wait, so that responses keep their order."""
        ...

    def resume(self) -> None:
        """Continue with the requests that waited."""
        ...


def is_large(request: HttpRequest) -> bool:
    """Return whether the time for a request may be long; a compressed body may be of any size."""
    size, head = len(request.body), request.head
    return (
        size > LARGE_BODY or (size > LARGE_STATEMENTS and EXECUTE in head.target) or b"content-encoding" in head.names
    )


SinkT = TypeVar("SinkT", bound=SuspendableSink)


class LargeRequests(Generic[SinkT]):
    """Large requests that wait for their turn."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        handle: Callable[[SinkT, HttpRequest], Iterator[None]],
        count_others: Callable[[], int],
        max_bytes: int,
    ) -> None:
        self._loop = loop
        self._handle = handle  # in steps
        self._count_others = count_others  # how many other requests there have been
        self._room = max_bytes
        self._waiting: deque[tuple[SinkT, HttpRequest]] = deque()
        self._is_scheduled = False

    def add(self, connection: SinkT, request: HttpRequest) -> bool:
        """Take a request; return False if there is no room for it, and it has to be run at once."""
        if len(request.body) > self._room:
            return False
        self._room -= len(request.body)
        connection.suspend()
        self._waiting.append((connection, request))
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._run_next)
        return True

    def _run_next(self) -> None:
        connection, request = self._waiting.popleft()
        self._room += len(request.body)
        self._run_step(connection, self._handle(connection, request))

    def _run_step(self, connection: SinkT, steps: Iterator[None]) -> None:
        """Run the next step of a request; the others are served before the one after it."""
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
        proceed = self._run_next_if_any if is_done else partial(self._run_step, connection, steps)
        # The loop reads what other clients have sent meanwhile before it calls this.
        self._loop.call_soon(self._loop.call_soon, self._rest, perf_counter() - started, self._count_others(), proceed)

    def _run_next_if_any(self) -> None:
        if self._waiting:
            self._run_next()
        else:
            self._is_scheduled = False

    def _rest(self, seconds: float, others: int, proceed: Callable[[], None]) -> None:
        if self._count_others() > others:
            self._loop.call_later(seconds, proceed)
        else:
            proceed()
