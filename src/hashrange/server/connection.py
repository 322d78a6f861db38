"""One client's connection: takes its requests in order, and sends the responses in the same order.

`request_reader` reads the requests, `dispatcher` runs them. A slow, broken or hostile client affects no other.
"""

from __future__ import annotations

import asyncio
from collections import deque
from time import perf_counter
from typing import Protocol, cast

from hashrange.server.dispatcher import Dispatcher, report_failure
from hashrange.server.http_request import HttpRequest
from hashrange.server.http_response import PlainResponse
from hashrange.server.metrics import Metrics
from hashrange.server.request_reader import ReaderHost, RequestReader

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
SECONDS_PER_TURN = 0.01  # of the requests of one packet, after which those of other clients are run
HIGH_WATER = 1024 * 1024  # bytes of unread responses, beyond which a client's next request has to wait


class ConnectionHost(ReaderHost, Protocol):
    """What a connection needs of its server."""

    dispatcher: Dispatcher
    metrics: Metrics
    now: float

    def admit(self, connection: ServerConnection) -> None:
        """Register a new connection, or refuse it."""
        ...

    def forget(self, connection: ServerConnection) -> None:
        """Unregister a closed connection."""
        ...


class ServerConnection(asyncio.Protocol):
    """Hands requests to the dispatcher and writes its responses."""

    __slots__ = (
        "_awaits_turn",
        "_backlog",
        "_buffered",
        "_host",
        "_is_handling_backlog",
        "_is_reading",
        "_lingers",
        "_out",
        "_reader",
        "_seen",
        "_since",
        "_suspended",
        "_transport",
        "_turn_ends",
        "_unsent",
        "_write_paused",
        "ended",
        "held",
    )

    def __init__(self, host: ConnectionHost) -> None:
        self._host = host
        self._reader = RequestReader(host, self)
        self._transport: asyncio.Transport | None = None
        self._out: list[bytes] = []  # responses to write
        self._backlog: deque[HttpRequest | PlainResponse] = deque()  # requests that wait for the client to read
        self.held = 0  # responses that wait for a commit
        self._unsent = 0  # bytes of responses since the last write
        self._turn_ends = 0.0  # when requests have to wait for those of other clients
        self._awaits_turn = False
        self._buffered = 0  # bytes of responses that the client of a stopping server has not taken
        self._is_handling_backlog = False  # the backlog; it must not begin again inside itself
        self._write_paused = False  # the client does not read
        self._suspended = 0  # how many times `suspend` was called: a request is answered later
        self._is_reading = True
        self.ended = False  # no further request is read
        self._lingers = False  # refused: what the client still sends is thrown away
        # For the timeouts
        self._seen = 0  # completed requests at the last sweep
        self._since = host.now

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, unless the server is full."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=HIGH_WATER)
        self._host.admit(self)

    def data_received(self, data: bytes) -> None:
        """Read what the client sent."""
        self._host.metrics.received_bytes += len(data)
        if self.ended:
            return
        reader = self._reader
        was_partial = reader.is_partial
        self._turn_ends = perf_counter() + SECONDS_PER_TURN
        reader.feed(data)
        if reader.is_partial and (self._host.stopping or not was_partial):
            self._since = self._host.now
        if self._backlog or not self._is_reading or self.ended:
            self._handle_backlog()
        elif self._out:
            self._host.dispatcher.flush_soon(self)

    def eof_received(self) -> bool:
        """Go on only as long as there are responses to send."""
        self.ended = True
        return bool(self.held or self._backlog or self._suspended)

    def connection_lost(self, exc: Exception | None) -> None:
        """Release the client; a response that is not sent yet is dropped."""
        self._transport = None
        self.ended = True
        self._backlog.clear()
        self._reader.close()
        self._host.forget(self)

    @property
    def is_lost(self) -> bool:
        """Whether the client has gone."""
        return self._transport is None

    def pause_writing(self) -> None:
        """Stop answering a client that does not read."""
        self._write_paused = True
        self._since = self._host.now

    def resume_writing(self) -> None:
        """Continue with the requests that waited."""
        self._write_paused = False
        self._handle_backlog()

    # What the reader calls

    def take(self, request: HttpRequest) -> None:
        """Run a complete request, or queue it behind those that wait."""
        if self._backlog or self._must_wait():
            self._backlog.append(request)
        else:
            self._host.dispatcher.handle(self, request)

    def send_continue(self) -> None:
        """Let the client send the body that it announced, unless earlier responses wait."""
        if not (self.ended or self.held or self._backlog or self._suspended):
            self._out.append(CONTINUE)

    def fail(self, error: Exception) -> None:
        """Cut the client off after an unexpected failure."""
        report_failure("reading a request", error)
        self.abort()

    def refuse(self, status: int, text: str) -> None:
        """Respond to what cannot be served, after everything before it, and read no more."""
        if self.ended:
            return
        self.ended = self._lingers = True
        self._since = self._host.now
        self._reader.discard()
        self._backlog.append(PlainResponse(status, f"{text}\n".encode()))
        self._handle_backlog()

    # What the dispatcher calls

    def hold(self, size: int) -> None:
        """Count a response that waits for a commit."""
        self.held += 1
        self._unsent += size

    def queue(self, data: bytes) -> None:
        """Take a response; `flush` or `release` sends it."""
        self._out.append(data)
        self._unsent += len(data)

    def release(self) -> None:
        """Send the responses that were held, and continue with the requests behind them."""
        self.held = 0
        if self._backlog or not self._is_reading or self.ended:
            self._handle_backlog()
        else:
            self.flush()

    def flush(self) -> None:
        """Write the responses that are ready."""
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
        except (OSError, RuntimeError):  # the client is gone
            transport.abort()

    def suspend(self) -> None:
        """Let further requests wait, so that responses keep their order."""
        self._suspended += 1

    def resume(self) -> None:
        """Continue with the requests that waited."""
        self._suspended -= 1
        self._handle_backlog()

    # What the server calls

    def drain(self, began: float) -> None:
        """Close the connection unless a request is arriving or being processed, of a server that began to stop then."""
        host = self._host
        buffered = 0 if self._transport is None else self._transport.get_write_buffer_size()
        if buffered != self._buffered:
            self._buffered, self._since = buffered, host.now
        waits_for_client = self._reader.is_partial or self._lingers or buffered
        if waits_for_client and host.now - max(self._since, began) > host.settings.stall:
            self.abort()  # whoever has sent or taken nothing for so long does not do the rest in time either
        elif not (self._reader.is_partial or self.held or self._backlog or self._suspended or self.ended):
            self.close()

    def close(self) -> None:
        """Close the connection; responses that are ready still go out."""
        self.flush()
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Cut the client off."""
        if self._transport is not None:
            self._transport.abort()

    def check_time(self, now: float) -> None:
        """Close the connection of a client that takes too long."""
        completed = self._reader.completed
        if completed != self._seen:
            self._seen = completed
            self._since = now
        elif now - self._since > self._find_timeout():
            self._host.metrics.timeouts += 1
            if self.ended or self._write_paused:
                self.abort()
            elif self._reader.is_partial:
                self.refuse(408, "The request took too long to arrive")
            else:
                self.close()

    def _find_timeout(self) -> float:
        settings = self._host.settings
        if self._lingers and not self._write_paused:
            return settings.linger
        if self.ended or self._write_paused:
            return settings.write_timeout
        if self._reader.is_partial:
            return settings.head_timeout if self._reader.awaits_head else settings.body_timeout
        return settings.idle_timeout

    # The backlog

    def _handle_backlog(self) -> None:
        """Write what may go out, and continue with the requests that waited for it."""
        if self._is_handling_backlog:
            return
        self._is_handling_backlog = True
        self.flush()
        self._turn_ends = perf_counter() + SECONDS_PER_TURN
        while self._backlog and not self._must_wait():
            item = self._backlog.popleft()
            if isinstance(item, HttpRequest):
                self._host.dispatcher.handle(self, item)
            else:
                self._host.dispatcher.refuse(self, item)
            self.flush()
        self._is_handling_backlog = False
        if self.ended or self._backlog or not self._is_reading:
            self._pause_or_close()

    def _must_wait(self) -> bool:
        """Return whether the next request has to wait: for the client, for an earlier one, or for other clients."""
        if self._write_paused or self._suspended or self._unsent > HIGH_WATER or self._awaits_turn:
            return True
        if perf_counter() > self._turn_ends:
            self._awaits_turn = True
            asyncio.get_running_loop().call_soon(self._start_turn)
        return self._awaits_turn

    def _start_turn(self) -> None:
        self._awaits_turn = False
        self._handle_backlog()

    def _pause_or_close(self) -> None:
        """Stop reading while requests wait, resume when they are done, and close after the last response."""
        transport = self._transport
        if transport is None:
            return
        if self.ended and not (self.held or self._backlog or self._suspended):
            if self._lingers and transport.can_write_eof():
                transport.write_eof()
            else:
                transport.close()
        elif self._is_reading == bool(self._backlog) and not self.ended:
            self._is_reading = not self._backlog
            if self._is_reading:
                transport.resume_reading()
            else:
                transport.pause_reading()
