"""The queue of large requests: they run one at a time, and together take at most half of the time from the others.

The time of a request grows with its body; one of 16 MB takes seconds, in which no other request runs. After each
large request the others have as long as it took, if there are any.
"""

from __future__ import annotations

import asyncio
import gc
from collections import deque
from collections.abc import Callable
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
        handle: Callable[[SinkT, HttpRequest], None],
        count_others: Callable[[], int],
        max_bytes: int,
    ) -> None:
        self._loop = loop
        self._handle = handle
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
        started = perf_counter()
        with_gc = gc.isenabled()
        gc.disable()  # a request has no cycles; collecting the many objects of its body doubled the time
        try:
            self._handle(connection, request)
            connection.resume()
        finally:
            if with_gc:
                gc.enable()
        # The loop reads what other clients have sent meanwhile before it calls this.
        self._loop.call_soon(self._loop.call_soon, self._rest, perf_counter() - started, self._count_others())

    def _rest(self, seconds: float, others: int) -> None:
        if not self._waiting:
            self._is_scheduled = False
        elif self._count_others() > others:
            self._loop.call_later(seconds, self._run_next)
        else:
            self._run_next()
