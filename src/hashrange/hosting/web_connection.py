"""One client's connection to the pages: uvicorn's, within limits on request heads, waiting times and connections.

The limits of the endpoint's connections are in `hashrange.server`.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field, replace
from enum import Enum
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from hashrange.server.request_reader import HEADER_OVERHEAD
from hashrange.server.runner import OTHER_FILES, raise_file_limit
from hashrange.server.settings import KIB, MAX_CONNECTIONS

log = logging.getLogger(__name__)

WORKER_FILES = 320  # files that the workers of the systems may open: checks makes 200 requests at a time
FEWEST_CONNECTIONS = 8  # a browser opens six


@dataclass(frozen=True, slots=True, kw_only=True)
class WebLimits:
    """The limits of the connections to the pages. Times are in seconds."""

    max_connections: int = 1024
    refused_at_once: int = 64  # connections over the limit that get a response; more are cut off
    max_head: int = 64 * KIB  # request line and headers
    max_headers: int = 100
    head_timeout: float = 30.0  # from a request's first byte, or the connection's begin, to the end of its headers
    body_timeout: float = 30.0  # without any byte of the body
    linger: float = 2.0  # how long a refused client may go on sending before it is cut off

    @property
    def reserved_files(self) -> int:
        """How many files the pages and the workers may open."""
        return self.max_connections + self.refused_at_once + WORKER_FILES

    @property
    def shortest_timeout(self) -> float:
        """How often the timeouts are looked at, at least."""
        return min(self.head_timeout, self.body_timeout)


def limit_web_connections(limits: WebLimits) -> WebLimits:
    """Return the limits with no more connections than a quarter of the files that the process may open."""
    wanted = MAX_CONNECTIONS + OTHER_FILES + limits.reserved_files
    files = raise_file_limit(wanted)
    possible = max(FEWEST_CONNECTIONS, min(limits.max_connections, (files - OTHER_FILES) // 4))
    if possible < limits.max_connections:
        log.warning(
            "the process may open %d files (ulimit -n): the pages accept %d connections at a time instead of %d. "
            "Raise the limit to %d",
            files, possible, limits.max_connections, wanted,
        )  # fmt: skip
    return replace(limits, max_connections=possible)


@dataclass(slots=True, kw_only=True)
class WebConnections:
    """What the connections of one web server share."""

    limits: WebLimits = field(default_factory=WebLimits)
    refused: set[WebConnection] = field(default_factory=set)  # they linger, and take no one's place

    def make_protocol(self, **given: Any) -> WebConnection:
        """Return the protocol of a new connection; uvicorn calls it, with the arguments of its own protocol."""
        return WebConnection(self, **given)


class HeadTooLarge(Exception):
    """Ends the parsing of a request whose head exceeds a limit."""


class Awaited(Enum):
    """What has to arrive next."""

    NOTHING = 0  # a response is being made, or uvicorn's timeout of idle connections runs
    HEAD = 1
    BODY = 2


class WebConnection(HttpToolsProtocol):
    """Refuses what exceeds a limit; httptools calls the `on_` methods."""

    def __init__(self, shared: WebConnections, **given: Any) -> None:
        super().__init__(**given)
        self._shared = shared
        self._limits = shared.limits
        self._is_refused = False
        self._awaited = Awaited.HEAD
        self._since = self.loop.time()  # when it began to be awaited, or last made progress
        self._progressed = False  # the packet that is parsed ended a head or a message, or had bytes of a body
        self._unfinished = 0  # bytes in packets since then: the parser keeps unfinished headers and trailers
        self._head_size = 0
        self._timer: asyncio.TimerHandle | None = None

    # What asyncio calls

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, unless there are too many connections."""
        super().connection_made(transport)
        limits, refused = self._limits, self._shared.refused
        if len(self.connections) - len(refused) <= limits.max_connections:
            self._timer = self.loop.call_later(limits.shortest_timeout, self._check_time)
        elif len(refused) < limits.refused_at_once:
            refused.add(self)
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, f"There are already {limits.max_connections} connections")
        else:
            refused.add(self)
            self._is_refused = True
            transport.abort()

    def data_received(self, data: bytes) -> None:
        """Read what the client sent; what a refused one still sends is thrown away."""
        if self._is_refused:
            return
        self._progressed = False
        if self._awaited is Awaited.NOTHING:
            self._await(Awaited.HEAD)
        super().data_received(data)
        self._unfinished = 0 if self._progressed else self._unfinished + len(data)
        if self._unfinished > self._limits.max_head:
            self._refuse_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Release the client."""
        self._shared.refused.discard(self)
        self._stop_timer()
        super().connection_lost(exc)

    # What the parser calls

    def on_message_begin(self) -> None:
        """Count the head of a new request."""
        self._head_size = 0
        self._await(Awaited.HEAD)
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Take a part of the request line."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header or trailer."""
        super().on_header(name, value)
        self._count(len(name) + len(value) + HEADER_OVERHEAD)

    def on_headers_complete(self) -> None:
        """Run the request."""
        self._make_progress(Awaited.BODY)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        self._make_progress(Awaited.BODY)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Take the end of the request."""
        self._make_progress(Awaited.NOTHING)
        super().on_message_complete()

    # What uvicorn calls

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be parsed, unless it was refused because of its size."""
        if not self._is_refused:
            super().send_400_response(msg)

    def handle_websocket_upgrade(self) -> None:
        """Leave the connection to another protocol."""
        self._stop_timer()
        super().handle_websocket_upgrade()

    # Limits

    def _await(self, awaited: Awaited) -> None:
        self._awaited = awaited
        self._since = self.loop.time()

    def _make_progress(self, awaited: Awaited) -> None:
        self._progressed = True
        self._await(awaited)

    def _count(self, size: int) -> None:
        self._head_size += size
        if self._head_size > self._limits.max_head or len(self.headers) > self._limits.max_headers:
            self._refuse_head()
            raise HeadTooLarge

    def _refuse_head(self) -> None:
        limits = self._limits
        self._refuse(
            HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
            f"The head of a request has at most {limits.max_head} bytes and {limits.max_headers} headers",
        )

    def _check_time(self) -> None:
        """Close the connection of a client that takes too long, or look again later."""
        limits, now = self._limits, self.loop.time()
        timeout = limits.body_timeout if self._awaited is Awaited.BODY else limits.head_timeout
        remaining = self._since + timeout - now
        if remaining <= 0 and self._waits_for_client():
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, "The request took too long to arrive")
        else:
            pause = min(remaining, limits.shortest_timeout) if remaining > 0 else limits.shortest_timeout
            self._timer = self.loop.call_later(pause, self._check_time)

    def _waits_for_client(self) -> bool:
        if self._awaited is Awaited.BODY:
            return not self.flow.read_paused
        return self._awaited is Awaited.HEAD and not self._has_response_in_progress()

    def _has_response_in_progress(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def _refuse(self, status: HTTPStatus, text: str) -> None:
        """Respond, unless another response is in progress, and close the connection."""
        if self._is_refused or self.transport.is_closing():
            return
        self._is_refused = True
        self._stop_timer()
        self._unset_keepalive_if_required()
        if self._has_response_in_progress():
            self.transport.close()
        else:
            self.transport.write(_make_response(status, text))
            self.transport.write_eof()
        self._timer = self.loop.call_later(self._limits.linger, self.transport.abort)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _make_response(status: HTTPStatus, text: str) -> bytes:
    return (
        f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: text/plain; charset=utf-8\r\n"
        f"content-length: {len(text) + 1}\r\nconnection: close\r\n\r\n{text}\n"
    ).encode("ascii")
