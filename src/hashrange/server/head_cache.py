"""Skips parsing when a request head matches an earlier one of the connection.

The heads of one client differ in a few values only: dates, signatures, lengths, ids. A CachedHead is a parsed head and
the positions of those values. A head whose other bytes are equal, and has only letters, digits and hyphens in those
positions, would be parsed to the same result. Everything else goes to the parser.

Measured (`bench/heads.py`, decision 23): a GetItem from the JavaScript SDK takes 46 % less CPU time, one from a session
41 %, one from boto3 nothing if its head and body arrive apart, and a third if they arrive together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from struct import Struct as Packing

from msgspec import Struct

from hashrange.server.http_request import HttpRequest, RequestHead, split_headers

END = b"\r\n\r\n"
LENGTH = b"content-length"
NEVER_CACHED = frozenset({b"expect", b"upgrade"})  # they need more than a response
VARYING = frozenset(
    {
        LENGTH,
        b"amz-sdk-invocation-id",
        b"authorization",
        b"traceparent",
        b"x-amz-content-sha256",
        b"x-amz-date",
        b"x-amzn-trace-id",
    }
)
WORD = b"-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
MAX_CACHED_HEADS = 8  # heads
MAX_HEAD_BYTES = 4096  # bytes; a limit on the memory that a connection can take up


class CachedHead(Struct, frozen=True, eq=False, gc=False):
    """A parsed head and where its varying values stand."""

    head: RequestHead
    size: int  # in bytes, with the empty line at its end
    split: Callable[[bytes], tuple[bytes, ...]]  # into fixed and varying pieces, alternately
    fixed: tuple[bytes, ...]
    length_at: int  # which of the varying pieces is the length of the body


class HeadCache:
    """The heads of one connection, the last match first."""

    __slots__ = ("_heads",)

    def __init__(self) -> None:
        self._heads: list[CachedHead] = []

    def match(self, source: bytes) -> HttpRequest | None:
        """Return the request, if these bytes are exactly one request whose head matches a cached one."""
        for cached in self._heads:
            size = cached.size
            if not source.startswith(END, size - len(END)):
                continue
            pieces = cached.split(source)
            values = pieces[1::2]
            if (
                pieces[::2] == cached.fixed
                and values[cached.length_at] == b"%d" % (len(source) - size)
                and b"".join(values).replace(b"-", b"").isalnum()
            ):
                if cached is not self._heads[0]:
                    self._heads.remove(cached)
                    self._heads.insert(0, cached)
                return HttpRequest(cached.head, source[size:], source)
        return None

    def add(self, request: HttpRequest, source: bytes) -> None:
        """Cache the head of a parsed request, if these bytes are exactly that request."""
        cached = make_cached_head(request, source)
        if cached is not None:
            self._heads = [cached, *self._heads[: MAX_CACHED_HEADS - 1]]


def make_cached_head(request: HttpRequest, source: bytes) -> CachedHead | None:
    """Return the head of a request for the cache, unless there is something unusual about it."""
    head, size = request.head, source.find(END) + len(END)
    if size > MAX_HEAD_BYTES or size + len(request.body) != len(source):
        return None
    varying = list(find_varying_values(source[: size - len(END)]))
    names = [name for name, _, _ in varying]
    usual = head.keep_alive and head.names.isdisjoint(NEVER_CACHED) and names.count(LENGTH) == 1
    if not usual or split_headers(source) != request.headers:
        return None
    edges = [0, *(edge for _, *span in varying for edge in span), size]
    split = Packing("".join(f"{after - before}s" for before, after in pairwise(edges))).unpack_from
    return CachedHead(head, size, split, split(source)[::2], names.index(LENGTH))


def find_varying_values(head: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Yield name, start and end of the last word of each varying header; in Authorization that is the signature."""
    start = 0
    for line in head.split(b"\r\n"):
        name, end = line.partition(b":")[0].lower(), start + len(line)
        word = start + len(line.rstrip(WORD))
        if name in VARYING:
            yield name, word, end
        start = end + len(b"\r\n")
