"""The pages that the demo checks look at: a web server of the demo's own, on this machine alone.

They behave as `story` says: one answers, one's certificate soon expires, one comes and goes, one is broken, one sells a
camera. And there is a lamp that visitors can switch off, to see what a check makes of it.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from html import escape
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory

from hashrange import Clock
from hashrange_systems.checks.demo.certificate import issue
from hashrange_systems.checks.demo.story import CAMERA, CAMERA_LINK, CERTIFICATE_DAYS, SHIPPING, find_price, is_failing
from hashrange_systems.checks.service.moment import from_ms

LOOPBACK = "127.0.0.1"
PATIENCE_S = 10.0
LONGEST_REQUEST = 16_384
PAUSES_S = {"/shop": 0.06, "/search": 0.12, "/api/orders": 0.02}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a page answers."""

    body: str
    status: int = 200
    kind: str = "text/html; charset=utf-8"

    def encode(self) -> bytes:
        """Return it as it is sent."""
        body = self.body.encode()
        head = f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}\r\nContent-Type: {self.kind}\r\n"
        return f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body


class DemoSite:
    """The demo's web server; its addresses are known when it is made, and answer once it is started."""

    def __init__(self, clock: Clock, port: int) -> None:
        self._clock = clock
        self._folder = TemporaryDirectory(prefix="hashrange-checks-demo-")
        lasts = timedelta(days=CERTIFICATE_DAYS, hours=12)
        self._issued = issue(Path(self._folder.name), from_ms(clock.millis()), lasts)
        self._plain, self._secure = bind(port), bind(port + 1 if port else 0)
        self._servers: list[asyncio.Server] = []
        self._lamp = True
        self._pages: dict[str, Callable[[], Answer]] = {
            "/": self._show_index,
            "/shop": lambda: page("Shop", "A kettle. <b>Add to basket</b>"),
            "/api/orders": lambda: Answer('{"status":"ok","orders":12}', kind="application/json"),
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
        """Return a file with the authority that its certificate is of, and with those of another file."""
        if others is not None:
            with self._issued.ca_file.open("ab") as file:
                file.write(b"\n" + others.read_bytes())
        return self._issued.ca_file

    @property
    def url(self) -> str:
        """Where its pages are."""
        return f"http://{LOOPBACK}:{self._plain.getsockname()[1]}"

    @property
    def secure_url(self) -> str:
        """Where its pages are with TLS."""
        return f"https://{LOOPBACK}:{self._secure.getsockname()[1]}"

    async def start(self) -> None:
        """Answer from now on."""
        if not self._servers:
            self._servers = [
                await asyncio.start_server(self._attend, sock=self._plain, limit=LONGEST_REQUEST),
                await asyncio.start_server(
                    self._attend, sock=self._secure, ssl=self._issued.context, limit=LONGEST_REQUEST
                ),
            ]

    async def close(self) -> None:
        """Answer no more."""
        for server in self._servers:
            server.close()
        self._plain.close()
        self._secure.close()
        self._folder.cleanup()

    async def _attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(PATIENCE_S):
                request = await reader.readuntil(b"\r\n\r\n")
                path = find_path(request)
                await asyncio.sleep(PAUSES_S.get(path, 0.01))
                writer.write(self.answer(path).encode())
                await writer.drain()
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    def answer(self, path: str) -> Answer:
        """Return what a page answers at this moment."""
        found = self._pages.get(path)
        return found() if found else page("Not found", "There is no such page.", 404)

    def _switch(self, *, on: bool) -> Answer:
        self._lamp = on
        return self._show_index()

    def _show_index(self) -> Answer:
        links = "".join(f'<li><a href="{path}">{path}</a></li>' for path in self._pages if path.count("/") == 1)
        state, other = ("on", "off") if self._lamp else ("off", "on")
        lamp = f'The <a href="/lamp">lamp</a> is {state}: <a href="/lamp/{other}">switch it {other}</a>.'
        return page("What the demo checks look at", f"<ul>{links}</ul><p>{lamp}</p>")

    def _show_camera(self) -> Answer:
        item = (find_price(self._clock.millis()) - SHIPPING) / 100
        card = (
            f'<li class="s-card"><a class="s-card__link" href="{CAMERA_LINK}"><div class="s-card__title">{CAMERA}'
            f'</div></a><div class="s-card__attribute-row"><span class="s-card__price">${item:.2f}</span></div>'
            f'<div class="s-card__attribute-row">+${SHIPPING / 100:.2f} delivery</div></li>'
        )
        return page("rangefinder camera for sale", f"<ul>{card}</ul>")


def page(title: str, content: str, status: int = 200) -> Answer:
    """Return a page; the content is HTML."""
    return Answer(f"<!doctype html><title>{escape(title)}</title><h1>{escape(title)}</h1>{content}\n", status)


def refuse() -> Answer:
    """Return the answer of a page that does not work."""
    return page("Service unavailable", "Please come back later.", 503)


def find_path(request: bytes) -> str:
    """Return the path that a request asks for; of one that cannot be read, one that is nowhere."""
    line = request.partition(b"\r\n")[0].decode("latin-1").split(" ")
    return line[1].partition("?")[0] if len(line) == 3 else "?"


def bind(port: int) -> socket.socket:
    """Return a socket on that port of this machine, or on any free one when that is taken."""
    try:
        return socket.create_server((LOOPBACK, port))
    except (OSError, OverflowError):
        return socket.create_server((LOOPBACK, 0))
