"""Runs requests on the engine: those of one event-loop tick share a commit, and no response to a write precedes it.

Connections bring complete requests and take rendered responses. Only the event loop calls the engine.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from math import inf
from time import perf_counter
from typing import Protocol

from msgspec import Struct

from hashrange.core.errors import InternalServerError, ServiceError, StorageError
from hashrange.engine.engine import Engine
from hashrange.engine.partial_work import PartialWork, Paused
from hashrange.server.http_request import HttpRequest
from hashrange.server.http_response import PlainResponse, Responder, ResponseForm, write_headers
from hashrange.server.large_requests import LargeRequests, is_large
from hashrange.server.metrics import Meter, Metrics
from hashrange.server.protocol import DynamoDBProtocol
from hashrange.server.separate_databases import SeparateDatabases

log = logging.getLogger(__name__)

PLAIN_TEXT = b"text/plain; charset=utf-8"
BODY = "request body"  # the name of a part that no table has, as those of BatchGetItem
SECONDS_PER_PART = 0.02  # of a request that takes long, before the requests of others


class ResponseSink(Protocol):
    """Takes the responses of one client, in the order of its requests."""

    held: int  # responses that wait for a commit

    @property
    def is_lost(self) -> bool:
        """Whether the client has gone."""
        ...

    def hold(self, size: int) -> None:
        """Count a response that waits for a commit."""
        ...

    def queue(self, data: bytes) -> None:
        """Take a response; `flush` or `release` sends it."""
        ...

    def release(self) -> None:
        """Send the responses that were held."""
        ...

    def flush(self) -> None:
        """Write the responses that are ready."""
        ...

    def suspend(self) -> None:
        """Let further requests wait, so that responses keep their order."""
        ...

    def resume(self) -> None:
        """Continue with the requests that waited."""
        ...


class PendingResponse(Struct, gc=False):
    """A response that waits for a commit."""

    connection: ResponseSink
    form: ResponseForm
    status: int
    body: bytes
    meter: Meter
    started: float
    engine: Engine | None  # whose commit it waits for; None if it is valid even if that fails


class Dispatcher:
    """Responds to reads at once while nothing is uncommitted, and everything else after the commit."""

    def __init__(
        self,
        engine: Engine,
        protocol: DynamoDBProtocol,
        responder: Responder,
        metrics: Metrics,
        *,
        slow: float,
        spin: float,
        max_waiting: int,
        databases: SeparateDatabases | None = None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._large = LargeRequests(self._loop, lambda: self._handled, max_waiting)
        self._handled = 0  # requests that are not large
        self.engine = engine
        self._databases = databases
        self._opened: list[Engine] = []  # between engine.begin() and engine.end()
        self._protocol = protocol
        self._responder = responder
        self._metrics = metrics
        self._slow = slow
        self._noteworthy = -1.0 if log.isEnabledFor(logging.DEBUG) else slow
        self._spin = spin
        self._held: list[PendingResponse] = []
        self._outgoing: list[ResponseSink] = []  # with responses to write at the end of the tick
        self._is_scheduled = False  # the end of the tick is
        self._last = 0.0  # when the last responses went out
        self._tick_requests = 0  # requests of this tick

    @property
    def open(self) -> bool:
        """Whether there is a group to commit."""
        return bool(self._opened)

    def handle(self, connection: ResponseSink, request: HttpRequest) -> None:
        """Respond to a request: now, or when the group it falls into has been committed; a large one in its turn."""
        if is_large(request):
            steps = self._respond_in_parts(connection, request, PartialWork(SECONDS_PER_PART))
            if self._large.add(connection, steps, len(request.body)):
                return
        self._handled += 1
        self._respond_or_queue(connection, request)

    def _respond_or_queue(self, connection: ResponseSink, request: HttpRequest) -> None:
        """Respond to a request; if it takes long, queue what is left of it behind the large requests."""
        if self.engine.faults is not None and self._delay(connection, request):
            return
        partial = self._respond(connection, request)
        if partial is not None:
            self._large.add(connection, self._respond_in_parts(connection, request, partial))

    def _respond_in_parts(self, connection: ResponseSink, request: HttpRequest, partial: PartialWork) -> Iterator[None]:
        if self.engine.faults is not None:  # which do not pause
            self._respond_or_queue(connection, request)
            return
        while self._respond(connection, request, partial) is not None:
            yield

    def _respond(
        self, connection: ResponseSink, request: HttpRequest, partial: PartialWork | None = None
    ) -> PartialWork | None:
        """Respond to a request, or return its partial work when it has paused."""
        started = perf_counter()
        if partial is not None:
            started = partial.started
            partial.start_turn()
        self._tick_requests += 1
        if not self._is_scheduled:
            self._schedule_end()
        head = request.head
        form = head.form
        status, meter, engine = 200, self._metrics.other, None
        try:
            read = self._protocol.read
            asked = read(request) if partial is None else partial.do((BODY, 0), (), read, request)
            if isinstance(asked, PlainResponse):
                status, body, content_type, lines = asked
                others = write_headers(content_type, b"origin" in head.names, head.connection)
                form = ResponseForm(None, others + lines, form.encoding, head.method == b"HEAD")
            else:
                operation, wire, meter = asked
                databases = self._databases
                engine = self.engine if databases is None else databases.find(request, operation, wire)
                if engine not in self._opened:
                    engine.begin()
                    self._opened.append(engine)
                pause_at = started + SECONDS_PER_PART if operation.pauses else inf
                body = engine.perform(operation, wire, partial=partial, pause_at=pause_at)
        except Paused:
            return partial or PartialWork(SECONDS_PER_PART, started)
        except ServiceError as error:
            status, body = error.status, error.body()
        except Exception as error:  # noqa: BLE001 the outermost handler: the client always gets a response
            status, body = 500, report_failure(meter.name, error).body()
        if connection.held or (engine is not None and engine.in_transaction):
            connection.hold(len(body))
            self._held.append(PendingResponse(connection, form, status, body, meter, started, engine))
        else:
            self._send(connection, form, status, body, meter, perf_counter() - started)
        return None

    def _delay(self, connection: ResponseSink, request: HttpRequest) -> bool:
        """Respond to a request later if a fault delays it; other connections are served meanwhile."""
        seconds = self._find_delay(request)
        if seconds:
            connection.suspend()
            self._loop.call_later(seconds, self._handle_delayed, connection, request)
        return bool(seconds)

    def _find_delay(self, request: HttpRequest) -> float:
        try:
            asked = self._protocol.read(request)
        except ServiceError:
            return 0.0
        if isinstance(asked, PlainResponse) or self.engine.faults is None:
            return 0.0
        operation, wire, _ = asked
        return self.engine.faults.take_delay(operation, wire)

    def _handle_delayed(self, connection: ResponseSink, request: HttpRequest) -> None:
        self._respond(connection, request)
        connection.resume()

    def refuse(self, connection: ResponseSink, reply: PlainResponse) -> None:
        """Send the last response of a connection whose next request cannot be read."""
        form = ResponseForm(None, write_headers(PLAIN_TEXT, False, b"close"))
        if connection.held:
            connection.hold(len(reply.body))
            last = PendingResponse(
                connection, form, reply.status, reply.body, self._metrics.other, perf_counter(), None
            )
            self._held.append(last)
        else:
            self._send(connection, form, reply.status, reply.body, self._metrics.other, 0.0)

    def flush_soon(self, connection: ResponseSink) -> None:
        """Write a connection's responses at the end of the tick.

        Consecutive writes wake the clients' machine once; a write after every request woke it each time, which took a
        third of all time at 16 connections.
        """
        self._outgoing.append(connection)
        if not self._is_scheduled:
            self._schedule_end()

    def _schedule_end(self) -> None:
        self._is_scheduled = True
        self._loop.call_soon(self._end_tick)

    def _end_tick(self) -> None:
        """Commit the requests of the tick; then poll briefly for the next one instead of sleeping.

        Polling helps a client that waits for each response. With several clients it would only split their groups.
        """
        count, self._tick_requests = self._tick_requests, 0
        if self.open:
            self.commit()
        if self._outgoing:
            ready, self._outgoing = self._outgoing, []
            for connection in ready:
                connection.flush()
        now = perf_counter()
        if count:
            self._last = now  # after the write: measured before it, a slow write left no time to poll
        if self.open or (count <= 1 and now - self._last < self._spin):  # open again: requests from a backlog
            self._loop.call_soon(self._end_tick)
        else:
            self._is_scheduled = False

    def close(self) -> None:
        """Run no more of the requests that wait, and commit what is open, so that the engine can be closed."""
        self._large.close()
        if self.open:
            self.commit()

    def commit(self) -> None:
        """Commit the open groups and send their responses; if that fails, replace them by errors."""
        opened, self._opened = self._opened, []
        held, self._held = self._held, []
        for engine in opened:
            waiting = [exchange for exchange in held if exchange.engine is engine]
            try:
                engine.end()
            except Exception as error:  # noqa: BLE001 as above
                self._metrics.failed_commits += 1
                text = report_failure("commit", error).body()
                for exchange in waiting:
                    exchange.status, exchange.body = 500, text
            else:
                self._metrics.commits += bool(waiting)
                self._metrics.committed_requests += len(waiting)
        if held:
            self._release(held)

    def _release(self, held: list[PendingResponse]) -> None:
        now = perf_counter()
        for each in held:
            self._send(each.connection, each.form, each.status, each.body, each.meter, now - each.started)
        for connection in {each.connection: None for each in held}:
            connection.release()

    def _send(
        self, connection: ResponseSink, form: ResponseForm, status: int, body: bytes, meter: Meter, seconds: float
    ) -> None:
        data = self._responder.render(form, status, body)
        connection.queue(data)
        self._metrics.sent_bytes += len(data)
        meter.count(status, seconds)
        if seconds > self._noteworthy:
            self._report(status, body, meter, seconds)

    def _report(self, status: int, body: bytes, meter: Meter, seconds: float) -> None:
        slow = seconds > self._slow
        fields = {
            "operation": meter.name,
            "status": status,
            "ms": round(seconds * 1000, 3),
            "bytes": len(body),
            "request_id": self._responder.request_id.decode(),
        }
        if slow:
            log.warning("slow request", extra={"fields": fields})
        else:
            log.debug("request", extra={"fields": fields})


def report_failure(doing: str, error: Exception) -> InternalServerError:
    """Log a failure of the server, and return the error for the client."""
    if isinstance(error, StorageError):
        log.error("storage failed", extra={"fields": {"doing": doing, "error": str(error)}})
        return InternalServerError(str(error))
    log.error("unexpected failure", exc_info=error, extra={"fields": {"doing": doing}})
    return InternalServerError("Internal server error")
