"""What came of fetching a page: an answer, or the reason why there is none. The guarded fetcher makes these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Cause(StrEnum):
    """Why a check did not find its target well."""

    NAME = "NAME"  # the host does not resolve
    CONNECT = "CONNECT"  # refused, unreachable, reset
    TLS = "TLS"  # no valid certificate, or no handshake
    TIMEOUT = "TIMEOUT"
    PROTOCOL = "PROTOCOL"  # what came back is not HTTP, or redirects in circles
    STATUS = "STATUS"  # a status that is not accepted
    TEXT = "TEXT"  # the keyword or regex says no
    CERTIFICATE = "CERTIFICATE"  # valid, but expires soon
    REFUSED = "REFUSED"  # the address is one that we do not visit
    OURS = "OURS"  # our own side: no network, no resolver, a worker going down
    BLOCKED = "BLOCKED"  # the site answers robots with something else
    LAYOUT = "LAYOUT"  # the page is not one that we can read


@dataclass(frozen=True, slots=True, kw_only=True)
class Phases:
    """How long each phase of a request took, in milliseconds; None for one that did not happen."""

    dns: int | None = None
    connect: int | None = None
    tls: int | None = None
    first_byte: int | None = None


NO_PHASES = Phases()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An HTTP answer after redirects; `cut` when the body was longer than we read."""

    status: int
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    elapsed_ms: int = 0
    phases: Phases = NO_PHASES
    certificate_not_after: int | None = None
    url: str = ""
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NoAnswer:
    """Why there is no answer."""

    cause: Cause
    message: str
    elapsed_ms: int | None = None
    phases: Phases = NO_PHASES


Fetched = Answer | NoAnswer
