"""Which requests a browser may send: a web page that a developer visits must not reach the local database.

A page of another site is known by its `Origin`. A page whose own name was made to resolve to this machine (DNS
rebinding) is known by its `Host`. SDKs send no `Origin`, and as `Host` the name that the user gave them.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address

from hashrange.server.http_request import ABSOLUTE

log = logging.getLogger(__name__)

ANY = "*"
AUTHORITY = re.compile(r"(\[[0-9a-f:.]+\]|[^\[\]:/?#@\s\\,]+)(?::[0-9]{0,5})?", re.IGNORECASE)
LOOPBACK_NAME = "localhost"
MAX_REMEMBERED = 256  # hosts that were accepted, and pages that were reported
ORIGIN_REFUSED = (
    "Requests of web pages are refused, and this one comes from the origin {0}. To allow it, start the server with "
    "--cors {0}"
)
HOST_REFUSED = (
    "The Host header names {0}, which is not a name of this server. To allow it, start the server with "
    "--allow-host {0} (for instance the service name of a container)"
)
HOST_MISSING = "The request has no Host header"
HOST_INVALID = "The Host header is repeated or malformed"
ORIGIN_REPEATED = "The Origin header is repeated"
ORIGIN_EMPTY = (
    "Requests of web pages are refused, and this one has an empty Origin header. To allow a page, start the server "
    "with --cors ORIGIN"
)


class CrossOriginCheck:
    """Finds what is wrong with the Origin and the Host of a request."""

    def __init__(self, bound: Iterable[str], *, origins: Iterable[str] = (), hosts: Iterable[str] = ()) -> None:
        self._origins = {origin.lower().rstrip("/") for origin in origins}
        self._hosts = {_read_authority(host.encode()) or host for host in hosts}
        self._names = {_strip(each) for each in bound}  # names and addresses that the server listens on
        self._listens_on_all_addresses = any(_is_unspecified(each) for each in self._names)
        self._accepted: set[bytes] = set()  # values of Host
        self._reported: set[bytes] = set()

    def find_problem(self, url: bytes, headers: Mapping[bytes, bytes], version: str) -> tuple[int, str] | None:
        """Return status and text of the refusal of a request with such a head, if it is refused.

        A repeated header is there a second time with a comma after its name.
        """
        host = headers.get(b"host")
        known = host in self._accepted and b"host," not in headers
        problem = None if known else self.find_host_problem(host, repeated=b"host," in headers, version=version)
        if problem is None and not url.startswith(b"/"):
            problem = self._find_target_problem(url)
        if problem is None and b"origin" in headers:
            problem = self._find_origin_problem(headers)
        return problem

    def find_host_problem(self, host: bytes | None, *, repeated: bool, version: str) -> tuple[int, str] | None:
        """Return status and text of the refusal for this Host header, if it is refused."""
        if host is None:  # no browser sends that
            return (400, HOST_MISSING) if version == "1.1" else None
        name = _read_authority(host)
        if repeated or name is None:
            return 400, HOST_INVALID
        if not self._names_this_machine(name):
            self._report(host, HOST_REFUSED.format(name))
            return 403, HOST_REFUSED.format(name)
        if len(self._accepted) < MAX_REMEMBERED:
            self._accepted.add(host)
        return None

    def _find_target_problem(self, url: bytes) -> tuple[int, str] | None:
        """Check the host in a request target that is a whole URL; it counts more than the Host header."""
        match = ABSOLUTE.match(url)
        return None if match is None else self.find_host_problem(match[1], repeated=False, version="1.1")

    def _find_origin_problem(self, headers: Mapping[bytes, bytes]) -> tuple[int, str] | None:
        if b"origin," in headers:
            return 400, ORIGIN_REPEATED
        origin = headers[b"origin"].decode("latin-1")
        if ANY in self._origins or origin.lower() in self._origins:
            return None
        if not origin:
            return 403, ORIGIN_EMPTY
        shown = origin if origin.isprintable() and origin.isascii() else "ORIGIN"
        self._report(headers[b"origin"], ORIGIN_REFUSED.format(shown))
        return 403, ORIGIN_REFUSED.format(shown)

    def _names_this_machine(self, name: str) -> bool:
        if ANY in self._hosts or name in self._hosts or name in self._names:
            return True
        address = _read_address(name)
        if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:  # ::ffff:127.0.0.1
            address = address.ipv4_mapped
        if address is None:
            return name == LOOPBACK_NAME or name.endswith(f".{LOOPBACK_NAME}")
        # An address cannot be made to resolve to another machine
        return address.is_loopback or (self._listens_on_all_addresses and not address.is_unspecified)

    def _report(self, found: bytes, text: str) -> None:
        """Log a refusal once: a browser does not show its text to anybody."""
        if found not in self._reported and len(self._reported) < MAX_REMEMBERED:
            self._reported.add(found)
            log.warning("refused a request", extra={"fields": {"reason": text}})


def is_origin(text: str) -> bool:
    """Return whether a text can be the value of an Origin header: `http://localhost:3000`, or `null`."""
    scheme, colon, authority = text.rstrip("/").partition("://")
    return text == "null" or (bool(colon) and scheme.isalnum() and AUTHORITY.fullmatch(authority) is not None)


def is_host(text: str) -> bool:
    """Return whether a text can be the value of a Host header."""
    return _read_authority(text.encode()) is not None


def _read_authority(host: bytes) -> str | None:
    """Return the name in a Host header, without the port; None if it is malformed."""
    match = AUTHORITY.fullmatch(host.decode("latin-1"))
    return None if match is None or not match[1].isascii() else _strip(match[1])


def _strip(name: str) -> str:
    """Return a name as it is compared."""
    return name.lower().removeprefix("[").removesuffix("]").removesuffix(".")


def _read_address(name: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(name)
    except ValueError:
        return None


def _is_unspecified(name: str) -> bool:
    address = _read_address(name)
    return address is not None and address.is_unspecified
