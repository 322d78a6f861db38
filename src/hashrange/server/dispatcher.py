"""Runs requests on the engine: those of one event-loop tick share a commit, and no write is answered before it.

The connections bring complete requests and take rendered answers; the engine is entered from the event loop alone.
"""

from __future__ import annotations

import asyncio
import logging
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from hashrange.core.errors import InternalServerError, ServiceError, StorageError
from hashrange.server.metrics import Meter, Metrics
from hashrange.server.protocol import DEFAULT_MEDIA_TYPE, Call, Protocol, find_media_type
from hashrange.server.request import Request
from hashrange.server.response import Form, Reply, Responder, reply_error, shape_response

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine
    from hashrange.server.connection import Connection

log = logging.getLogger(__name__)

PLAIN_TEXT = b"text/plain; charset=utf-8"


class Exchange(NamedTuple):
    """An answer on its way out, and who is to get it."""

    connection: Connection
    form: Form
    reply: Reply
    meter: Meter
    started: float
    firm: bool  # it stands whether or not the commit succeeds


class Dispatcher:
    """Takes requests; answers reads at once while nothing is uncommitted, and everything else after the commit."""

    def __init__(
        self, engine: Engine, protocol: Protocol, responder: Responder, metrics: Metrics, *, slow: float, spin: float
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._engine = engine
        self._protocol = protocol
        self._responder = responder
        self._metrics = metrics
        self._slow = slow
        self._noteworthy = -1.0 if log.isEnabledFor(logging.DEBUG) else slow
        self._spin = spin
        self._held: list[Exchange] = []
        self._armed = False  # a turn is scheduled
        self._last = 0.0  # when the last request came
        self.open = False  # between engine.begin() and engine.end()

    def handle(self, connection: Connection, request: Request) -> None:
        """Answer a request: now, or when the group it falls into has been committed."""
        self._last = started = perf_counter()
        if not self._armed:
            self._armed = True
            self._loop.call_soon(self._turn)
        headers = request.headers
        media_type = find_media_type(headers.get(b"content-type"))
        meter, firm = self._metrics.other, True
        try:
            asked = self._protocol.read(request, media_type)
            if isinstance(asked, Call):
                meter, firm = asked.meter, False
                reply = self._perform(asked, media_type or DEFAULT_MEDIA_TYPE)
            else:
                reply = asked
        except Exception as error:  # noqa: BLE001 the outermost handler: whatever happens, the client gets an answer
            failure = error if isinstance(error, ServiceError) else report_failure(meter.name, error)
            reply = reply_error(failure, media_type or DEFAULT_MEDIA_TYPE)
        form = shape_response(
            reply.content_type,
            b"origin" in headers,
            headers.get(b"accept-encoding"),
            b"close" if not request.keep_alive else b"keep-alive" if b"connection" in headers else None,
            request.method == b"HEAD",
        )
        if connection.held or (self._engine.dirty and not firm):
            connection.hold(len(reply.body))
            self._held.append(Exchange(connection, form, reply, meter, started, firm))
        else:
            self._send(connection, form, reply, meter, perf_counter() - started)

    def refuse(self, connection: Connection, reply: Reply) -> None:
        """Send the last answer of a connection whose next request cannot be read."""
        form = shape_response(PLAIN_TEXT, False, None, b"close", False)
        if connection.held:
            connection.hold(len(reply.body))
            self._held.append(Exchange(connection, form, reply, self._metrics.other, perf_counter(), True))
        else:
            self._send(connection, form, reply, self._metrics.other, 0.0)

    def _perform(self, call: Call, content_type: bytes) -> Reply:
        if not self.open:
            self._engine.begin()
            self.open = True
        return Reply(200, self._engine.perform(call.operation, call.request), content_type)

    def _turn(self) -> None:
        """Commit what the tick brought; then, for a moment, look for more instead of sleeping until it comes."""
        if self.open:
            self.commit()
        if self.open or perf_counter() - self._last < self._spin:  # open again: answers made room for waiting requests
            self._loop.call_soon(self._turn)
        else:
            self._armed = False

    def commit(self) -> None:
        """Commit the open group and send its answers; if that fails, all of them are void."""
        self.open = False
        held, self._held = self._held, []
        try:
            self._engine.end()
        except Exception as error:  # noqa: BLE001 as above
            self._metrics.failed_commits += 1
            held = _void(held, report_failure("commit", error))
        if held:
            self._metrics.commits += 1
            self._metrics.committed_requests += len(held)
            self._release(held)

    def _release(self, held: list[Exchange]) -> None:
        now = perf_counter()
        for connection, form, reply, meter, started, _ in held:
            self._send(connection, form, reply, meter, now - started)
        for connection in {exchange.connection: None for exchange in held}:
            connection.release()

    def _send(self, connection: Connection, form: Form, reply: Reply, meter: Meter, seconds: float) -> None:
        status, body, _, headers = reply
        data = self._responder.render(form, status, body, headers)
        connection.queue(data)
        self._metrics.sent_bytes += len(data)
        meter.count(status, seconds)
        if seconds > self._noteworthy:
            self._report(reply, meter, seconds)

    def _report(self, reply: Reply, meter: Meter, seconds: float) -> None:
        slow = seconds > self._slow
        fields = {
            "operation": meter.name,
            "status": reply.status,
            "ms": round(seconds * 1000, 3),
            "bytes": len(reply.body),
            "request_id": self._responder.request_id.decode(),
        }
        if slow:
            log.warning("slow request", extra={"fields": fields})
        else:
            log.debug("request", extra={"fields": fields})


def _void(held: list[Exchange], failure: InternalServerError) -> list[Exchange]:
    return [
        exchange
        if exchange.firm
        else exchange._replace(reply=reply_error(failure, exchange.reply.content_type or DEFAULT_MEDIA_TYPE))
        for exchange in held
    ]


def report_failure(doing: str, error: Exception) -> InternalServerError:
    """Log what went wrong on our side, and return what the client is told of it."""
    if isinstance(error, StorageError):
        log.error("storage failed", extra={"fields": {"doing": doing, "error": str(error)}})
        return InternalServerError(str(error))
    log.error("unexpected failure", exc_info=error, extra={"fields": {"doing": doing}})
    return InternalServerError("Internal server error")
