"""One complete HTTP request; `request_reader` makes it, `protocol` reads it."""

from __future__ import annotations

import re

from msgspec import Struct

from hashrange.server.http_response import ResponseForm, find_response_form

Headers = dict[bytes, bytes]  # by lower-case name, as `add_header` adds them

SIGNATURE_LENGTH = 64
ABSOLUTE = re.compile(rb"[a-zA-Z][a-zA-Z0-9+.-]*://([^/?#]*)")


class RequestHead(Struct, frozen=True, eq=False, gc=False):
    """The parts of a head that every request needs; requests that match a cached head share one."""

    method: bytes
    url: bytes
    names: frozenset[bytes]  # of its headers, in lower case
    target: bytes
    authorization: bytes  # without the signature; empty if its last 64 characters cannot be one
    keep_alive: bool
    connection: bytes | None  # the Connection header of the response
    form: ResponseForm  # of the response


class HttpRequest(Struct, gc=False):
    """A request; a Struct because that is made in a third of the time of a NamedTuple."""

    head: RequestHead
    body: bytes
    source: Headers | bytes  # the headers, or bytes that begin with the head, split when first needed

    @property
    def headers(self) -> Headers:
        """The headers of this request."""
        if isinstance(self.source, bytes):
            self.source = split_headers(self.source)
        return self.source

    def split_url(self) -> tuple[bytes, bytes]:
        """Return the path and the query string."""
        path, _, query = self.head.url.partition(b"?")
        return path, query


def make_request(method: bytes, url: bytes, headers: Headers, body: bytes, *, keep_alive: bool) -> HttpRequest:
    """Return a parsed request."""
    find = headers.get
    connection = b"close" if not keep_alive else b"keep-alive" if b"connection" in headers else None
    form = find_response_form(find(b"content-type"), b"origin" in headers, find(b"accept-encoding"), connection)
    signed = find(b"authorization", b"")
    is_word = signed[-SIGNATURE_LENGTH:].replace(b"-", b"").isalnum()  # as in `head_cache`
    authorization = signed[:-SIGNATURE_LENGTH] if is_word else b""
    target = find(b"x-amz-target", b"")
    if not url.startswith(b"/"):
        url = strip_authority(url)
    head = RequestHead(method, url, frozenset(headers), target, authorization, keep_alive, connection, form)
    return HttpRequest(head, body, headers)


def strip_authority(url: bytes) -> bytes:
    """Return the path and query of a request target that is a whole URL, as proxies send it."""
    match = ABSOLUTE.match(url)
    if match is None:
        return url
    rest = url[match.end() :]
    return rest if rest.startswith(b"/") else b"/" + rest


def split_headers(source: bytes) -> Headers:
    """Return the headers in the bytes of a request that is known to be well-formed."""
    headers: Headers = {}
    for line in source.partition(b"\r\n\r\n")[0].split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        add_header(headers, name.lower(), value.strip(b" \t"))
    return headers


def add_header(headers: Headers, name: bytes, value: bytes) -> None:
    """Add a header. The first of a repeated one counts; its name and a comma has all values, which are signed."""
    if name in headers:
        headers[name + b","] = joined_values(headers, name) + b"," + value
    else:
        headers[name] = value


def joined_values(headers: Headers, name: bytes) -> bytes:
    """Return all values of a header, joined by commas; empty if there is none."""
    return headers.get(name + b",") or headers.get(name, b"")
