"""The web server: uvicorn on an open socket, as a task of a running event loop."""

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

GRACE = 5  # seconds for requests in progress


class WebServer:
    """Serves an ASGI application."""

    def __init__(self, app: ASGIApp, listener: socket.socket) -> None:
        config = uvicorn.Config(
            app,
            http="httptools",
            lifespan="off",
            log_config=None,
            access_log=route_logs(),
            server_header=False,
            timeout_graceful_shutdown=GRACE,
        )
        self._server = EmbeddedUvicorn(config)
        self._listener = listener
        self.ended: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start to serve; return when connections are accepted."""
        self.ended = asyncio.create_task(self._server.serve(sockets=[self._listener]), name="web")
        ready = asyncio.create_task(self._server.ready.wait())
        await asyncio.wait([self.ended, ready], return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            ready.cancel()
            await self.ended

    async def stop(self) -> None:
        """Accept no more connections, and answer the requests in progress."""
        self._server.should_exit = True
        if self.ended is not None:
            await self.ended

    def stop_now(self) -> None:
        """Stop without waiting for requests in progress."""
        self._server.force_exit = True


class EmbeddedUvicorn(uvicorn.Server):
    """A uvicorn that installs no signal handlers, and signals when it is ready."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture no signals: the host handles them."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to serve."""
        await super().startup(sockets)
        self.ready.set()


def route_logs() -> bool:
    """Send uvicorn's log records to our handlers; return whether to log each request (at level debug)."""
    ours, theirs = logging.getLogger("hashrange"), logging.getLogger("uvicorn")
    verbose = ours.isEnabledFor(logging.DEBUG)
    theirs.handlers, theirs.propagate = ours.handlers, False
    theirs.setLevel(logging.DEBUG if verbose else logging.WARNING)
    return verbose
