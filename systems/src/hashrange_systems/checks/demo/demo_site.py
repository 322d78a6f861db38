"""The pages that the demo checks request: a web server on this machine only.

They behave as in `demo_scenario`: one is up, one has a certificate that expires soon, one flaps, one is broken, one
sells a camera. A page with a switch can be taken down by hand, to see the alerts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from html import escape
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory

from hashrange import Clock
from hashrange_systems.checks.demo.certificate import issue_certificate
from hashrange_systems.checks.demo.demo_scenario import (
    CAMERA,
    CAMERA_LINK,
    CERTIFICATE_DAYS,
    SHIPPING,
    find_price,
    is_failing,
)
from hashrange_systems.shared.epoch import from_ms
from hashrange_systems.shared.loopback import LOOPBACK, bind_loopback

SEND_TIMEOUT_S = 10.0
MAX_REQUEST_BYTES = 16_384
PAUSES_S = {"/shop": 0.06, "/search": 0.12, "/api/orders": 0.02}


@dataclass(frozen=True, slots=True)
class DemoResponse:
    """The response of a demo page."""

    body: str
    status: int = 200
    content_type: str = "text/html; charset=utf-8"

    def encode(self) -> bytes:
        """Return the bytes to send."""
        body = self.body.encode()
        head = f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}\r\nContent-Type: {self.content_type}\r\n"
        return f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body


class DemoSite:
    """The web server of the demo; its ports are bound when it is created, and served after `start`."""

    def __init__(self, clock: Clock, port: int) -> None:
        self._clock = clock
        self._folder = TemporaryDirectory(prefix="hashrange-checks-demo-")
        lasts = timedelta(days=CERTIFICATE_DAYS, hours=12)
        self._issued = issue_certificate(Path(self._folder.name), from_ms(clock.millis()), lasts)
        self._plain, self._secure = (
            bind_loopback(each, "CHECKS_DEMO_PORT") for each in (port, port + 1 if port else 0)
        )
        self._servers: list[asyncio.Server] = []
        self._lamp = True
        self._pages: dict[str, Callable[[], DemoResponse]] = {
            "/": self._show_index,
            "/shop": lambda: page("Shop", "A kettle. <b>Add to basket</b>"),
            "/api/orders": lambda: DemoResponse('{"status":"ok","orders":12}', content_type="application/json"),
            "/blog": lambda: page("Blog", "We moved to a new house."),
            "/search": lambda: refuse() if is_failing(self._clock.millis()) else page("Search", "3 results"),
            "/payments": refuse,
            "/intranet": lambda: page("Old intranet", "Closed on Fridays."),
            "/sch/i.html": self._show_camera,
            "/lamp": lambda: page("Lamp", "The lamp is on.") if self._lamp else refuse(),
            "/lamp/on": lambda: self._switch(on=True),
            "/lamp/off": lambda: self._switch(on=False),
        }

    def trust(self, others: Path | None = None) -> Path:
        """Return a file with its certificate authority and those of another file."""
        if others is not None:
            with self._issued.ca_file.open("ab") as file:
                file.write(b"\n" + others.read_bytes())
        return self._issued.ca_file

    @property
    def url(self) -> str:
        """The URL of its pages."""
        return f"http://{LOOPBACK}:{self._plain.getsockname()[1]}"

    @property
    def secure_url(self) -> str:
        """The URL of its pages with TLS."""
        return f"https://{LOOPBACK}:{self._secure.getsockname()[1]}"

    async def start(self) -> None:
        """Start to serve."""
        if not self._servers:
            self._servers = [
                await asyncio.start_server(self._handle_connection, sock=self._plain, limit=MAX_REQUEST_BYTES),
                await asyncio.start_server(
                    self._handle_connection, sock=self._secure, ssl=self._issued.context, limit=MAX_REQUEST_BYTES
                ),
            ]

    async def close(self) -> None:
        """Stop serving."""
        for server in self._servers:
            server.close()
        self._plain.close()
        self._secure.close()
        self._folder.cleanup()

    async def _handle_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(SEND_TIMEOUT_S):
                request = await reader.readuntil(b"\r\n\r\n")
                path = find_path(request)
                await asyncio.sleep(PAUSES_S.get(path, 0.01))
                writer.write(self.respond(path).encode())
                await writer.drain()
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    def respond(self, path: str) -> DemoResponse:
        """Return the current response of a page."""
        found = self._pages.get(path)
        return found() if found else page("Not found", "There is no such page.", 404)

    def _switch(self, *, on: bool) -> DemoResponse:
        self._lamp = on
        return self._show_index()

    def _show_index(self) -> DemoResponse:
        links = "".join(f'<li><a href="{path}">{path}</a></li>' for path in self._pages if path.count("/") == 1)
        state, other = ("on", "off") if self._lamp else ("off", "on")
        lamp = f'The <a href="/lamp">lamp</a> is {state}: <a href="/lamp/{other}">switch it {other}</a>.'
        return page("What the demo checks look at", f"<ul>{links}</ul><p>{lamp}</p>")

    def _show_camera(self) -> DemoResponse:
        item = (find_price(self._clock.millis()) - SHIPPING) / 100
        card = (
            f'<li class="s-card"><a class="s-card__link" href="{CAMERA_LINK}"><div class="s-card__title">{CAMERA}'
            f'</div></a><div class="s-card__attribute-row"><span class="s-card__price">${item:.2f}</span></div>'
            f'<div class="s-card__attribute-row">+${SHIPPING / 100:.2f} delivery</div></li>'
        )
        return page("rangefinder camera for sale", f"<ul>{card}</ul>")


def page(title: str, content: str, status: int = 200) -> DemoResponse:
    """Return a page; the content is HTML."""
    return DemoResponse(f"<!doctype html><title>{escape(title)}</title><h1>{escape(title)}</h1>{content}\n", status)


def refuse() -> DemoResponse:
    """Return an error response."""
    return page("Service unavailable", "Please come back later.", 503)


def find_path(request: bytes) -> str:
    """Return the path of a request; a path that does not exist if it cannot be parsed."""
    line = request.partition(b"\r\n")[0].decode("latin-1").split(" ")
    return line[1].partition("?")[0] if len(line) == 3 else "?"
