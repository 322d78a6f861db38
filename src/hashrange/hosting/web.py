"""The web server: uvicorn on a socket that is there already, started and stopped by whoever runs the event loop."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import uvicorn

if TYPE_CHECKING:
    from starlette.types import ASGIApp

GRACE = 5  # seconds for requests that are being answered


class Web:
    """Serves an application."""

    def __init__(self, app: ASGIApp, listener: socket.socket) -> None:
        config = uvicorn.Config(
            app,
            http="httptools",
            lifespan="off",
            log_config=None,
            access_log=log_to_ours(),
            server_header=False,
            timeout_graceful_shutdown=GRACE,
        )
        self._server = Guest(config)
        self._listener = listener
        self.ended: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Serve from now on."""
        self.ended = asyncio.create_task(self._server.serve(sockets=[self._listener]), name="web")
        ready = asyncio.create_task(self._server.ready.wait())
        await asyncio.wait([self.ended, ready], return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            ready.cancel()
            await self.ended

    async def stop(self) -> None:
        """Take no more connections, and answer what was asked."""
        self._server.should_exit = True
        if self.ended is not None:
            await self.ended

    def stop_now(self) -> None:
        """Stop waiting for clients."""
        self._server.force_exit = True


class Guest(uvicorn.Server):
    """A server that leaves the signals alone, and tells when it is ready."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve."""
        await super().startup(sockets)
        self.ready.set()


def log_to_ours() -> bool:
    """Have uvicorn write its lines where ours go: failures, and when ours are at debug each request; tell which."""
    ours, theirs = logging.getLogger("hashrange"), logging.getLogger("uvicorn")
    wordy = ours.isEnabledFor(logging.DEBUG)
    theirs.handlers, theirs.propagate = ours.handlers, False
    theirs.setLevel(logging.DEBUG if wordy else logging.WARNING)
    return wordy
