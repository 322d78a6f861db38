"""How a reply is put on the wire: status line, DynamoDB's headers, checksum. What it says is not decided here."""

from __future__ import annotations

import os
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import NamedTuple
from zlib import crc32

from hashrange.core.clock import Clock
from hashrange.core.errors import ServiceError
from hashrange.server.encoding import COMPRESSED_OVER, choose_encoding, compress

STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}
ALPHABET = b"0123456789ABCDEFGHIJKLMNOPQRSTUV"
TO_ALPHABET = ALPHABET * 8
ID_LENGTH = 52
IDS_AT_ONCE = 128


class Reply(NamedTuple):
    """What is to be said: the engine's answer, or one that needs no engine."""

    status: int
    body: bytes
    content_type: bytes | None = None
    headers: bytes = b""  # further header lines, complete


class Form(NamedTuple):
    """Everything about a response that the request decides; requests of one client share one."""

    headers: bytes
    encoding: bytes | None
    bodyless: bool


def reply_error(error: ServiceError, content_type: bytes) -> Reply:
    """Return the reply that DynamoDB gives for an error."""
    return Reply(error.status, error.body(), content_type)


@lru_cache(maxsize=256)
def shape_response(
    content_type: bytes | None, cross_origin: bool, accepted: bytes | None, connection: bytes | None, bodyless: bool
) -> Form:
    """Return the form of the response to a request that asked for it so."""
    lines = []
    if content_type:
        lines.append(b"Content-Type: " + content_type)
    if cross_origin:
        lines.append(b"Access-Control-Allow-Origin: *")
    if connection:
        lines.append(b"Connection: " + connection)
    encoding = choose_encoding(accepted) if accepted else None
    return Form(b"".join(line + b"\r\n" for line in lines), encoding, bodyless)


class Responder:
    """Renders replies; it keeps the time of day and a stock of request ids."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ids: list[bytes] = []
        self.request_id = b""  # of the response rendered last
        self.refresh_date()

    def refresh_date(self) -> None:
        """Take the time anew; called once a second instead of for every response."""
        date = formatdate(self._clock.millis() / 1000, usegmt=True)
        self._dated = f"Server: Server\r\nDate: {date}\r\n".encode()

    def render(self, form: Form, status: int, body: bytes, headers: bytes = b"") -> bytes:
        """Return the bytes of the response, with the checksum of exactly the body that is sent."""
        if form.encoding is not None and len(body) > COMPRESSED_OVER:
            body = compress(body, form.encoding)
            headers += b"Content-Encoding: " + form.encoding + b"\r\n"
        self.request_id = request_id = (self._ids or self._make_ids()).pop()
        return b"%b%b%b%bx-amzn-RequestId: %b\r\nx-amz-crc32: %d\r\nContent-Length: %d\r\n\r\n%b" % (
            STATUS_LINES[status],
            self._dated,
            form.headers,
            headers,
            request_id,
            crc32(body),
            len(body),
            b"" if form.bodyless else body,
        )

    def _make_ids(self) -> list[bytes]:
        """Make many at once: one by one, an id costs as much as the rest of the head."""
        letters = os.urandom(ID_LENGTH * IDS_AT_ONCE).translate(TO_ALPHABET)
        self._ids = [letters[at : at + ID_LENGTH] for at in range(0, len(letters), ID_LENGTH)]
        return self._ids
