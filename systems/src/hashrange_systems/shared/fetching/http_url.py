"""Parses a URL once, so that the URL that is checked is the URL that is requested.

Hosts are normalised as in browsers: IDNA, no trailing dot, IPv4 in decimal, octal or hex.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import SplitResult, quote, urljoin, urlsplit

import idna

from hashrange_systems.shared.fetching.errors import BadUrl
from hashrange_systems.shared.fetching.public_address import Address

DEFAULT_PORTS = {"http": 80, "https": 443}
MAX_URL_LENGTH = 8192
MAX_NAME_LENGTH = 253
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")
SAFE_IN_PATH = "/%:@!$&'()*+,;=~[]"
SAFE_IN_QUERY = SAFE_IN_PATH + "?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The target of a request: `host` is an A-label name or a canonical IP address, without brackets."""

    scheme: str
    host: str
    port: int
    path: str
    literal: Address | None

    @property
    def authority(self) -> str:
        """The host and port for the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def text(self) -> str:
        """The URL, without a fragment."""
        return f"{self.scheme}://{self.authority}{self.path}"

    @property
    def origin(self) -> tuple[str, str, int]:
        """Scheme, host and port."""
        return self.scheme, self.host, self.port


def parse_url(text: str) -> Target:
    """Parse an http or https URL; raise BadUrl with the reason."""
    parts = _split(text)
    if parts.scheme not in DEFAULT_PORTS:
        raise BadUrl("the URL must begin with http:// or https://")
    if "@" in parts.netloc:
        raise BadUrl("the URL must not contain a user name or password")
    host = normalise_host(_read_host(parts))
    literal = None if isinstance(host, str) else host
    path = quote(parts.path or "/", safe=SAFE_IN_PATH)
    query = f"?{quote(parts.query, safe=SAFE_IN_QUERY)}" if parts.query else ""
    return Target(
        scheme=parts.scheme, host=_format_host(host), port=_read_port(parts), path=path + query, literal=literal
    )


def join_url(base: Target, location: str) -> Target:
    """Return the target of a Location header."""
    _check_text(location)  # because urljoin removes line ends
    try:
        joined = urljoin(base.text, location)
    except ValueError as error:
        raise BadUrl(f"the URL cannot be read: {error}") from error
    return parse_url(joined)


def _check_text(text: str) -> None:
    if len(text) > MAX_URL_LENGTH:
        raise BadUrl(f"the URL is longer than {MAX_URL_LENGTH} characters")
    if CONTROL.search(text):
        raise BadUrl("the URL contains a control character")


def _split(text: str) -> SplitResult:
    _check_text(text)
    try:
        text.encode()  # a lone surrogate has no UTF-8
        return urlsplit(text)
    except ValueError as error:
        raise BadUrl(f"the URL cannot be read: {error}") from error


def _read_host(parts: SplitResult) -> str:
    if not parts.hostname:
        raise BadUrl("the URL names no host")
    if parts.netloc.startswith("["):
        return f"[{parts.hostname}]"
    return parts.hostname


def _read_port(parts: SplitResult) -> int:
    try:
        port = parts.port
    except ValueError as error:
        raise BadUrl("the port must be a number from 1 to 65535") from error
    if port == 0:
        raise BadUrl("the port must be a number from 1 to 65535")
    return port or DEFAULT_PORTS[parts.scheme]


def normalise_host(raw: str) -> str | Address:
    """Return the canonical name, or the IP address that the host denotes."""
    if raw.startswith("["):
        return _parse_ipv6(raw[1:-1])
    name = _encode_name(raw).removesuffix(".")
    labels = name.split(".")
    if NUMBER.fullmatch(labels[-1]):
        return _parse_ipv4(labels)
    if len(name) > MAX_NAME_LENGTH or not all(LABEL.fullmatch(label) for label in labels):
        raise BadUrl("the host is not a valid name")
    return name


def _format_host(host: str | Address) -> str:
    """Return the host as URLs spell it: a mapped IPv4 address in hexadecimal, which Python 3.14 writes with dots."""
    if isinstance(host, IPv6Address) and host.ipv4_mapped:
        high, low = divmod(int(host.ipv4_mapped), 1 << 16)
        return f"::ffff:{high:x}:{low:x}"
    return str(host)


def _encode_name(raw: str) -> str:
    """Return the name in lower-case ASCII; full-width digits and ideographic full stops are converted."""
    if raw.isascii():
        return raw.lower()
    try:
        return idna.encode(raw, uts46=True).decode().lower()
    except idna.IDNAError as error:
        raise BadUrl("the host is not a valid international name") from error


def _parse_ipv6(text: str) -> IPv6Address:
    if "%" in text:
        raise BadUrl("an IPv6 address with a zone is not reachable from here")
    try:
        return IPv6Address(text)
    except ValueError as error:
        raise BadUrl("the host is not a valid IPv6 address") from error


def _parse_ipv4(labels: list[str]) -> IPv4Address:
    """Parse one to four numbers in decimal, octal (0...) or hex (0x...); the last one fills the remaining bytes."""
    try:
        *leading, last = [_parse_number(label) for label in labels]
        value = last
        for position, number in enumerate(leading):
            value += number << 8 * (3 - position)
        if len(leading) > 3 or any(number > 255 for number in leading) or last >= 256 ** (4 - len(leading)):
            raise ValueError(labels)
        return IPv4Address(value)
    except ValueError as error:
        raise BadUrl("the host is not a valid IPv4 address") from error


def _parse_number(label: str) -> int:
    if not NUMBER.fullmatch(label):
        raise ValueError(label)
    if label.startswith("0x"):
        return int(label[2:] or "0", 16)
    return int(label, 8 if label.startswith("0") else 10)
