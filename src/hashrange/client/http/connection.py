"""One HTTP connection: a request goes out, its answer comes back whole. What it says is `client.response_parser`'s."""

from __future__ import annotations

import time
from typing import NamedTuple

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from hashrange.client.errors import ConnectionLost, ResponseCorrupt, ResponseTooLarge, TimedOut
from hashrange.client.http.network_backend import NetworkBackend
from hashrange.client.http.network_stream import NetworkStream

LARGEST_RESPONSE = 64 * 1024 * 1024  # BatchGetItem returns up to 16 MB of items, whose JSON can be three times as large


class HttpResponse(NamedTuple):
    """An answer; the names of its headers in lower case."""

    status: int
    headers: dict[bytes, bytes]
    body: bytes


class HttpConnection:
    """Carries one exchange at a time; who takes it has it alone."""

    def __init__(self, stream: NetworkStream, largest: int = LARGEST_RESPONSE) -> None:
        self._stream = stream
        self._largest = largest
        self._parser = HttpResponseParser(self)
        self._headers: dict[bytes, bytes] = {}
        self._pieces: list[bytes] = []
        self._answers: list[HttpResponse] = []  # one at most
        self._received = 0
        self._used = False
        self.reusable = True
        self.idle_since = 0.0

    async def exchange(self, backend: NetworkBackend, request: bytes, within: float) -> HttpResponse:
        """Return the answer to a request; a connection that failed once is not to be used again."""
        try:
            response = await self._converse(backend, request, time.monotonic() + within)
        except TimeoutError as fault:
            raise TimedOut(f"there was no complete answer within {within:g} s") from fault
        except OSError as fault:
            raise self._lose(str(fault)) from fault
        except (HttpParserError, HttpParserUpgrade) as fault:
            raise ResponseCorrupt(f"the answer is not HTTP: {fault}") from fault
        self._used = True
        self.idle_since = time.monotonic()
        return response

    async def _converse(self, backend: NetworkBackend, request: bytes, deadline: float) -> HttpResponse:
        self._received = 0
        self._answers.clear()
        await self._stream.send(backend, request, deadline)
        while not self._answers:
            data = await self._stream.receive(backend, deadline)
            if not data:
                raise self._lose("the server hung up")
            self._received += len(data)
            if self._received > self._largest:
                raise ResponseTooLarge(f"the answer has more than {self._largest} bytes")
            self._parser.feed_data(data)
        return self._answers[0]

    def _lose(self, reason: str) -> ConnectionLost:
        text = f"the connection ended after {self._received} bytes of the answer: {reason}"
        return ConnectionLost(text, stale=self._used and not self._received)

    def is_stale(self) -> bool:
        """Tell whether the server has hung up, or says something without being asked, which it only does to hang up."""
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
        """Hang up."""
        self._stream.sock.close()

    # What httptools calls

    def on_message_begin(self) -> None:
        """Note an answer that nobody asked for."""
        if self._answers:
            self.reusable = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header in."""
        self._headers[name.lower()] = value

    def on_body(self, data: bytes) -> None:
        """Take a part of the body in."""
        self._pieces.append(data)

    def on_message_complete(self) -> None:
        """End the answer, unless it was only the announcement of one."""
        status = self._parser.get_status_code()
        if status >= 200 and not self._answers:
            self._answers.append(HttpResponse(status, self._headers, b"".join(self._pieces)))
            self.reusable = self._parser.should_keep_alive()
        self._headers = {}
        self._pieces.clear()
