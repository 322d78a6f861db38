"""The embedded database of a process that also serves it: both use one engine on one event loop.

The wire server holds the engine from a request to the end of the event loop's tick, so that requests share a commit.
A call from the same thread would deadlock in between; `SharedDatabase` has the server commit first.
"""

from __future__ import annotations

import asyncio
import threading
from time import monotonic

from hashrange.client.database import Database
from hashrange.client.transport import DecodeResponse, decode_all
from hashrange.core.wire import Wire
from hashrange.engine.engine import Engine
from hashrange.server.server import Server

MAX_RUN_SECONDS = 0.005  # seconds of calls in a row, after which other tasks of the event loop run


class SharedDatabase(Database):
    """A database that is served from the thread that created it; it may be used from any thread."""

    def __init__(self, engine: Engine, server: Server) -> None:
        super().__init__(engine)
        self._dispatcher = server.dispatcher
        self._thread = threading.get_ident()
        self._until = 0.0

    def call(self, operation: str, request: Wire | None = None, read: DecodeResponse = decode_all) -> Wire:
        """Run an operation, after the server has committed."""
        self._free_engine()
        return super().call(operation, request, read)

    async def call_async(self, operation: str, request: Wire | None = None, read: DecodeResponse = decode_all) -> Wire:
        """Do the same in an event loop; yield to other tasks during a long series of calls."""
        if monotonic() > self._until:
            await asyncio.sleep(0)
            self._until = monotonic() + MAX_RUN_SECONDS
        return self.call(operation, request, read)

    def wait_until_idle(self) -> None:
        """Finish the background work that is due, after the server has committed."""
        self._free_engine()
        super().wait_until_idle()

    def _free_engine(self) -> None:
        if threading.get_ident() == self._thread:
            while self._dispatcher.open:  # a commit makes room for requests that wait, which open the next group
                self._dispatcher.commit()
