"""The causes why an endpoint gave no valid response.

TransportError
├── Unreachable          no connection: name unknown, refused, connect timeout, proxy
│   └── CertificateRefused
├── TimedOut             the response did not arrive in time
├── ConnectionLost       it ended before the response was complete
├── ResponseCorrupt      not HTTP, not JSON, or a checksum that does not hold
├── ResponseTooLarge
├── ResponseUnrecognised HTTP, but no response of DynamoDB
├── CredentialsMissing, EndpointUnknown
└── TransportClosed
"""

from __future__ import annotations

from hashrange.core.errors import TransportError


class Unreachable(TransportError):
    """No connection could be made."""

    retryable = True


class CertificateRefused(Unreachable):
    """The endpoint's certificate is not valid for it."""

    retryable = False


class TimedOut(TransportError):
    """The response did not arrive in time; the request may have been carried out."""

    retryable = True


class ConnectionLost(TransportError):
    """The connection ended before the response was complete; the request may have been carried out."""

    retryable = True

    def __init__(self, message: str, *, stale: bool = False) -> None:
        super().__init__(message)
        self.stale = stale  # a reused connection that ended without a byte: the server had closed it


class ResponseCorrupt(TransportError):
    """The response is damaged."""

    retryable = True


class ResponseTooLarge(TransportError):
    """The response is larger than any of DynamoDB's."""


class ResponseUnrecognised(TransportError):
    """The response is not DynamoDB's: a proxy, a load balancer or another server sent it."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class CredentialsMissing(TransportError):
    """No credentials for AWS were found."""


class EndpointUnknown(TransportError):
    """There is neither an endpoint nor a region."""


class TransportClosed(TransportError):
    """A call after `close()`."""
