"""Parses HTTP responses: the operation's response, or the ServiceError of its name."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

from hashrange.client.errors import ResponseCorrupt, ResponseTooLarge, ResponseUnrecognised
from hashrange.client.http.connection import MAX_RESPONSE_BYTES, HttpResponse
from hashrange.client.transport import DecodeResponse, decode_all
from hashrange.core.errors import ServiceError
from hashrange.core.wire import Wire

ANY_WRAPPER = 32 + zlib.MAX_WBITS  # gzip or zlib, detected by header
QUOTED = 200  # characters of an unrecognised response that the error shows


class UnlistedError(ServiceError):
    """An error of the service without a class of its own; `name`, `message` and `members` are as received."""


def _find_classes(cls: type[ServiceError]) -> Iterator[tuple[str, type[ServiceError]]]:
    for child in cls.__subclasses__():
        yield from _find_classes(child)
        if child.__module__ == ServiceError.__module__ and child.__name__ == child.name:
            yield child.name, child


CLASSES = dict(_find_classes(ServiceError))


def parse_response(response: HttpResponse, read: DecodeResponse = decode_all) -> Wire:
    """Return the decoded response; raise its ServiceError, or the TransportError of an invalid response."""
    status, headers, body = response
    _verify_checksum(headers, body)
    if encoding := headers.get(b"content-encoding"):
        body = _inflate(body, encoding)
    if status == 200:
        return _parse(body, read) if body else {}
    raise _read_error(status, headers, body)


def _verify_checksum(headers: dict[bytes, bytes], body: bytes) -> None:
    announced = headers.get(b"x-amz-crc32")
    if announced is not None and str(zlib.crc32(body)).encode() != announced.strip():
        raise ResponseCorrupt("the response does not match its checksum")


def _inflate(body: bytes, encoding: bytes) -> bytes:
    if encoding.lower() == b"identity":
        return body
    if encoding.lower() not in {b"gzip", b"deflate"}:
        raise ResponseCorrupt(f"the response has an unknown encoding: {encoding.decode('latin-1')}")
    unpacker = zlib.decompressobj(ANY_WRAPPER)
    try:
        plain = unpacker.decompress(body, MAX_RESPONSE_BYTES)
    except zlib.error as error:
        raise ResponseCorrupt(f"the response cannot be decompressed: {error}") from error
    if unpacker.unconsumed_tail:
        raise ResponseTooLarge(f"the response has more than {MAX_RESPONSE_BYTES} bytes when it is decompressed")
    if not unpacker.eof:
        raise ResponseCorrupt("the compressed response is not complete")
    return plain


def _parse(body: bytes, read: DecodeResponse) -> Wire:
    try:
        response = read(body)
    except ValueError as error:
        raise ResponseCorrupt(f"the response is not JSON: {error}") from error
    if not isinstance(response, dict):
        raise ResponseCorrupt("the response is not a JSON object")
    return response


def _read_error(status: int, headers: dict[bytes, bytes], body: bytes) -> ServiceError | ResponseUnrecognised:
    try:
        response = _parse(body, decode_all)
    except ResponseCorrupt:
        response = {}
    error_type = response.pop("__type", None)
    if not isinstance(error_type, str):
        shown = body[:QUOTED].decode("utf-8", "replace")
        return ResponseUnrecognised(f"the endpoint responded {status}, and not as DynamoDB does: {shown}", status)
    error = make_error(error_type.rpartition("#")[2], response, status)
    if identity := headers.get(b"x-amzn-requestid"):
        error.add_note(f"request id {identity.decode('latin-1')}")
    return error


def make_error(name: str, members: dict[str, Any], status: int) -> ServiceError:
    """Return the error of that name, with `message` and `members` as received."""
    found = CLASSES.get(name, UnlistedError)
    message = members.pop("message", None) or members.pop("Message", None)
    members.pop("Message", None)
    error = found.__new__(found)
    ServiceError.__init__(error, message)
    error.args = (message or name,)
    error.members = members
    if found is UnlistedError:  # its class attributes do not know the name and status
        vars(error).update(name=name, status=status, retryable=status >= 500)
    return error
