"""Every way in which an outbound request ends without a response.

FetchError
├── RequestRefused          nothing was sent
│   ├── BadRequest          the request itself (BadUrl, BadHeader)
│   ├── ForbiddenAddress    users may not reach the address (OwnAddressForbidden)
│   └── ForbiddenPort       the port belongs to another protocol
├── NameUnresolved          no address for the name
├── ConnectFailed           no address accepted the connection
├── NotConnected            this machine could not open a connection: it has no descriptors, ports or memory left
├── TlsFailed               no trusted TLS connection
│   └── CertificateExpired, CertificateNotYetValid, CertificateForOtherHost, CertificateUntrusted
├── ConnectionLost          closed or reset before the end of the response
├── ResponseMalformed         the response is not HTTP
├── BodyDamaged             the body cannot be decoded
├── NotDecompressed         decompressing it exceeded the budget of the sandbox, or the sandbox is busy
├── TooLarge                larger than the caller allows (CompressionBomb), or in tiny pieces (TooManyChunks)
├── TimedOut                a phase, or the whole, took too long
├── TooManyRedirects        more than allowed (RedirectLoop)
└── RedirectForbidden       a redirect to a forbidden target; `__cause__` has the reason

PolicyInvalid is not one of them: it reports an invalid configuration.
The texts of a FetchError are for the user who gave the URL: they contain no internal address.
"""

from __future__ import annotations

from hashrange import HashrangeError
from hashrange_systems.shared.fetching.progress import Phases, Redirect


class PolicyInvalid(HashrangeError):
    """An exemption in the configuration that cannot be parsed."""


class FetchError(HashrangeError):
    """There is no response; `url`, `redirects` and `phases` say how far the request came."""

    url: str | None = None
    redirects: tuple[Redirect, ...] = ()
    phases: Phases | None = None


class RequestRefused(FetchError):
    """The request was not sent."""


class BadRequest(RequestRefused):
    """A request that can never be sent."""


class BadUrl(BadRequest):
    """Not the URL of a web page."""


class BadHeader(BadRequest):
    """A header that may not be sent."""


class ForbiddenAddress(RequestRefused):
    """The host has an address that users may not reach; `address` is for the log only."""

    def __init__(self, host: str, address: str, reason: str) -> None:
        super().__init__(f"{host} is at {reason} address, which may not be requested")
        self.address = address
        self.reason = reason


class OwnAddressForbidden(ForbiddenAddress):
    """The host is the service itself: its pages or its database."""

    def __init__(self, host: str, address: str) -> None:
        super().__init__(host, address, "our own")


class ForbiddenPort(RequestRefused):
    """A port of another protocol."""

    def __init__(self, port: int) -> None:
        super().__init__(f"port {port} may not be requested")
        self.port = port


class NameUnresolved(FetchError):
    """The name has no address, or (`temporary`) the lookup failed."""

    def __init__(self, host: str, *, temporary: bool) -> None:
        outcome = "could not be looked up at the moment" if temporary else "does not exist or has no address"
        super().__init__(f"the name {host} {outcome}")
        self.temporary = temporary


class ConnectFailed(FetchError):
    """No address of the host accepted the connection."""


class NotConnected(FetchError):
    """This machine could not open a connection, which says nothing about the host."""

    def __init__(self) -> None:
        super().__init__("no connection could be opened here: this machine has too many of them at the moment")


class TlsFailed(FetchError):
    """TLS could not be set up."""


class CertificateExpired(TlsFailed):
    """The certificate is no longer valid."""


class CertificateNotYetValid(TlsFailed):
    """The certificate is not valid yet."""


class CertificateForOtherHost(TlsFailed):
    """The certificate was issued for other names."""


class CertificateUntrusted(TlsFailed):
    """The certificate is self-signed, or its authority is not trusted."""


class ConnectionLost(FetchError):
    """The connection ended before the response did."""


class ResponseMalformed(FetchError):
    """The server's answer is not HTTP."""


class BodyDamaged(FetchError):
    """The body does not decode as its headers say."""


class NotDecompressed(FetchError):
    """The body was not decompressed: it exceeded the budget of the sandbox, or the sandbox is busy."""


class TooLarge(FetchError):
    """The response is larger than the caller allows."""


class TooManyChunks(TooLarge):
    """The body comes in too many tiny pieces, each of which costs time."""


class CompressionBomb(TooLarge):
    """The body expands too much when decompressed."""


class TimedOut(FetchError):
    """A phase took too long; `phase` is dns, connect, tls, answer or body."""

    def __init__(self, phase: str, limit_s: float) -> None:
        super().__init__(f"{WAITED_FOR[phase]} did not come about within {limit_s:g} s")
        self.phase = phase
        self.limit_s = limit_s


WAITED_FOR = {
    "dns": "the address of the name",
    "connect": "the connection",
    "tls": "the TLS handshake",
    "answer": "the status and headers",
    "body": "the end of the body",
}


class TooManyRedirects(FetchError):
    """More redirects than the caller follows."""


class RedirectLoop(TooManyRedirects):
    """A redirect to a URL that was already requested."""


class RedirectForbidden(FetchError):
    """A redirect that may not be followed."""
