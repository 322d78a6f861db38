"""Compression: gzip or deflate, of requests with a limit on the inflated size, and of responses."""

from __future__ import annotations

import zlib
from functools import lru_cache

from hashrange.core.errors import CORAL, InternalServerError, ServiceError

GZIP = 16 + zlib.MAX_WBITS
GZIP_MAGIC = b"\x1f\x8b"
ENCODINGS = {b"gzip": GZIP, b"deflate": zlib.MAX_WBITS}
NO_ENCODING = b"identity"
COMPRESSED_OVER = 4096
CHUNK_BYTES = 64 * 1024  # bytes that are inflated at once
MAX_MEMBERS = 1024  # of a gzip body; the time for an empty one counts too, and no client sends more than one
FAST = 1  # a level above it costs more than the local network it saves


class RequestTooLarge(ServiceError, wire_name="RequestEntityTooLargeException"):
    """A request with too many bytes or gzip members."""

    namespace = CORAL
    status = 413

    def __init__(self, limit: int, unit: str = "bytes") -> None:
        super().__init__(f"The request is larger than {limit} {unit}")


def inflate(body: bytes, encoding: bytes, limit: int) -> bytes:
    """Undo the encoding of a request's body, as long as it has at most `limit` bytes; the time is linear in both."""
    encoding = encoding.strip().lower()
    if encoding == NO_ENCODING:
        return body
    window = ENCODINGS.get(encoding)
    if window is None:
        raise InternalServerError
    chunks: list[bytes] = []
    room, start = limit, 0
    for _ in range(MAX_MEMBERS):
        start, room = _inflate_member(body, start, window, chunks, room)
        if room < 0:
            raise RequestTooLarge(limit)
        # DynamoDB overlooks what follows the last member
        if window != GZIP or body[start : start + len(GZIP_MAGIC)] != GZIP_MAGIC:
            return b"".join(chunks)
    raise RequestTooLarge(MAX_MEMBERS, "gzip members")


def _inflate_member(body: bytes, start: int, window: int, chunks: list[bytes], room: int) -> tuple[int, int]:
    """Append the content of the member at `start`; return where it ends, and how much room is left.

    It reads in small chunks, because zlib copies what follows the member.
    """
    member = zlib.decompressobj(window)
    while not member.eof and room >= 0:
        chunk = body[start : start + CHUNK_BYTES]
        if not chunk:  # cut off
            raise InternalServerError
        try:
            chunks.append(member.decompress(chunk, room + 1))
        except zlib.error as error:
            raise InternalServerError from error
        start += len(chunk) - len(member.unused_data)
        room -= len(chunks[-1])
    return start, room


def compress(body: bytes, encoding: bytes) -> bytes:
    """Compress a response's body by an encoding that `choose_encoding` named."""
    compressor = zlib.compressobj(FAST, zlib.DEFLATED, ENCODINGS[encoding])
    return compressor.compress(body) + compressor.flush()


@lru_cache(maxsize=64)
def choose_encoding(accepted: bytes) -> bytes | None:
    """Return the encoding that an Accept-Encoding header asks for: the highest weight, then the first named."""
    weights: dict[bytes, float] = {}
    for choice in accepted.lower().split(b","):
        name, _, parameters = choice.partition(b";")
        name = name.strip()
        weights[name] = max(weights.get(name, 0.0), _read_weight(parameters))
    rest = weights.pop(b"*", 0.0)
    for name in ENCODINGS:
        weights.setdefault(name, rest)
    best = max((name for name in weights if name in ENCODINGS), key=lambda name: weights[name])
    return best if weights[best] > 0 else None


def _read_weight(parameters: bytes) -> float:
    """Return what follows the first `q=`, which may also be the end of another name; 1 if there is no number."""
    _, _, value = parameters.partition(b"q=")
    try:
        return min(float(value.partition(b";")[0]), 1.0)
    except ValueError:
        return 1.0
