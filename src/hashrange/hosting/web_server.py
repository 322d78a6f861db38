"""The web server: uvicorn on an open socket, as a task of a running event loop."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

import uvicorn

from hashrange.hosting.web_connection import WebConnections, WebLimits
from hashrange.server.cross_origin import CrossOriginCheck

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

GRACE = 5  # seconds for requests in progress


class WebServer:
    """Serves an ASGI application."""

    def __init__(self, app: ASGIApp, listener: socket.socket, limits: WebLimits | None = None) -> None:
        connections = WebConnections(limits=limits or WebLimits())
        config = uvicorn.Config(
            app,
            http=cast("type[asyncio.Protocol]", connections.make_protocol),  # uvicorn only calls it
            lifespan="off",
            log_config=None,
            access_log=route_logs(),
            server_header=False,
            proxy_headers="FORWARDED_ALLOW_IPS" in os.environ,  # uvicorn's own variable; by default it trusts 127.0.0.1
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
        """Accept no more connections, and respond to the requests in progress."""
        self._server.should_exit = True
        if self.ended is not None:
            await self.ended

    def stop_now(self) -> None:
        """Stop without waiting for requests in progress."""
        self._server.force_exit = True


class HostCheck:
    """An application that refuses requests whose Host does not name this machine (DNS rebinding)."""

    def __init__(self, app: ASGIApp, check: CrossOriginCheck) -> None:
        self._app = app
        self._check = check

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application, or send the refusal."""
        hosts = [value for name, value in scope.get("headers", ()) if name == b"host"]
        problem = self._check.find_host_problem(
            hosts[0] if hosts else None, repeated=len(hosts) > 1, version=scope.get("http_version", "1.1")
        )
        if scope["type"] == "lifespan" or problem is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            status, text = problem
            headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": f"{text}\n".encode()})
        else:
            await send({"type": "websocket.close"})


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
    theirs.handlers, theirs.propagate = list(ours.handlers), False
    theirs.setLevel(logging.DEBUG if verbose else logging.WARNING)
    return verbose
