"""The pool of idle connections to one endpoint, shared by threads and event loops."""

from __future__ import annotations

import os
import time

from hashrange.client.errors import TransportClosed
from hashrange.client.http.connection import HttpConnection, HttpResponse
from hashrange.client.http.connector import Connector
from hashrange.client.http.network_backend import NetworkBackend

UNCHECKED_IDLE_SECONDS = 1.0  # seconds; no server closes so soon, and checking takes longer than signing
MAX_IDLE_SECONDS = 60.0  # seconds; firewalls drop idle connections silently, and a request would hang


class Pool:
    """Lends a connection for each exchange, the most recently used first."""

    def __init__(self, connector: Connector, most: int) -> None:
        self._connector = connector
        self._most = most
        self._idle: list[HttpConnection] = []  # append and pop are atomic
        self._process = os.getpid()
        self._closed = False

    async def exchange(self, backend: NetworkBackend, request: bytes, within: float) -> HttpResponse:
        """Return the response to a request, over an idle connection or a new one."""
        if self._closed:
            raise TransportClosed("The connection was closed.")
        await backend.acquire()
        try:
            connection = self._take_idle() or await self._connector.open(backend)
            try:
                response = await connection.exchange(backend, request, within)
            except BaseException:
                connection.close()
                raise
            self._put_back(connection)
            return response
        finally:
            backend.release()

    def close(self) -> None:
        """Close idle connections; those in use are closed after their exchange."""
        self._closed = True
        self._drop_idle()

    def _take_idle(self) -> HttpConnection | None:
        if self._process != os.getpid():  # after a fork the connections belong to the parent
            self._process = os.getpid()
            self._drop_idle()
        now = time.monotonic()
        while connection := self._pop():
            idle = now - connection.idle_since
            if idle < UNCHECKED_IDLE_SECONDS or (idle < MAX_IDLE_SECONDS and not connection.is_stale()):
                return connection
            connection.close()
        return None

    def _put_back(self, connection: HttpConnection) -> None:
        if connection.reusable and len(self._idle) < self._most:
            self._idle.append(connection)
        else:
            connection.close()
        if self._closed:
            self._drop_idle()

    def _drop_idle(self) -> None:
        while connection := self._pop():
            connection.close()

    def _pop(self) -> HttpConnection | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None
