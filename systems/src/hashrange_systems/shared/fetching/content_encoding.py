"""Decompresses response bodies up to a limit, and refuses compression bombs.

The fetcher collects the bytes as received (`EncodedBody`); `decompress` runs in a sandbox, alone or as a part of what
reads the page. Supports gzip and deflate, which the standard library can inflate within a bound; br and zstd are not
requested.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from hashrange_systems.shared.fetching.errors import BodyDamaged, CompressionBomb

ACCEPTED = "gzip, deflate"
MAX_RATIO = 200  # real pages reach 50; deflate itself can do 1032
RATIO_COUNTS_FROM = 1024 * 1024
SLICE = 8192  # bytes; the ratio is looked at after each
GZIP, ZLIB, RAW = 31, 15, -15  # zlib's window bits


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedBody:
    """A body as received; `limit` is that of the decoded bytes, `cut` means that more was sent than was read."""

    received: bytes = b""
    coding: str = ""  # gzip, deflate, or empty
    limit: int = 0
    cut: bool = False


NO_BODY = EncodedBody()


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedBody:
    """The decoded bytes, and whether there was more; or a `problem`, which is a bomb or damage."""

    content: bytes = b""
    truncated: bool = False
    problem: str = ""
    bomb: bool = False

    def check(self) -> None:
        """Raise CompressionBomb or BodyDamaged if the body could not be decoded."""
        if self.problem:
            raise (CompressionBomb if self.bomb else BodyDamaged)(self.problem)


def decompress(body: EncodedBody) -> DecodedBody:
    """Return the decoded body, for the sandbox: a problem is returned, not raised."""
    try:
        return decode_body(body)
    except CompressionBomb as error:
        return DecodedBody(problem=str(error), bomb=True)
    except BodyDamaged as error:
        return DecodedBody(problem=str(error))


def decode_body(body: EncodedBody) -> DecodedBody:
    """Return the decoded body; raise CompressionBomb or BodyDamaged."""
    decoder = Body(body.coding, body.limit)
    for start in range(0, len(body.received), SLICE):
        decoder.feed(body.received[start : start + SLICE])
        if decoder.overflowed:
            break
    if not body.cut:
        decoder.finish()
    return DecodedBody(content=decoder.content, truncated=decoder.overflowed or body.cut)


class Body:
    """Collects a body of this Content-Encoding, up to `limit` decoded bytes; `overflowed` means that there was more."""

    def __init__(self, encoding: str, limit: int) -> None:
        self._coding = read_coding(encoding)
        self._limit = limit
        self._content = bytearray()
        self._consumed = 0
        self._held = b""
        self._inflater: zlib._Decompress | None = None

    @property
    def overflowed(self) -> bool:
        """Whether the body is longer than the limit."""
        return len(self._content) > self._limit

    @property
    def content(self) -> bytes:
        """The decoded bytes, at most `limit`."""
        return bytes(self._content[: self._limit])

    def feed(self, data: bytes) -> None:
        """Add the next bytes as received."""
        if not self._coding:
            self._content += data[: self._room()]
            return
        try:
            self._inflate(data)
        except zlib.error as error:
            raise BodyDamaged(f"the body is not valid {self._coding}") from error

    def finish(self) -> None:
        """End the body; a compressed one must be complete."""
        unfinished = self._inflater is not None and not self._inflater.eof
        if not self.overflowed and (self._held or unfinished):
            raise BodyDamaged(f"the body ends in the middle of its {self._coding} data")

    def _room(self) -> int:
        return self._limit + 1 - len(self._content)  # one more than allowed shows the overflow

    def _inflate(self, data: bytes) -> None:
        data = self._held + data
        self._held = b""
        if self._inflater is None and len(data) < 2:
            self._held = data
            return
        while data and not self.overflowed:
            inflater = self._inflater = self._choose_inflater(data)
            if inflater.eof:
                return  # padding after the end, which browsers ignore too
            self._content += inflater.decompress(data, self._room())
            left = inflater.unconsumed_tail or inflater.unused_data
            self._consumed += len(data) - len(left)
            data = left
            self._check_ratio()

    def _choose_inflater(self, data: bytes) -> zlib._Decompress:
        """Return the current inflater, or a new one at the start of a gzip member."""
        current = self._inflater
        if current is not None and not (current.eof and self._coding == "gzip" and data.startswith(b"\x1f")):
            return current
        return zlib.decompressobj(GZIP if self._coding == "gzip" else ZLIB if has_zlib_header(data) else RAW)

    def _check_ratio(self) -> None:
        size = len(self._content)
        if size > RATIO_COUNTS_FROM and size > MAX_RATIO * self._consumed:
            raise CompressionBomb(f"the body grows more than {MAX_RATIO} times when decompressed")


def read_coding(encoding: str) -> str:
    """Return `gzip`, `deflate` or an empty string for a Content-Encoding header."""
    codings = [coding.strip().lower().removeprefix("x-") for coding in encoding.split(",")]
    named = [coding for coding in codings if coding not in {"", "identity"}]
    if len(named) > 1 or (named and named[0] not in {"gzip", "deflate"}):
        raise BodyDamaged("the body is encoded in a way that was not asked for")
    return named[0] if named else ""


def has_zlib_header(data: bytes) -> bool:
    """Return whether deflate data has the zlib header of the standard; some servers omit it."""
    return data[0] & 0x0F == 8 and int.from_bytes(data[:2], "big") % 31 == 0
