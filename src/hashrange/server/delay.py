"""Requests that take longer on purpose: each waits on its own, and everybody else is served meanwhile."""

from __future__ import annotations

from hashrange.core.errors import ServiceError
from hashrange.server.connection import ServerConnection
from hashrange.server.dispatcher import Dispatcher
from hashrange.server.http_request import HttpRequest
from hashrange.server.http_response import PlainResponse


class DelayingDispatcher(Dispatcher):
    """Runs requests on an engine with faults."""

    def handle(self, connection: ServerConnection, request: HttpRequest) -> None:
        """Answer a request, when its delay is over."""
        seconds = self._find_delay(request)
        if not seconds:
            super().handle(connection, request)
            return
        connection.pause_writing()  # its next requests wait, so that answers keep their order
        self._loop.call_later(seconds, self._go_on, connection, request)

    def _find_delay(self, request: HttpRequest) -> float:
        try:
            asked = self._protocol.read(request)
        except ServiceError:
            return 0.0
        if isinstance(asked, PlainResponse) or self._engine.faults is None:
            return 0.0
        operation, wire, _ = asked
        return self._engine.faults.take_delay(operation.name, wire)

    def _go_on(self, connection: ServerConnection, request: HttpRequest) -> None:
        super().handle(connection, request)
        connection.resume_writing()
