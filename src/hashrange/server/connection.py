"""One client's connection: bytes to requests and answers to bytes, with limits on size and time.

What a request means is `dispatcher`'s; httptools parses, unless `head_cache` recognises the request. A slow, broken or
hostile client hurts only itself.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, cast

from httptools import HttpParserCallbackError, HttpParserError, HttpParserUpgrade, HttpRequestParser

from hashrange.server.dispatcher import report_failure
from hashrange.server.head_cache import HeadCache
from hashrange.server.http_request import HttpRequest, make_request
from hashrange.server.http_response import PlainResponse

if TYPE_CHECKING:
    from hashrange.server.server import Server

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
HIGH_WATER = 1024 * 1024  # answers that a client may leave unread before its next request has to wait
HEADER_OVERHEAD = len(": \r\n")


class ServerConnection(asyncio.Protocol):
    """Reads requests in order, hands them to the dispatcher, and writes the answers in the same order."""

    __slots__ = (
        "_at_least",
        "_at_most",
        "_backlog",
        "_begun",
        "_body",
        "_completed",
        "_counted",
        "_ended",
        "_fields",
        "_headers",
        "_lingers",
        "_metrics",
        "_out",
        "_packet",
        "_parser",
        "_partial",
        "_paused",
        "_reading",
        "_seen",
        "_server",
        "_settings",
        "_since",
        "_stencils",
        "_transport",
        "_unsent",
        "_url",
        "_working",
        "held",
    )

    def __init__(self, server: Server) -> None:
        self._server = server
        self._settings = server.settings
        self._metrics = server.metrics
        self._transport: asyncio.Transport | None = None
        # The request that is arriving; httptools keeps the callbacks it finds now, so the containers stay the same
        self._fields: dict[bytes, bytes] = {}
        self._headers: dict[bytes, bytes] | None = None
        self._body = bytearray()
        self._url = b""
        self._begun = False  # there is one
        self._packet = b""  # that it began with, while that is parsed
        self._at_least = self._at_most = 0  # how many bytes of it have come; a packet may hold the end of another one
        self._counted = 0  # bytes of its body that the server knows of
        self._partial = False
        self._parser: HttpRequestParser | None = HttpRequestParser(self)
        self._stencils = HeadCache()
        # What waits to go out
        self._out: list[bytes] = []
        self._backlog: deque[HttpRequest | PlainResponse] = deque()
        self.held = 0  # answers that wait for a commit
        self._unsent = 0  # their bytes
        self._working = False
        self._paused = False  # the client does not read
        self._reading = True
        self._ended = False  # no further request is read
        self._lingers = False  # refused: what it still sends is thrown away
        # For the timeouts
        self._completed = self._seen = 0
        self._since = server.now

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, unless the server is full."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=HIGH_WATER)
        self._server.admit(self)

    def data_received(self, data: bytes) -> None:
        """Take what the client sent."""
        self._metrics.received_bytes += len(data)
        if self._ended:
            return
        request = None if self._begun or self._server.stopping else self._stencils.recognise(data)
        if request is None:
            self._parse(data)
        else:
            self._take(request)
        if self._backlog or not self._reading or self._ended:
            self._work_off()
        elif self._out:
            self._server.dispatcher.flush_soon(self)

    def eof_received(self) -> bool:
        """Go on only as long as there are answers to give."""
        self._ended = True
        return bool(self.held or self._backlog)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the client; an answer that is still to come goes nowhere."""
        self._transport = self._parser = None
        self._ended = True
        self._backlog.clear()
        self._uncount()
        self._server.forget(self)

    def pause_writing(self) -> None:
        """Stop answering a client that does not read."""
        self._paused = True
        self._since = self._server.now

    def resume_writing(self) -> None:
        """Go on with what waited."""
        self._paused = False
        self._work_off()

    # What httptools calls; `on_header` and `on_body` go straight into their containers

    @property
    def on_header(self) -> object:
        """Collect a header."""
        return self._fields.__setitem__

    @property
    def on_body(self) -> object:
        """Collect a piece of the body."""
        return self._body.extend

    def on_message_begin(self) -> None:
        """Take note that a request is arriving."""
        self._begun = True

    def on_url(self, url: bytes) -> None:
        """Collect a piece of the URL."""
        self._url += url

    def on_headers_complete(self) -> None:
        """Refuse a request whose head says that it cannot be served, before its body comes."""
        self._headers = headers = {name.lower(): value for name, value in self._fields.items()}
        self._fields.clear()
        if self._at_most > self._settings.max_head:
            self._check_head(headers)
        if b"upgrade" in headers:
            self.refuse(400, "Upgrades are not supported")
        length = headers.get(b"content-length")
        if length is not None and len(length) > 7 and int(length) > self._settings.max_body:
            self.refuse(413, f"The request is larger than {self._settings.max_body} bytes")
        if b"expect" in headers and not (self._ended or self.held or self._backlog):
            self._out.append(CONTINUE)

    def on_message_complete(self) -> None:
        """Hand on a complete request."""
        parser = self._parser
        if self._ended or parser is None or self._headers is None:
            return
        keep_alive = parser.should_keep_alive() and not self._server.stopping
        body = bytes(self._body)
        request = make_request(parser.get_method(), self._url, self._headers, body, keep_alive=keep_alive)
        self._begun = False
        self._url = b""
        self._headers = None
        self._fields.clear()  # trailers, which nobody reads
        self._body.clear()
        self._ended = not keep_alive
        if self._counted:
            self._uncount()
        if self._packet and self._completed and self._server.lessons:  # not the first: many clients ask but once
            self._server.lessons -= 1
            self._stencils.learn(request, self._packet)
        self._take(request)

    # What the dispatcher calls

    def hold(self, size: int) -> None:
        """Take note of an answer that waits for a commit."""
        self.held += 1
        self._unsent += size

    def queue(self, data: bytes) -> None:
        """Take an answer; `flush` or `release` sends it."""
        self._out.append(data)
        self._unsent += len(data)

    def release(self) -> None:
        """Send the answers that were held, and go on with what waited behind them."""
        self.held = 0
        if self._backlog or not self._reading or self._ended:
            self._work_off()
        else:
            self.flush()

    # What the server calls

    def drain(self) -> None:
        """Hang up unless a request is arriving or being answered."""
        if not (self._partial or self.held or self._backlog or self._ended):
            self.close()

    def close(self) -> None:
        """Hang up; answers that are ready still go out."""
        self.flush()
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Cut the client off."""
        if self._transport is not None:
            self._transport.abort()

    def refuse(self, status: int, text: str) -> None:
        """Answer what cannot be served, after everything before it, and read no more."""
        if self._ended:
            return
        self._ended = self._lingers = True
        self._since = self._server.now
        self._body.clear()
        self._uncount()
        self._backlog.append(PlainResponse(status, f"{text}\n".encode()))
        self._work_off()

    def check_time(self, now: float) -> None:
        """Part with a client that takes too long."""
        if self._completed != self._seen:
            self._seen = self._completed
            self._since = now
        elif now - self._since > self._find_patience():
            self._metrics.timeouts += 1
            if self._ended or self._paused:
                self.abort()
            elif self._partial:
                self.refuse(408, "The request took too long to arrive")
            else:
                self.close()

    def _find_patience(self) -> float:
        settings = self._settings
        if self._lingers and not self._paused:
            return settings.linger
        if self._ended or self._paused:
            return settings.write_timeout
        if self._partial:
            return settings.head_timeout if self._headers is None else settings.body_timeout
        return settings.idle_timeout

    # The way in

    def _parse(self, data: bytes) -> None:
        completed = self._completed
        self._packet = b"" if self._begun else data
        self._at_most += len(data)
        self._feed(data)
        self._packet = b""
        if self._completed == completed:
            self._at_least += len(data)
            self._note_partial()
        else:
            self._at_least, self._at_most = 0, len(data)
            self._partial = False
            if self._begun:
                self._note_partial()

    def _feed(self, data: bytes) -> None:
        assert self._parser is not None
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:
            self.refuse(400, "Upgrades are not supported")
        except HttpParserCallbackError as error:
            report_failure("reading a request", error)
            self.abort()
        except HttpParserError as error:
            self.refuse(400, f"Bad request: {error}")

    def _take(self, request: HttpRequest) -> None:
        self._completed += 1
        if self._backlog or self._paused or self._unsent > HIGH_WATER:
            self._backlog.append(request)
        else:
            self._server.dispatcher.handle(self, request)

    def _check_head(self, headers: dict[bytes, bytes]) -> None:
        size = sum(len(name) + len(value) + HEADER_OVERHEAD for name, value in headers.items())
        if len(self._url) > self._settings.max_line:
            self.refuse(400, f"The request line is longer than {self._settings.max_line} bytes")
        elif size > self._settings.max_head:
            self.refuse(400, f"The headers are longer than {self._settings.max_head} bytes")

    def _note_partial(self) -> None:
        if self._ended:
            return
        if not self._partial:
            self._partial = True
            self._since = self._server.now
        settings, body = self._settings, len(self._body)
        if self._headers is None and self._at_least > settings.max_line + settings.max_head:
            self.refuse(400, f"The headers are longer than {settings.max_head} bytes")
        elif body > settings.max_body:
            self.refuse(413, f"The request is larger than {settings.max_body} bytes")
        else:
            self._server.unfinished += body - self._counted
            self._counted = body
            if self._server.unfinished > settings.max_unfinished:
                self.refuse(503, "Too many large requests at once")

    def _uncount(self) -> None:
        self._server.unfinished -= self._counted
        self._counted = 0

    # The way out

    def _work_off(self) -> None:
        """Write what may go out, and go on with the requests that waited for it."""
        if self._working:
            return
        self._working = True
        self.flush()
        while self._backlog and not (self._paused or self._unsent > HIGH_WATER):
            item = self._backlog.popleft()
            if isinstance(item, HttpRequest):
                self._server.dispatcher.handle(self, item)
            else:
                self._server.dispatcher.refuse(self, item)
            self.flush()
        self._working = False
        if self._ended or self._backlog or not self._reading:
            self._steer()

    def flush(self) -> None:
        """Write the answers that are ready."""
        out, transport = self._out, self._transport
        if not out or transport is None:
            out.clear()
            return
        data = out[0] if len(out) == 1 else b"".join(out)
        out.clear()
        if not self.held:
            self._unsent = 0
        try:
            transport.write(data)
        except (OSError, RuntimeError):  # it is gone, and that is its own affair
            transport.abort()

    def _steer(self) -> None:
        """Stop reading while requests wait, go on when they are done, and hang up after the last answer."""
        transport = self._transport
        if transport is None:
            return
        if self._ended and not (self.held or self._backlog):
            if self._lingers and transport.can_write_eof():
                transport.write_eof()
            else:
                transport.close()
        elif self._reading == bool(self._backlog) and not self._ended:
            self._reading = not self._backlog
            if self._reading:
                transport.resume_reading()
            else:
                transport.pause_reading()
