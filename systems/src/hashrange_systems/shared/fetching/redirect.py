"""Where a redirect leads and what is sent along: pure rules, no I/O."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hashrange_systems.shared.fetching.message import Headers, Redirect, Response
from hashrange_systems.shared.fetching.url import Target, join_url

FOLLOWED = frozenset({301, 302, 303, 307, 308})
# All that another origin gets to see. Keys of APIs travel in headers of any name, so the list says what may go on.
HARMLESS = frozenset(
    {"accept", "accept-language", "cache-control", "content-type", "pragma", "range", "referer", "user-agent"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """What is sent to one server."""

    target: Target
    method: str
    headers: Headers
    body: bytes | None


def find_location(response: Response) -> str | None:
    """Return where the response sends us, or None if it is no redirect."""
    location = response.header("location") if response.status in FOLLOWED else None
    return decode_location(location) if location else None


def redirect(outgoing: Outgoing, status: int, location: str) -> Outgoing:
    """Return what is to be sent next, or raise BadUrl."""
    target = join_url(outgoing.target, location)
    following = replace(outgoing, target=target)
    if status == 303 or (status in {301, 302} and outgoing.method == "POST"):
        following = _drop_body(following)
    return following if trusts(outgoing.target, target) else _drop_secrets(following)


def record(outgoing: Outgoing, status: int, following: Outgoing) -> Redirect:
    """Return the step as the response will tell it."""
    before, after = outgoing.target, following.target
    downgraded = (before.scheme, after.scheme) == ("https", "http")
    return Redirect(url=before.text, status=status, location=after.text, downgraded=downgraded)


def decode_location(location: str) -> str:
    """Read a header (one character per byte) as the UTF-8 that servers put there."""
    try:
        return location.encode("latin-1").decode()
    except UnicodeDecodeError:
        return location


def trusts(before: Target, after: Target) -> bool:
    """Whether both are one origin, or the same host that moves from http to https."""
    upgraded = (before.scheme, before.port, after.scheme, after.port) == ("http", 80, "https", 443)
    return before.origin == after.origin or (upgraded and before.host == after.host)


def _drop_body(outgoing: Outgoing) -> Outgoing:
    kept = tuple((name, value) for name, value in outgoing.headers if not name.lower().startswith("content-"))
    return replace(outgoing, method="HEAD" if outgoing.method == "HEAD" else "GET", body=None, headers=kept)


def _drop_secrets(outgoing: Outgoing) -> Outgoing:
    kept = tuple((name, value) for name, value in outgoing.headers if name.lower() in HARMLESS)
    return replace(outgoing, headers=kept)
