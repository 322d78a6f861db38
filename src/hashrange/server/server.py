"""The server: listens, keeps the connections, runs the engine's background work, and stops cleanly.

`connection` reads and writes, `dispatcher` runs the requests. The caller owns the engine, and closes it afterwards.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from ipaddress import ip_address
from threading import Event
from typing import Any

from hashrange.core.errors import TooManyFiles
from hashrange.engine.engine import Engine
from hashrange.server.authentication import Authenticate, check_signature_format
from hashrange.server.connection import ServerConnection
from hashrange.server.cross_origin import CrossOriginCheck
from hashrange.server.dispatcher import Dispatcher, report_failure
from hashrange.server.http_response import Responder
from hashrange.server.metrics import Metrics
from hashrange.server.protocol import DynamoDBProtocol
from hashrange.server.separate_databases import SeparateDatabases
from hashrange.server.settings import BACKLOG, ServerSettings

REFUSED_AT_ONCE = 256  # connections over the limit that get a response; more are cut off
MAX_PAUSE = 0.5  # seconds between background work: a request may have caused new work since
AFTER_FAILURE = 5.0
HEADS_PER_SWEEP = 100  # caching a head takes longer than a request: clients whose heads always differ must not pay
WARM_UP_AFTER = 0.5  # seconds; the first request after the start comes first
BETWEEN_IMPORTS = 0.005


class Server:
    """Serves one engine, or separate databases, on one address."""

    dispatcher: Dispatcher
    cross_origin: CrossOriginCheck
    _loop: asyncio.AbstractEventLoop

    def __init__(
        self,
        served: Engine | SeparateDatabases,
        settings: ServerSettings,
        authenticate: Authenticate = check_signature_format,
    ) -> None:
        self._databases = served if isinstance(served, SeparateDatabases) else None
        engine = served.main if isinstance(served, SeparateDatabases) else served
        self.settings = settings
        self.metrics = Metrics(engine.operations)
        self.stopping = False
        self.unfinished = 0  # bytes of bodies that are still arriving
        self.now = 0.0  # the loop's time, as of the last sweep
        self.heads_to_cache = HEADS_PER_SWEEP  # heads that connections may still cache until the next sweep
        self._deadline = 0.0
        self._engine = engine
        self._responder = Responder(engine.clock)
        self._protocol = DynamoDBProtocol(
            engine.operations, self.metrics, authenticate, region=engine.settings.region, max_body=settings.max_body
        )
        self._connections: set[ServerConnection] = set()
        self._listener: asyncio.Server | None = None
        self._timers: dict[str, asyncio.Handle] = {}
        self._not_imported = iter(engine.operations)

    async def start(self) -> None:
        """Run the background work, and listen; raise OSError when the address cannot be used."""
        self.begin()
        await self.listen()

    def begin(self) -> None:
        """Run the background work of the engine, on the running event loop."""
        self._loop = loop = asyncio.get_running_loop()
        settings = self.settings
        self.dispatcher = Dispatcher(
            self._engine,
            self._protocol,
            self._responder,
            self.metrics,
            slow=settings.slow,
            spin=settings.spin if has_several_processors() else 0.0,
            max_waiting=settings.max_unfinished,
            databases=self._databases,
        )
        self.now = loop.time()
        self._sweep()
        self._maintain()

    async def listen(self) -> None:
        """Accept requests; raise OSError when the address cannot be used."""
        settings = self.settings
        if settings.listen:
            self._listener = await self._loop.create_server(
                lambda: ServerConnection(self), settings.host, settings.port, backlog=BACKLOG
            )
        bound = [address[0] for address in self._addresses]
        self.cross_origin = CrossOriginCheck([settings.host, *bound], origins=settings.cors, hosts=settings.allow_hosts)
        self._engine.endpoint = self._host_and_port
        if self._databases is not None:
            self._databases.endpoint = self._engine.endpoint
        self._timers["warm up"] = self._loop.call_later(WARM_UP_AFTER, self._warm_up)

    @property
    def url(self) -> str:
        """The address it listens on; empty if it does not."""
        if not self._addresses:
            return ""
        host, port, *_ = self._addresses[0]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    @property
    def _host_and_port(self) -> str | None:
        return self.url.removeprefix("http://") or None

    @property
    def _addresses(self) -> list[tuple[Any, ...]]:
        """The socket addresses it listens on, as the operating system describes them."""
        return [listening.getsockname() for listening in self._listener.sockets] if self._listener else []

    @property
    def region(self) -> str:
        """The region that its ARNs name."""
        return self._engine.settings.region

    @property
    def is_private(self) -> bool:
        """Whether only this machine can reach it."""
        return all(ip_address(address[0]).is_loopback for address in self._addresses)

    async def stop(self) -> None:
        """Stop listening, respond to requests that arrive within the grace period, and close the connections."""
        self.stopping = True
        self._deadline = self._loop.time() + self.settings.grace
        if self._listener is not None:
            self._listener.close()
        if self.dispatcher.open:
            self.dispatcher.commit()
        await self._drain()
        self.dispatcher.close()
        for timer in self._timers.values():
            timer.cancel()

    def replace_engine(self, engine: Engine) -> None:
        """Serve another engine of the same region and clock from now on; called from any thread but the server's."""
        done = Event()

        def replace() -> None:
            if self.dispatcher.open:
                self.dispatcher.commit()
            self._engine = self.dispatcher.engine = engine
            engine.endpoint = self._host_and_port
            done.set()

        self._loop.call_soon_threadsafe(replace)
        done.wait()

    def stop_now(self) -> None:
        """End the grace period of `stop`."""
        self._deadline = 0.0

    async def _drain(self) -> None:
        self.now = began = self._loop.time()
        while self._connections and self.now < self._deadline:
            for connection in list(self._connections):
                connection.drain(began)
            await asyncio.sleep(0.01)
            self.now = self._loop.time()
        for connection in list(self._connections):
            connection.abort()
        await asyncio.sleep(0)

    # What the connections call

    def admit(self, connection: ServerConnection) -> None:
        """Register a new connection, or refuse it."""
        self._connections.add(connection)
        self.metrics.open_connections = present = len(self._connections)
        self.metrics.accepted_connections += 1
        if present > self.settings.max_connections:
            self.metrics.refused_connections += 1
            connection.refuse(503, f"There are already {self.settings.max_connections} connections")
        if present > self.settings.max_connections + REFUSED_AT_ONCE:
            connection.abort()

    def forget(self, connection: ServerConnection) -> None:
        """Unregister a closed connection."""
        self._connections.discard(connection)
        self.metrics.open_connections = len(self._connections)

    # Timers

    def _sweep(self) -> None:
        self.now = self._loop.time()
        self.heads_to_cache = HEADS_PER_SWEEP
        self._responder.refresh_date()
        for connection in list(self._connections):
            connection.check_time(self.now)
        self._timers["sweep"] = self._loop.call_later(self.settings.sweep, self._sweep)

    def _warm_up(self) -> None:
        """Import the operations one by one while the server is idle, so that no first request waits for its import."""
        name = next(self._not_imported, None)
        if name is not None:
            with contextlib.suppress(TooManyFiles):  # the first request for it tries again
                self._engine.operations[name]
            self._timers["warm up"] = self._loop.call_later(BETWEEN_IMPORTS, self._warm_up)

    def _list_engines(self) -> list[Engine]:
        return [self._engine] if self._databases is None else self._databases.engines

    def _maintain(self) -> None:
        """Do a slice of the engine's background work, between the requests."""
        loop = self._loop
        if self.dispatcher.open:
            self._timers["maintain"] = loop.call_soon(self._maintain)
            return
        started = loop.time()
        try:
            wanted = min(engine.maintain() for engine in self._list_engines())
            delay = min(max(wanted, loop.time() - started), MAX_PAUSE)  # at most half of the time
        except Exception as error:  # noqa: BLE001 the outermost handler: serving goes on
            report_failure("background work", error)
            delay = AFTER_FAILURE
        self._timers["maintain"] = loop.call_later(delay, self._maintain)


def has_several_processors() -> bool:
    """Return whether a client can run while the server polls for its next request."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) > 1
    return (os.cpu_count() or 1) > 1
