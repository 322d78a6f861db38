"""The connections to one endpoint that wait for their next request; taken by threads and event loops alike."""

from __future__ import annotations

import os
import time

from hashrange.client.errors import TransportClosed
from hashrange.client.http.connection import HttpConnection, HttpResponse
from hashrange.client.http.connector import Connector
from hashrange.client.http.network_backend import NetworkBackend

SURELY_ALIVE = 1.0  # seconds; no server hangs up so soon, and asking the system takes longer than signing
LONGEST_IDLE = 60.0  # seconds; a firewall that forgets a connection says nothing, and a request on it would hang


class Pool:
    """Lends connections for one exchange each; the one used last is lent first."""

    def __init__(self, connector: Connector, most: int) -> None:
        self._connector = connector
        self._most = most
        self._idle: list[HttpConnection] = []  # append and pop are atomic
        self._process = os.getpid()
        self._closed = False

    async def exchange(self, backend: NetworkBackend, request: bytes, within: float) -> HttpResponse:
        """Return the answer to a request, over a connection that waits or a new one."""
        if self._closed:
            raise TransportClosed("The connection was closed.")
        await backend.acquire()
        try:
            connection = self._take() or await self._connector.open(backend)
            try:
                response = await connection.exchange(backend, request, within)
            except BaseException:
                connection.close()
                raise
            self._give(connection)
            return response
        finally:
            backend.release()

    def close(self) -> None:
        """Hang up; exchanges that are under way hang up when they are done."""
        self._closed = True
        self._drop_idle()

    def _take(self) -> HttpConnection | None:
        if self._process != os.getpid():  # after a fork the connections are the parent's
            self._process = os.getpid()
            self._drop_idle()
        now = time.monotonic()
        while connection := self._pop():
            idle = now - connection.idle_since
            if idle < SURELY_ALIVE or (idle < LONGEST_IDLE and not connection.is_stale()):
                return connection
            connection.close()
        return None

    def _give(self, connection: HttpConnection) -> None:
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
