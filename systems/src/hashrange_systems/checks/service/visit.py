"""One request through the guarded fetcher, told in the model's words. Nothing is raised: no answer has its reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypedDict, Unpack
from urllib.parse import urlsplit

from hashrange_systems.checks.model.fetched import NO_PHASES, Answer, Cause, Fetched, NoAnswer, Phases
from hashrange_systems.checks.service.moment import to_ms
from hashrange_systems.checks.service.turn import Crowded, Turnstile
from hashrange_systems.shared.fetching.errors import (
    ConnectFailed,
    ConnectionLost,
    FetchError,
    NameUnresolved,
    RedirectForbidden,
    RequestRefused,
    TimedOut,
    TlsFailed,
)
from hashrange_systems.shared.fetching.fetcher import Fetcher
from hashrange_systems.shared.fetching.message import Phases as Timing
from hashrange_systems.shared.fetching.message import Request, Response

MOST_BYTES = 2_000_000
CAUSES: tuple[tuple[type[FetchError], Cause], ...] = (  # the first that fits
    (RequestRefused, Cause.REFUSED),
    (RedirectForbidden, Cause.PROTOCOL),  # one bad redirect must not disable a check
    (ConnectFailed, Cause.CONNECT),
    (ConnectionLost, Cause.CONNECT),
    (TlsFailed, Cause.TLS),
    (TimedOut, Cause.TIMEOUT),
)


class Wishes(TypedDict, total=False):
    """How a page is asked for; the fetcher's own choice where nothing is said."""

    method: str
    headers: tuple[tuple[str, str], ...]
    body: bytes | None
    timeout_s: float
    follow: bool


@dataclass(slots=True)
class Visitor:
    """Visits pages, each host in turn."""

    fetcher: Fetcher
    turns: Turnstile = field(default_factory=Turnstile)

    async def visit(self, url: str, **wishes: Unpack[Wishes]) -> Fetched:
        """Return what came back, or why nothing did."""
        try:
            request = Request(url=url, max_bytes=MOST_BYTES, **wishes)
            async with self.turns.enter(_find_host(url)):
                return _describe(await self.fetcher.fetch(request))
        except FetchError as fault:
            return _describe_failure(fault)
        except Crowded as fault:
            return NoAnswer(cause=Cause.OURS, message=str(fault))


def _find_host(url: str) -> str:
    try:
        return urlsplit(url).netloc.lower()
    except ValueError:  # the fetcher says what is wrong with it
        return ""


def _describe(response: Response) -> Answer:
    certificate = response.certificate
    return Answer(
        status=response.status,
        body=response.text,
        headers=dict(response.headers),
        elapsed_ms=response.phases.total_ms,
        phases=_phases(response.phases),
        certificate_not_after=to_ms(certificate.not_after) if certificate else None,
        url=response.url,
        cut=response.truncated,
    )


def _describe_failure(fault: FetchError) -> NoAnswer:
    timing = fault.phases
    return NoAnswer(
        cause=_find_cause(fault),
        message=str(fault),
        elapsed_ms=timing.total_ms if timing else None,
        phases=_phases(timing) if timing else NO_PHASES,
    )


def _find_cause(fault: FetchError) -> Cause:
    if isinstance(fault, NameUnresolved):
        return Cause.OURS if fault.temporary else Cause.NAME
    return next((cause for kind, cause in CAUSES if isinstance(fault, kind)), Cause.PROTOCOL)


def _phases(timing: Timing) -> Phases:
    return Phases(dns=timing.dns_ms, connect=timing.connect_ms, tls=timing.tls_ms, first_byte=timing.first_byte_ms)
