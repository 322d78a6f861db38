"""Authentication: by default every request with a well-formed signature passes; `sigv4` also verifies the secret."""

from __future__ import annotations

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

HEADER_PARTS = ("Credential", "Signature", "SignedHeaders")
QUERY_PARTS = ("X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Signature", "X-Amz-SignedHeaders", "X-Amz-Date")


def check_signature_format(request: HttpRequest) -> None:
    """Raise unless the request has a well-formed signature, with whatever key."""
    head = request.head
    if not (is_complete(head.authorization) and b"x-amz-date" in head.names and b"?" not in head.url):
        parse_signature(request)


@lru_cache(maxsize=1024)
def is_complete(beginning: bytes) -> bool:
    """Tell whether an Authorization header is complete; all but the signature is the same for a whole day."""
    return (
        beginning.startswith(b"AWS4-")
        and beginning.endswith(b"Signature=")
        and b"Credential=" in beginning
        and b"SignedHeaders=" in beginning
    )


def check_signature_format_if_signed(request: HttpRequest) -> None:
    """Check the signature of a request that has one."""
    if b"authorization" in request.head.names or b"X-Amz-" in request.head.url:
        check_signature_format(request)


def parse_signature(request: HttpRequest) -> dict[str, str]:
    """Return the parts of a signature, named as in the Authorization header; raise if it is malformed."""
    header = request.headers.get(b"authorization", b"").decode("latin-1")
    query = parse_query(request)
    if "X-Amz-Algorithm" in query:
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
    parts = {name: value for name, _, value in (word.partition("=") for word in words)}
    problems = "".join(
        f"Authorization header requires '{name}' parameter. " for name in HEADER_PARTS if not parts.get(name)
    )
    date = headers.get(b"x-amz-date") or headers.get(b"date")
    if not date:
        problems += "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. "
    if problems or not date:
        raise IncompleteSignatureException(f"{problems}Authorization={header}")
    return {"Algorithm": algorithm, "Date": date.decode("latin-1"), **parts}
