"""Authentication: by default every request with a well-formed signature passes; `sigv4` also verifies the secret."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from urllib.parse import parse_qsl

from hashrange.core.errors import (
    IncompleteSignatureException,
    InvalidSignatureException,
    MissingAuthenticationTokenException,
)
from hashrange.server.http_request import HttpRequest

Authenticate = Callable[[HttpRequest], None]  # raises a ServiceError

# All of the usual header but the signature: the same for a whole day, and it can be read in one way only.
COMPLETE = re.compile(
    rb"AWS4-[^\s,=]+ Credential=[^/,\s]+(?:/[^/,\s]+){4}, ?SignedHeaders=[^,\s=]+, ?Signature=",
)
HEADER_PARTS = ("Credential", "Signature", "SignedHeaders")
ALGORITHM = "X-Amz-Algorithm"
QUERY_PARTS = (ALGORITHM, "X-Amz-Credential", "X-Amz-Signature", "X-Amz-SignedHeaders", "X-Amz-Date")


def check_signature_format(request: HttpRequest) -> None:
    """Raise unless the request has a well-formed signature, with whatever key."""
    head = request.head
    if not (is_complete(head.authorization) and b"x-amz-date" in head.names and b"?" not in head.url):
        parse_signature(request)


@lru_cache(maxsize=1024)
def is_complete(beginning: bytes) -> bool:
    """Return whether an Authorization header without its signature has the usual form, and nothing else is in it."""
    return COMPLETE.fullmatch(beginning) is not None


def is_signed(request: HttpRequest) -> bool:
    """Return whether a request has a signature, in a header or in its URL."""
    return b"authorization" in request.head.names or (b"?" in request.head.url and ALGORITHM in parse_query(request))


def check_signature_format_if_signed(request: HttpRequest) -> None:
    """Check the signature of a request that has one."""
    if is_signed(request) or b"X-Amz-" in request.head.url:
        check_signature_format(request)


def parse_signature(request: HttpRequest) -> dict[str, str]:
    """Return the parts of a signature, named as in the Authorization header; raise if it is malformed."""
    header = request.headers.get(b"authorization", b"").decode("latin-1")
    query = parse_query(request)
    if ALGORITHM in query:
        if header:
            raise InvalidSignatureException(
                "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header."
            )
        return _read_query_form(query)
    if not header.strip().startswith("AWS4-"):
        raise MissingAuthenticationTokenException("Request is missing Authentication Token")
    return _read_header_form(header, request.headers)


def parse_query(request: HttpRequest) -> dict[str, str]:
    """Return the parameters of the query string."""
    _, query = request.split_url()
    return dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True))


def _read_query_form(query: dict[str, str]) -> dict[str, str]:
    missing = [name for name in QUERY_PARTS if not query.get(name)]
    if missing:
        problems = "".join(f"AWS query-string parameters must include '{name}'. " for name in missing)
        raise IncompleteSignatureException(f"{problems}Re-examine the query-string parameters.")
    return {name.removeprefix("X-Amz-"): query[name] for name in QUERY_PARTS}


def _read_header_form(header: str, headers: dict[bytes, bytes]) -> dict[str, str]:
    algorithm, *words = header.replace(",", " ").split()
    pairs = [(name, value) for name, _, value in (word.partition("=") for word in words)]
    parts = dict(pairs)
    names = [name for name, _ in pairs]
    problems = "".join(f"Authorization header has '{name}' twice. " for name in HEADER_PARTS if names.count(name) > 1)
    problems += "".join(
        f"Authorization header requires '{name}' parameter. " for name in HEADER_PARTS if not parts.get(name)
    )
    date = headers.get(b"x-amz-date") or headers.get(b"date")
    if not date:
        problems += "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. "
    if problems or not date:
        raise IncompleteSignatureException(f"{problems}Authorization={header}")
    return {"Algorithm": algorithm, "Date": date.decode("latin-1"), **parts}
