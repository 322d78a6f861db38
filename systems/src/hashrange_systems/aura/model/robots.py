"""The rules of robots.txt (RFC 9309): what a crawler may request, and how often. No I/O.

These files are untrusted: `read_robots` and `make_rule` are called in the sandbox.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from protego import Protego

MAX_BYTES = 512 * 1024  # what RFC 9309 asks a parser to read at least
MAX_SITEMAPS = 200
ALLOW_ALL = b""
DISALLOW_ALL = b"User-agent: *\nDisallow: /\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsFacts:
    """What a robots.txt says besides its rules: the pause between requests, in seconds, and sitemaps."""

    crawl_delay_s: float | None = None
    sitemaps: tuple[str, ...] = ()


def choose_rules(status: int, body: bytes) -> bytes | None:
    """Return the robots.txt that holds for a response; None if it is unreachable, and nothing may be requested yet.

    A file that does not exist (4xx) allows everything; a server that fails (5xx) or asks to wait (429) allows nothing.
    """
    if 200 <= status < 300:
        return body[:MAX_BYTES]
    if 400 <= status < 500 and status != 429:
        return ALLOW_ALL
    return None


def read_robots(body: bytes, agent: str) -> RobotsFacts:
    """Return the pause and the sitemaps of a robots.txt."""
    rules = _parse(body)
    delay = rules.crawl_delay(agent)
    rate = rules.request_rate(agent)
    asked = [pause for pause in (delay, rate.seconds / rate.requests if rate and rate.requests else None) if pause]
    sitemaps = tuple(dict.fromkeys(rules.sitemaps))[:MAX_SITEMAPS]
    return RobotsFacts(crawl_delay_s=max(asked) if asked else None, sitemaps=sitemaps)


def make_rule(body: bytes, agent: str) -> Callable[[str], bool]:
    """Return a function that says whether a URL may be requested."""
    if not body:
        return lambda url: True
    rules = _parse(body)
    return lambda url: rules.can_fetch(url, agent)


@lru_cache(maxsize=8)
def _parse(body: bytes) -> Protego:
    from protego import Protego

    return Protego.parse(body.decode("utf-8", "replace").removeprefix("\ufeff"))
