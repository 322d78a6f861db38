"""Syntax rules for URLs that users give. The addresses of their hosts are checked by the fetcher."""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import SplitResult, urlsplit

from hashrange_systems.shared.errors import FieldError, InvalidInput
from hashrange_systems.shared.fetching.http_url import DEFAULT_PORTS

MAX_URL_LENGTH = 2000
MAIL_AND_SHELL_PORTS = frozenset({21, 22, 23, 25, 110, 143, 465, 587, 993, 995})
NUMERIC_HOST = re.compile(r"(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]+))*\.?", re.IGNORECASE)
DOTTED_QUAD = re.compile(r"(0|[1-9]\d{0,2})(\.(0|[1-9]\d{0,2})){3}", re.ASCII)
UNSEEN = re.compile(r"[\x00-\x20\x7f\\]")


def validate_url(text: object, own_origins: Collection[str] = (), field: str = "url") -> str:
    """Return a URL that may be requested; raise InvalidInput with the reason otherwise."""
    if not isinstance(text, str) or not text:
        raise InvalidInput([FieldError(field, "must be an address such as https://example.com")])
    if problem := explain_url(text, own_origins):
        raise InvalidInput([FieldError(field, problem)])
    return text


def explain_url(text: str, own_origins: Collection[str] = ()) -> str | None:
    """Return why the URL may not be requested; None if it may."""
    if len(text) > MAX_URL_LENGTH:
        return f"must be at most {MAX_URL_LENGTH} characters"
    if UNSEEN.search(text) or not text.isprintable():
        return "must not contain spaces, control characters or backslashes"
    try:
        parts, port = urlsplit(text), urlsplit(text).port
    except ValueError as error:
        return f"is not an address: {error}"
    return explain_parts(parts, port) or explain_loop(parts, own_origins)


def explain_parts(parts: SplitResult, port: int | None) -> str | None:
    """Return the error in a part of the URL."""
    if parts.scheme not in ("http", "https"):
        return f"must begin with http:// or https://, not {parts.scheme[:20] or 'nothing'}:"
    if parts.username is not None or parts.password is not None:
        return "must not carry a user name or password; use a header"
    if not parts.hostname:
        return "must name a host"
    if port in MAIL_AND_SHELL_PORTS or port == 0:
        return f"must not use port {port}"
    return explain_host(parts.hostname)


def explain_host(host: str) -> str | None:
    """Return the error in the host: a zone, or a number that hides an address."""
    if "%" in host:
        return "must not carry an IPv6 zone or escapes in the host"
    if NUMERIC_HOST.fullmatch(host) and not DOTTED_QUAD.fullmatch(host):
        return "must write an IPv4 address as four decimal numbers"
    return None


def explain_loop(parts: SplitResult, own_origins: Collection[str]) -> str | None:
    """Return the error for a page of this service, which would call itself."""
    own = {name_origin(urlsplit(origin)) for origin in own_origins}
    return "must not be a page of this service" if name_origin(parts) in own else None


def name_origin(parts: SplitResult) -> tuple[str, int | None]:
    """Return the normalised host and port."""
    return (parts.hostname or "").rstrip("."), parts.port or DEFAULT_PORTS.get(parts.scheme)
