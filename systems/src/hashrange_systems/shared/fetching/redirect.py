"""Rules for redirects: the next target and the headers that are sent to it. No I/O."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hashrange_systems.shared.fetching.http_message import Headers, Response
from hashrange_systems.shared.fetching.http_url import Target, join_url
from hashrange_systems.shared.fetching.progress import Redirect

FOLLOWED = frozenset({301, 302, 303, 307, 308})
# The headers that another origin receives. API keys are sent in headers of any name, so this is a list of allowed ones.
HARMLESS = frozenset(
    {"accept", "accept-language", "cache-control", "content-type", "pragma", "range", "referer", "user-agent"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RedirectRequest:
    """The request that is sent to one server."""

    target: Target
    method: str
    headers: Headers
    body: bytes | None


def find_location(response: Response) -> str | None:
    """Return the Location of a redirect; None for other responses."""
    location = response.header("location") if response.status in FOLLOWED else None
    return decode_location(location) if location else None


def redirect(outgoing: RedirectRequest, status: int, location: str) -> RedirectRequest:
    """Return the next request; raise BadUrl."""
    target = join_url(outgoing.target, location)
    following = replace(outgoing, target=target)
    if status == 303 or (status in {301, 302} and outgoing.method == "POST"):
        following = _drop_body(following)
    return following if trusts(outgoing.target, target) else _drop_secrets(following)


def record(outgoing: RedirectRequest, status: int, following: RedirectRequest) -> Redirect:
    """Return the redirect for the list in the response."""
    before, after = outgoing.target, following.target
    downgraded = (before.scheme, after.scheme) == ("https", "http")
    return Redirect(url=before.text, status=status, location=after.text, downgraded=downgraded)


def decode_location(location: str) -> str:
    """Decode a header (one character per byte) as UTF-8, which servers send."""
    try:
        return location.encode("latin-1").decode()
    except UnicodeDecodeError:
        return location


def trusts(before: Target, after: Target) -> bool:
    """Return whether both have one origin, or the same host changes from http to https."""
    upgraded = (before.scheme, before.port, after.scheme, after.port) == ("http", 80, "https", 443)
    return before.origin == after.origin or (upgraded and before.host == after.host)


def _drop_body(outgoing: RedirectRequest) -> RedirectRequest:
    kept = tuple((name, value) for name, value in outgoing.headers if not name.lower().startswith("content-"))
    return replace(outgoing, method="HEAD" if outgoing.method == "HEAD" else "GET", body=None, headers=kept)


def _drop_secrets(outgoing: RedirectRequest) -> RedirectRequest:
    kept = tuple((name, value) for name, value in outgoing.headers if name.lower() in HARMLESS)
    return replace(outgoing, headers=kept)
