"""Serves the demo's shops on one port of this machine, by the Host header, and logs every request.

Tests of politeness assert on the log: what was asked, when, and with which validators.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from hashrange import Clock
from hashrange_systems.aura.demo.demo_catalogue import BY_DOMAIN
from hashrange_systems.aura.demo.demo_shop import PERIOD_MS, DemoShop, count_steps
from hashrange_systems.aura.demo.demo_site import DRIP_S, DemoResponse, DemoVisit, respond
from hashrange_systems.shared.fetching.errors import NameUnresolved
from hashrange_systems.shared.fetching.resolver import Resolver
from hashrange_systems.shared.loopback import LOOPBACK, bind_loopback

MAX_REQUEST_BYTES = 32_768
SEND_TIMEOUT_S = 60.0
MAX_LOG = 100_000
PIECE = 65_536
RESERVED_SUFFIXES = (".test", ".example")  # RFC 2606: nobody has such a shop


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoRequest:
    """One request that a shop received."""

    at: float  # seconds of a monotonic clock
    domain: str
    path: str  # with its query
    status: int
    user_agent: str
    conditional: bool


class DemoResolver:
    """Resolves the demo's names to this machine, and asks another resolver for the rest."""

    def __init__(self, others: Resolver | None = None) -> None:
        self._others = others

    async def resolve(self, host: str) -> Sequence[str]:
        """Return the addresses of a name."""
        if host.removeprefix("www.") in BY_DOMAIN:
            return [LOOPBACK]
        if self._others is None or host.endswith(RESERVED_SUFFIXES):
            raise NameUnresolved(host, temporary=False)
        return await self._others.resolve(host)


class DemoServer:
    """The running demo shops; its port is bound when it is created, and served after `start`."""

    def __init__(
        self, clock: Clock, port: int = 0, *, started_ms: int | None = None, period_ms: int = PERIOD_MS
    ) -> None:
        self._clock, self._period_ms = clock, period_ms
        self.started_ms = clock.millis() if started_ms is None else started_ms
        self._socket = bind_loopback(port, "AURA_DEMO_PORT")
        self.port: int = self._socket.getsockname()[1]
        self.requests: list[DemoRequest] = []
        self._asked: Counter[tuple[str, str]] = Counter()
        self._server: asyncio.Server | None = None

    @property
    def step(self) -> int:
        """How often the prices have changed."""
        return count_steps(self._clock.millis(), self.started_ms, self._period_ms)

    def find_url(self, domain: str) -> str:
        """Return the URL at which the crawl of a shop begins."""
        return f"http://{domain}:{self.port}/"

    def find_requests(self, domain: str) -> list[DemoRequest]:
        """Return what a shop was asked for, in order."""
        return [request for request in self.requests if request.domain == domain]

    async def start(self) -> None:
        """Start to serve."""
        if self._server is None:
            self._server = await asyncio.start_server(self._attend, sock=self._socket, limit=MAX_REQUEST_BYTES)

    async def close(self) -> None:
        """Stop serving."""
        if self._server is not None:
            self._server.close()
        self._socket.close()

    async def _attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                async with asyncio.timeout(SEND_TIMEOUT_S):
                    head = await reader.readuntil(b"\r\n\r\n")
                    await send(writer, self.respond(head))
        finally:  # also when the process ends inside a body that drips
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    def respond(self, head: bytes) -> DemoResponse:
        """Return the response to a request, and log it."""
        line, *rest = head.decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (each.partition(":") for each in rest)}
        path = line.split(" ")[1] if line.count(" ") == 2 else "/"
        domain = headers.get("host", "").partition(":")[0].lower().removeprefix("www.")
        shop = BY_DOMAIN.get(domain)
        response = self._respond(shop, path, headers) if shop else DemoResponse(status=404)
        self._log(domain, path, response.status, headers)
        return response

    def _respond(self, shop: DemoShop, path: str, headers: dict[str, str]) -> DemoResponse:
        visit = DemoVisit(
            shop=shop,
            origin=f"http://{headers['host']}",
            path=path,
            asked_before=self._asked[shop.domain, path],
            step=self.step,
            if_none_match=headers.get("if-none-match"),
            if_modified_since=headers.get("if-modified-since"),
        )
        self._asked[shop.domain, path] += 1
        return respond(visit)

    def _log(self, domain: str, path: str, status: int, headers: dict[str, str]) -> None:
        request = DemoRequest(
            at=time.monotonic(),
            domain=domain,
            path=path,
            status=status,
            user_agent=headers.get("user-agent", ""),
            conditional="if-none-match" in headers or "if-modified-since" in headers,
        )
        self.requests.append(request)
        del self.requests[: max(0, len(self.requests) - MAX_LOG)]


async def send(writer: asyncio.StreamWriter, response: DemoResponse) -> None:
    """Send a response, in the way it misbehaves."""
    writer.write(response.encode_head())
    if response.breaks:
        writer.write(response.body[: len(response.body) // 2])
        await writer.drain()
        writer.transport.abort()
        return
    if response.drips:
        for byte in response.body:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(DRIP_S)
        return
    while True:
        for start in range(0, len(response.body), PIECE):
            writer.write(response.body[start : start + PIECE])
            await writer.drain()
        if not response.endless:
            return
