"""Sends the request of a probe through the guarded fetcher; errors are returned as NoResponse."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypedDict, Unpack
from urllib.parse import urlsplit

from hashrange_systems.checks.model.fetch_result import (
    NO_PHASES,
    Cause,
    FetchResult,
    NoResponse,
    PageResponse,
    PhaseTimes,
)
from hashrange_systems.checks.service.host_concurrency import HostBusy, HostLimiter
from hashrange_systems.shared.epoch import to_ms
from hashrange_systems.shared.fetching.errors import (
    CompressionBomb,
    ConnectFailed,
    ConnectionLost,
    FetchError,
    NameUnresolved,
    NotConnected,
    NotDecompressed,
    OwnAddressForbidden,
    RedirectForbidden,
    RequestRefused,
    TimedOut,
    TlsFailed,
    TooManyChunks,
)
from hashrange_systems.shared.fetching.fetcher import Fetcher
from hashrange_systems.shared.fetching.http_message import Request, Response
from hashrange_systems.shared.fetching.progress import Phases as Timing

MAX_BYTES = 2_000_000
CAUSES: tuple[tuple[type[FetchError], Cause], ...] = (  # the first that fits
    (RequestRefused, Cause.REFUSED),
    (TooManyChunks, Cause.OURS),  # these are our limits: the page may be all right
    (CompressionBomb, Cause.OURS),
    (NotDecompressed, Cause.OURS),
    (NotConnected, Cause.OURS),
    (RedirectForbidden, Cause.PROTOCOL),  # one bad redirect must not disable a check
    (ConnectFailed, Cause.CONNECT),
    (ConnectionLost, Cause.CONNECT),
    (TlsFailed, Cause.TLS),
    (TimedOut, Cause.TIMEOUT),
)


class RequestOptions(TypedDict, total=False):
    """Options of a request; omitted ones have the fetcher's defaults."""

    method: str
    headers: tuple[tuple[str, str], ...]
    body: bytes | None
    timeout_s: float
    follow: bool


@dataclass(slots=True)
class PageProbe:
    """Requests pages, with a limit for each host."""

    fetcher: Fetcher
    limiter: HostLimiter = field(default_factory=HostLimiter)

    async def request(
        self, url: str, tenant: str, *, decode: bool = True, **options: Unpack[RequestOptions]
    ) -> FetchResult:
        """Return the response to a tenant's check, or why there is none; without `decode` its body is `encoded`."""
        try:
            request = Request(url=url, max_bytes=MAX_BYTES, decompress=decode, **options)
            async with self.limiter.enter(find_host(url), tenant):
                return _describe(await self.fetcher.fetch(request), decode=decode)
        except FetchError as error:
            return describe_failure(error)
        except HostBusy as error:
            return NoResponse(cause=Cause.OURS, message=str(error))


def find_host(url: str) -> str:
    """Return the host of a URL, by which requests are counted, whatever their port; a URL without one is itself."""
    try:
        return (urlsplit(url).hostname or url).removesuffix(".")
    except ValueError:  # the fetcher reports the error
        return url


def _describe(response: Response, *, decode: bool) -> PageResponse:
    certificate = response.certificate
    return PageResponse(
        status=response.status,
        body=response.text if decode else "",
        encoded=response.encoded,
        charset=response.charset,
        headers=dict(response.headers),
        elapsed_ms=response.phases.total_ms,
        phases=describe_phases(response.phases),
        certificate_not_after=to_ms(certificate.not_after) if certificate else None,
        url=response.url,
        cut=response.truncated,
    )


def describe_failure(error: FetchError) -> NoResponse:
    """Return why there is no response."""
    timing = error.phases
    return NoResponse(
        cause=_find_cause(error),
        message=str(error),
        elapsed_ms=timing.total_ms if timing else None,
        phases=describe_phases(timing) if timing else NO_PHASES,
    )


def _find_cause(error: FetchError) -> Cause:
    if isinstance(error, NameUnresolved):
        return Cause.OURS if error.temporary else Cause.NAME
    if isinstance(error, RedirectForbidden) and isinstance(error.__cause__, OwnAddressForbidden):
        return Cause.OURS  # a visitor can follow it; a redirect to a private address nobody can
    return next((cause for error_type, cause in CAUSES if isinstance(error, error_type)), Cause.PROTOCOL)


def describe_phases(timing: Timing) -> PhaseTimes:
    """Return the phases of a fetch."""
    return PhaseTimes(dns=timing.dns_ms, connect=timing.connect_ms, tls=timing.tls_ms, first_byte=timing.first_byte_ms)
