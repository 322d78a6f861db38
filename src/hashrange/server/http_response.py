"""Renders HTTP responses: status line, DynamoDB's headers, checksum, compression."""

from __future__ import annotations

import os
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from itertools import product
from typing import NamedTuple
from zlib import crc32

from msgspec import Struct

from hashrange.core.clock import Clock
from hashrange.server.compression import COMPRESSED_OVER, choose_encoding, compress

MEDIA_TYPES = (b"application/x-amz-json-1.0", b"application/json")
DEFAULT_MEDIA_TYPE = b"application/json"
STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}
EXPOSED = b"x-amzn-RequestId,x-amzn-ErrorType,x-amzn-ErrorMessage,Date"  # to scripts of other origins
ALPHABET = b"0123456789ABCDEFGHIJKLMNOPQRSTUV"
TO_ALPHABET = ALPHABET * 8
ID_LENGTH = 52
ID_ENDINGS = [bytes(pair) for pair in product(ALPHABET, repeat=2)]


class PlainResponse(NamedTuple):
    """A response that needs no engine."""

    status: int
    body: bytes
    content_type: bytes | None = None
    headers: bytes = b""  # further header lines, complete


class ResponseForm(Struct, frozen=True, gc=False):
    """Everything about a response that the request's headers decide; the requests of one client share one."""

    media_type: bytes | None  # of the request
    headers: bytes
    encoding: bytes | None = None
    bodyless: bool = False


@lru_cache(maxsize=256)
def find_response_form(
    content_type: bytes | None, cross_origin: bool, accepted: bytes | None, connection: bytes | None
) -> ResponseForm:
    """Return the form of the responses to requests with such headers."""
    media_type = find_media_type(content_type)
    headers = write_headers(media_type or DEFAULT_MEDIA_TYPE, cross_origin, connection)
    return ResponseForm(media_type, headers, choose_encoding(accepted) if accepted else None)


def write_headers(content_type: bytes | None, cross_origin: bool, connection: bytes | None) -> bytes:
    """Return the header lines that differ from response to response, as far as the request decides."""
    lines = (
        (b"Content-Type: %b\r\n", content_type),
        (b"Access-Control-Allow-Origin: %b\r\n", b"*" if cross_origin else None),
        (b"Access-Control-Expose-Headers: %b\r\n", EXPOSED if cross_origin else None),
        (b"Connection: %b\r\n", connection),
    )
    return b"".join(line % value for line, value in lines if value is not None)


def find_media_type(content_type: bytes | None) -> bytes | None:
    """Return which of DynamoDB's two media types a Content-Type header means, if any."""
    media_type = (content_type or b"").partition(b";")[0].strip().lower()
    return media_type if media_type in MEDIA_TYPES else None


class Responder:
    """Renders responses; it caches the date and creates request ids in advance."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ids: list[bytes] = []
        self.request_id = b""  # of the response rendered last
        self.refresh_date()

    def refresh_date(self) -> None:
        """Update the date; called once a second instead of for every response."""
        date = formatdate(self._clock.millis() / 1000, usegmt=True)
        self._dated = f"Server: Server\r\nDate: {date}\r\n".encode()

    def render(self, form: ResponseForm, status: int, body: bytes) -> bytes:
        """Return the bytes of the response, with the checksum of exactly the body that is sent."""
        headers, size = form.headers, len(body)
        if size > COMPRESSED_OVER and form.encoding is not None:
            body = compress(body, form.encoding)
            headers += b"Content-Encoding: " + form.encoding + b"\r\n"
            size = len(body)
        self.request_id = request_id = (self._ids or self._make_ids()).pop()
        return b"%b%b%bx-amzn-RequestId: %b\r\nx-amz-crc32: %d\r\nContent-Length: %d\r\n\r\n%b" % (
            STATUS_LINES[status],
            self._dated,
            headers,
            request_id,
            crc32(body),
            size,
            b"" if form.bodyless else body,
        )

    def _make_ids(self) -> list[bytes]:
        """Make many at once that differ in the last letters: one by one they cost as much as the rest of the head."""
        beginning = os.urandom(ID_LENGTH - 2).translate(TO_ALPHABET)
        self._ids = [beginning + ending for ending in ID_ENDINGS]
        return self._ids
