"""One HTTP connection: sends a request, returns the complete response. `client.response_parser` parses its body."""

from __future__ import annotations

import time
from typing import NamedTuple

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from hashrange.client.errors import ConnectionLost, ResponseCorrupt, ResponseTooLarge, TimedOut
from hashrange.client.http.network_backend import NetworkBackend
from hashrange.client.http.network_stream import NetworkStream

MAX_RESPONSE_BYTES = (
    64 * 1024 * 1024
)  # BatchGetItem returns up to 16 MB of items, whose JSON can be three times as large


class HttpResponse(NamedTuple):
    """A response; header names are in lower case."""

    status: int
    headers: dict[bytes, bytes]
    body: bytes


class HttpConnection:
    """Carries one exchange at a time, for one user at a time."""

    def __init__(self, stream: NetworkStream, largest: int = MAX_RESPONSE_BYTES) -> None:
        self._stream = stream
        self._largest = largest
        self._parser = HttpResponseParser(self)
        self._headers: dict[bytes, bytes] = {}
        self._pieces: list[bytes] = []
        self._responses: list[HttpResponse] = []  # one at most
        self._received = 0
        self._used = False
        self.reusable = True
        self.idle_since = 0.0

    async def exchange(self, backend: NetworkBackend, request: bytes, within: float) -> HttpResponse:
        """Return the response to a request; after a failure the connection must not be used again."""
        try:
            response = await self._send_and_receive(backend, request, time.monotonic() + within)
        except TimeoutError as error:
            raise TimedOut(f"there was no complete response within {within:g} s") from error
        except OSError as error:
            raise self._lose(str(error)) from error
        except (HttpParserError, HttpParserUpgrade) as error:
            raise ResponseCorrupt(f"the response is not HTTP: {error}") from error
        self._used = True
        self.idle_since = time.monotonic()
        return response

    async def _send_and_receive(self, backend: NetworkBackend, request: bytes, deadline: float) -> HttpResponse:
        self._received = 0
        self._responses.clear()
        await self._stream.send(backend, request, deadline)
        while not self._responses:
            data = await self._stream.receive(backend, deadline)
            if not data:
                raise self._lose("the server closed it")
            self._received += len(data)
            if self._received > self._largest:
                raise ResponseTooLarge(f"the response has more than {self._largest} bytes")
            self._parser.feed_data(data)
        return self._responses[0]

    def _lose(self, reason: str) -> ConnectionLost:
        text = f"the connection ended after {self._received} bytes of the response: {reason}"
        return ConnectionLost(text, stale=self._used and not self._received)

    def is_stale(self) -> bool:
        """Return whether the server has closed the connection, or sent something unasked, as it does before closing."""
        sock = self._stream.sock
        sock.setblocking(False)
        try:
            sock.recv(1)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            pass
        return True

    def close(self) -> None:
        """Close the connection."""
        self._stream.sock.close()

    # What httptools calls

    def on_message_begin(self) -> None:
        """Do not reuse a connection with an unasked response."""
        if self._responses:
            self.reusable = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Collect a header."""
        self._headers[name.lower()] = value

    def on_body(self, data: bytes) -> None:
        """Collect a piece of the body."""
        self._pieces.append(data)

    def on_message_complete(self) -> None:
        """Complete the response, unless it is an interim one (1xx)."""
        status = self._parser.get_status_code()
        if status >= 200 and not self._responses:
            self._responses.append(HttpResponse(status, self._headers, b"".join(self._pieces)))
            self.reusable = self._parser.should_keep_alive()
        self._headers = {}
        self._pieces.clear()
