"""Reads HTTP requests out of the bytes of one connection, within limits on their size.

httptools parses, unless `head_cache` recognises the request. The connection decides what to do with a request.
"""

from __future__ import annotations

from typing import Protocol

from httptools import HttpParserCallbackError, HttpParserError, HttpParserUpgrade, HttpRequestParser

from hashrange.server.cross_origin import CrossOriginCheck
from hashrange.server.head_cache import END, HeadCache
from hashrange.server.http_request import HttpRequest, add_header, make_request
from hashrange.server.settings import ServerSettings

HEADER_OVERHEAD = len(": \r\n")
LINE_OVERHEAD = len("OPTIONS  HTTP/1.1\r\n")  # at most: the methods that are served are shorter


class ReaderHost(Protocol):
    """What the readers of one server share."""

    settings: ServerSettings
    cross_origin: CrossOriginCheck
    stopping: bool
    unfinished: int  # bytes of bodies that are still arriving
    heads_to_cache: int  # how many more heads may be cached until the next sweep


class RequestSink(Protocol):
    """Takes what the reader finds."""

    ended: bool  # no further request is read

    def take(self, request: HttpRequest) -> None:
        """Take a complete request."""
        ...

    def refuse(self, status: int, text: str) -> None:
        """Respond to a request that cannot be read, and read no more."""
        ...

    def send_continue(self) -> None:
        """Let the client send the body that it announced."""
        ...

    def fail(self, error: Exception) -> None:
        """Cut the client off after an unexpected failure."""
        ...


class RequestReader:
    """Collects one request after the other; httptools calls the `on_` methods."""

    __slots__ = (
        "_at_least",
        "_at_most",
        "_begun",
        "_body",
        "_counted",
        "_data",
        "_fields",
        "_head_size",
        "_headers",
        "_heads",
        "_host",
        "_packet",
        "_parser",
        "_settings",
        "_sink",
        "_url",
        "completed",
        "is_partial",
    )

    def __init__(self, host: ReaderHost, sink: RequestSink) -> None:
        self._host = host
        self._sink = sink
        self._settings = host.settings
        self.completed = 0  # requests
        self.is_partial = False  # a part of a request has arrived
        # The arriving request; httptools keeps the callbacks it finds now, so the body stays the same object
        self._fields: dict[bytes, bytes] = {}
        self._headers: dict[bytes, bytes] | None = None
        self._body = bytearray()
        self._url = b""
        self._begun = False
        self._data = b""  # the packet that is being parsed, and nothing but the head in it so far; else empty
        self._head_size = 0  # bytes of its headers and trailers
        self._packet = b""  # the packet that it began with, while that is parsed
        self._at_least = self._at_most = 0  # its bytes so far; a packet may hold the end of another request
        self._counted = 0  # bytes of its body that `unfinished` includes
        self._heads = HeadCache()
        self._parser: HttpRequestParser | None = HttpRequestParser(self)

    def feed(self, data: bytes) -> None:
        """Read bytes from the client."""
        request = None if self._begun or self._host.stopping else self._heads.match(data)
        if request is None:
            self._parse(data)
        else:
            self.completed += 1
            self._sink.take(request)

    @property
    def awaits_head(self) -> bool:
        """Whether the headers of the arriving request are not complete."""
        return self._headers is None

    def discard(self) -> None:
        """Drop the arriving request."""
        self._body.clear()
        self._uncount()

    def close(self) -> None:
        """Drop the references to parser and connection, which refer back to this object, so that no cycle is left."""
        self._parser = None
        self._uncount()
        del self._sink

    # What httptools calls; `on_body` goes straight into its container

    def on_header(self, name: bytes, value: bytes) -> None:
        """Collect a header; trailers, which come after the headers are complete, are only counted."""
        self._head_size += len(name) + len(value) + HEADER_OVERHEAD
        if self._head_size > self._settings.max_head:
            self._refuse_head()
        elif self._headers is None:
            add_header(self._fields, name.lower(), value)

    @property
    def on_body(self) -> object:
        """Collect a piece of the body."""
        return self._body.extend

    def on_message_begin(self) -> None:
        """Note that a request is arriving."""
        self._begun = True

    def on_url(self, url: bytes) -> None:
        """Collect a piece of the URL."""
        self._url += url

    def on_headers_complete(self) -> None:
        """Refuse a request whose head shows that it cannot be served, before its body arrives."""
        self._headers = headers = self._fields
        self._fields = {}
        if self._at_most > self._settings.max_head:
            self._check_head()
        assert self._parser is not None
        problem = self._host.cross_origin.find_problem(self._url, headers, self._parser.get_http_version())
        if problem is not None:
            self._sink.refuse(*problem)
        if b"upgrade" in headers:
            self._sink.refuse(400, "Upgrades are not supported")
        length = headers.get(b"content-length")
        if length is not None and int(length) > self._settings.max_body:
            self._sink.refuse(413, f"The request is larger than {self._settings.max_body} bytes")
        if b"expect" in headers:
            self._sink.send_continue()

    def on_message_complete(self) -> None:
        """Hand on a complete request."""
        parser = self._parser
        if self._sink.ended or parser is None or self._headers is None:
            return
        keep_alive = parser.should_keep_alive() and not self._host.stopping
        body = bytes(self._body)
        request = make_request(parser.get_method(), self._url, self._headers, body, keep_alive=keep_alive)
        self._begun = False
        self._url = b""
        self._headers = None
        self._head_size = 0
        self._data = b""
        self._body.clear()
        self._sink.ended = not keep_alive
        if self._counted:
            self._uncount()
        if self._packet and self.completed and self._host.heads_to_cache:  # not the first: many clients send only one
            self._host.heads_to_cache -= 1
            self._heads.add(request, self._packet)
        self.completed += 1
        self._sink.take(request)

    def _parse(self, data: bytes) -> None:
        completed = self.completed
        self._packet = b"" if self._begun else data
        self._data = data if self._headers is None else b""
        self._at_most += len(data)
        self._feed_parser(data)
        self._packet = self._data = b""
        if self.completed == completed:
            self._at_least += len(data)
            self._count_partial()
        else:
            self._at_least, self._at_most = 0, len(data)
            self.is_partial = False
            if self._begun:
                self._count_partial()

    def _feed_parser(self, data: bytes) -> None:
        assert self._parser is not None
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:
            self._sink.refuse(400, "Upgrades are not supported")
        except HttpParserCallbackError as error:
            self._sink.fail(error)
        except HttpParserError as error:
            self._sink.refuse(400, f"Bad request: {error}")

    def _check_head(self) -> None:
        """Check the bytes of a head as they were received, with spaces that are not part of a value."""
        settings = self._settings
        if len(self._url) > settings.max_line:
            self._sink.refuse(400, f"The request line is longer than {settings.max_line} bytes")
        elif self._data:
            received = self._at_least + self._data.find(END)
            if received > len(self._url) + LINE_OVERHEAD + settings.max_head:
                self._refuse_head()

    def _refuse_head(self) -> None:
        self._sink.refuse(400, f"The headers are longer than {self._settings.max_head} bytes")

    def _count_partial(self) -> None:
        """Check the size of a request that is still arriving, alone and together with those of other connections."""
        if self._sink.ended:
            return
        self.is_partial = True
        settings, body = self._settings, len(self._body)
        if self._headers is None and self._at_least > settings.max_line + settings.max_head:
            self._refuse_head()
        elif body > settings.max_body:
            self._sink.refuse(413, f"The request is larger than {settings.max_body} bytes")
        else:
            self._host.unfinished += body - self._counted
            self._counted = body
            if self._host.unfinished > settings.max_unfinished:
                self._sink.refuse(503, "Too many large requests at once")

    def _uncount(self) -> None:
        self._host.unfinished -= self._counted
        self._counted = 0
