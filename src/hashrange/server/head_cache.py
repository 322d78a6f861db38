"""Heads that are recognised instead of read: a client's differ from one request to the next in a few values only.

A Stencil is a head that the parser has read, with holes where such values stood. Bytes that agree with it outside the
holes, and inside have nothing but letters, digits and hyphens, are a head that the parser would read the same way. What
fits no stencil is left to the parser.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from struct import Struct as Packing

from msgspec import Struct

from hashrange.server.http_request import HttpRequest, RequestHead, split_headers

END = b"\r\n\r\n"
LENGTH = b"content-length"
DEMANDS = frozenset({b"expect", b"upgrade"})  # whoever sends them wants more than an answer
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
KEPT = 8
LARGEST = 4096  # of more, nobody should make us keep several for each connection


class CachedHead(Struct, frozen=True, eq=False, gc=False):
    """A head with holes."""

    head: RequestHead
    size: int  # in bytes, the empty line at its end included
    cut: Callable[[bytes], tuple[bytes, ...]]  # into what is fixed and what is in a hole, by turns
    fixed: tuple[bytes, ...]
    length_at: int  # which hole has the length of the body


class HeadCache:
    """Those of one connection, the one that fitted last in front."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: list[CachedHead] = []

    def recognise(self, source: bytes) -> HttpRequest | None:
        """Return the request that these bytes are, if its head fits a stencil and they are all of it."""
        for stencil in self._known:
            size = stencil.size
            if not source.startswith(END, size - len(END)):
                continue
            pieces = stencil.cut(source)
            values = pieces[1::2]
            if (
                pieces[::2] == stencil.fixed
                and values[stencil.length_at] == b"%d" % (len(source) - size)
                and b"".join(values).replace(b"-", b"").isalnum()
            ):
                if stencil is not self._known[0]:
                    self._known.remove(stencil)
                    self._known.insert(0, stencil)
                return HttpRequest(stencil.head, source[size:], source)
        return None

    def learn(self, request: HttpRequest, source: bytes) -> None:
        """Remember the head of a request that the parser read, if these bytes are all of it."""
        stencil = make_cached_head(request, source)
        if stencil is not None:
            self._known = [stencil, *self._known[: KEPT - 1]]


def make_cached_head(request: HttpRequest, source: bytes) -> CachedHead | None:
    """Return the stencil of a request's head, unless there is something unusual about it."""
    head, size = request.head, source.find(END) + len(END)
    if size > LARGEST or size + len(request.body) != len(source):
        return None
    holes = list(find_varying_values(source[: size - len(END)]))
    names = [name for name, _, _ in holes]
    usual = head.keep_alive and head.names.isdisjoint(DEMANDS) and names.count(LENGTH) == 1
    if not usual or split_headers(source) != request.headers:
        return None
    edges = [0, *(edge for _, *span in holes for edge in span), size]
    cut = Packing("".join(f"{after - before}s" for before, after in pairwise(edges))).unpack_from
    return CachedHead(head, size, cut, cut(source)[::2], names.index(LENGTH))


def find_varying_values(head: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Yield the headers whose last word differs each time, and where that is; of Authorization it is the signature."""
    start = 0
    for line in head.split(b"\r\n"):
        name, end = line.partition(b":")[0].lower(), start + len(line)
        word = start + len(line.rstrip(WORD))
        if name in VARYING:
            yield name, word, end
        start = end + len(b"\r\n")
