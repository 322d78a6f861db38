"""Why no answer could be had from an endpoint.

TransportError
├── Unreachable          no connection: name unknown, refused, connect timeout, proxy
│   └── CertificateRefused
├── TimedOut             the answer did not come in time
├── ConnectionLost       it ended before the answer was complete
├── ResponseCorrupt      not HTTP, not JSON, or a checksum that does not hold
├── ResponseTooLarge
├── ResponseUnrecognised HTTP, but no answer of DynamoDB's
├── CredentialsMissing, EndpointUnknown
└── TransportClosed
"""

from __future__ import annotations

from hashrange.core.errors import TransportError


class Unreachable(TransportError):
    """No connection could be made."""

    retryable = True


class CertificateRefused(Unreachable):
    """The endpoint could not prove that it is the one that was asked for."""

    retryable = False


class TimedOut(TransportError):
    """The answer did not come in time; the request may have been carried out."""

    retryable = True


class ConnectionLost(TransportError):
    """The connection ended before the answer was complete; the request may have been carried out."""

    retryable = True

    def __init__(self, message: str, *, stale: bool = False) -> None:
        super().__init__(message)
        self.stale = stale  # it had been used before and ended without a byte: the server was closing it anyway


class ResponseCorrupt(TransportError):
    """The answer was damaged on its way."""

    retryable = True


class ResponseTooLarge(TransportError):
    """The answer has more bytes than DynamoDB would ever send."""


class ResponseUnrecognised(TransportError):
    """Something answered that does not speak DynamoDB's protocol: a proxy, a load balancer, another server."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class CredentialsMissing(TransportError):
    """AWS was to be called, and no credentials were found."""


class EndpointUnknown(TransportError):
    """Neither an endpoint nor a region that would give one."""


class TransportClosed(TransportError):
    """A call after `close()`."""
