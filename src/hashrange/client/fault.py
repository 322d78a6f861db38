"""Why no answer could be had from an endpoint.

TransportError
├── Unreachable          no connection: name unknown, refused, connect timeout, proxy
│   └── CertificateRefused
├── TimedOut             the answer did not come in time
├── ConnectionLost       it ended before the answer was complete
├── AnswerBroken         not HTTP, not JSON, or a checksum that does not hold
├── AnswerTooLarge
├── AnswerForeign        HTTP, but no answer of DynamoDB's
├── CredentialsMissing, EndpointUnknown
└── TransportClosed
"""

from __future__ import annotations

from typing import ClassVar

from hashrange.core.errors import TransportError


class Fault(TransportError):
    """A TransportError that says whether trying again can help."""

    retryable: ClassVar[bool] = False


class Unreachable(Fault):
    """No connection could be made."""

    retryable = True


class CertificateRefused(Unreachable):
    """The endpoint could not prove that it is the one that was asked for."""

    retryable = False


class TimedOut(Fault):
    """The answer did not come in time; the request may have been carried out."""

    retryable = True


class ConnectionLost(Fault):
    """The connection ended before the answer was complete; the request may have been carried out."""

    retryable = True

    def __init__(self, message: str, *, stale: bool = False) -> None:
        super().__init__(message)
        self.stale = stale  # it had been used before and ended without a byte: the server was closing it anyway


class AnswerBroken(Fault):
    """The answer was damaged on its way."""

    retryable = True


class AnswerTooLarge(Fault):
    """The answer has more bytes than DynamoDB would ever send."""


class AnswerForeign(Fault):
    """Something answered that does not speak DynamoDB's protocol: a proxy, a load balancer, another server."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class CredentialsMissing(Fault):
    """AWS was to be called, and no credentials were found."""


class EndpointUnknown(Fault):
    """Neither an endpoint nor a region that would give one."""


class TransportClosed(Fault):
    """A call after `close()`."""
