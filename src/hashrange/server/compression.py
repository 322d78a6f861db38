"""Compression: gzip or deflate, of requests with a limit on the inflated size, and of responses."""

from __future__ import annotations

import zlib
from functools import lru_cache

from hashrange.core.errors import CORAL, InternalServerError, ServiceError

GZIP = 16 + zlib.MAX_WBITS
GZIP_MAGIC = b"\x1f\x8b"
ENCODINGS = {b"gzip": GZIP, b"deflate": zlib.MAX_WBITS}
COMPRESSED_OVER = 4096
FAST = 1  # a level above it costs more than the local network it saves


class RequestTooLarge(ServiceError, wire_name="RequestEntityTooLargeException"):
    """A request with too many bytes."""

    namespace = CORAL
    status = 413

    def __init__(self, limit: int) -> None:
        super().__init__(f"The request is larger than {limit} bytes")


def inflate(body: bytes, encoding: bytes, limit: int) -> bytes:
    """Undo the encoding of a request's body, as long as it has at most `limit` bytes."""
    window = ENCODINGS.get(encoding.strip().lower())
    if window is None:
        raise InternalServerError
    pieces, room = [], limit
    while True:
        member = zlib.decompressobj(window)
        try:
            pieces.append(member.decompress(body, room + 1))
        except zlib.error as error:
            raise InternalServerError from error
        room -= len(pieces[-1])
        if room < 0:
            raise RequestTooLarge(limit)
        if not member.eof:
            raise InternalServerError
        body = member.unused_data
        if window != GZIP or not body.startswith(GZIP_MAGIC):  # DynamoDB overlooks what follows the last member
            return b"".join(pieces)


def compress(body: bytes, encoding: bytes) -> bytes:
    """Compress a response's body by an encoding that `choose_encoding` named."""
    squeezer = zlib.compressobj(FAST, zlib.DEFLATED, ENCODINGS[encoding])
    return squeezer.compress(body) + squeezer.flush()


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
