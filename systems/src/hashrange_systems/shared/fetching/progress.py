"""How far a fetch came: the durations of its phases, and the redirects that it followed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Phases:
    """Durations of the phases at the last server, in ms; None for a phase that was not reached or not needed.

    `first_byte_ms` counts from sending the request, `body_ms` from the first byte; `total_ms` includes redirects.
    """

    dns_ms: int | None = None
    connect_ms: int | None = None
    tls_ms: int | None = None
    first_byte_ms: int | None = None
    body_ms: int | None = None
    total_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Redirect:
    """A redirect: `url` answered `status` with `location`; `downgraded` from https to http."""

    url: str
    status: int
    location: str
    downgraded: bool
