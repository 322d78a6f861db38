"""The result of fetching a page: a response, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from hashrange_systems.shared.fetching.content_encoding import NO_BODY, EncodedBody, decode_body
from hashrange_systems.shared.fetching.http_message import decode_text


class Cause(StrEnum):
    """Why a check failed or gave a warning."""

    NAME = "NAME"  # the host does not resolve
    CONNECT = "CONNECT"  # refused, unreachable, reset
    TLS = "TLS"  # no valid certificate, or no handshake
    TIMEOUT = "TIMEOUT"
    PROTOCOL = "PROTOCOL"  # not HTTP, or a redirect loop
    STATUS = "STATUS"  # a status that is not accepted
    TEXT = "TEXT"  # the keyword or regex failed
    CERTIFICATE = "CERTIFICATE"  # valid, but expires soon
    REFUSED = "REFUSED"  # a forbidden address
    OURS = "OURS"  # our own side: no network, no resolver, worker shutdown
    BLOCKED = "BLOCKED"  # the site blocks robots
    LAYOUT = "LAYOUT"  # the page cannot be parsed
    CONDITION = "CONDITION"  # a header or JSON value is not as expected
    SLOW = "SLOW"  # slower than the threshold
    RECORD = "RECORD"  # the DNS record is missing or another one
    DOMAIN = "DOMAIN"  # the registration of the domain has ended, or ends soon
    LOSS = "LOSS"  # some echoes were lost
    LATE = "LATE"  # no signal in time
    REPORTED = "REPORTED"  # the job itself reported a failure


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseTimes:
    """Durations of the phases of a request, in milliseconds; None for a phase that did not happen."""

    dns: int | None = None
    connect: int | None = None
    tls: int | None = None
    first_byte: int | None = None


NO_PHASES = PhaseTimes()


@dataclass(frozen=True, slots=True, kw_only=True)
class PageResponse:
    """An HTTP response after redirects; `cut` if the body was truncated.

    `encoded` is the body of an untrusted page before `decode_page`, which runs where it may take long.
    """

    status: int
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    elapsed_ms: int = 0
    phases: PhaseTimes = NO_PHASES
    certificate_not_after: int | None = None
    url: str = ""
    cut: bool = False
    encoded: EncodedBody = NO_BODY
    charset: str = "utf-8"


def decode_page(page: PageResponse) -> PageResponse:
    """Return the page with its body decompressed, and as text; raise CompressionBomb or BodyDamaged."""
    if not page.encoded.received:
        return page
    body = decode_body(page.encoded)
    return replace(page, body=decode_text(body.content, page.charset), cut=body.truncated, encoded=NO_BODY)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoResponse:
    """Why there is no response."""

    cause: Cause
    message: str
    elapsed_ms: int | None = None
    phases: PhaseTimes = NO_PHASES


FetchResult = PageResponse | NoResponse
