"""Reads untrusted input, in the sandbox: a page with the links that the crawl may follow, a sitemap with its URLs.

Links are made canonical and filtered here too, so that one call does everything that a hostile page could slow down.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from hashrange_systems.aura.extraction.page_extraction import extract_page
from hashrange_systems.aura.extraction.page_facts import Overrides, PageFacts
from hashrange_systems.aura.model.page_url import Scope, canonicalise, find_origin
from hashrange_systems.aura.model.robots import make_rule
from hashrange_systems.aura.model.sitemap import Sitemap, read_sitemap

MAX_LINKS = 5000
REMEMBERED = 20_000  # URLs of one shop in each process


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkFilter:
    """Which URLs of a shop are visited: its scope, the robots.txt of each origin, and our user agent.

    An origin is a scheme, host and port (RFC 9309): `www.` has a robots.txt of its own. Links to an origin whose file
    was not read yet pass; `Site` reads it and asks again before it requests them.
    """

    domain: str
    ports: tuple[int, ...]
    excludes: tuple[str, ...]
    robots: tuple[tuple[str, bytes], ...]  # origin and file
    agent: str


def read_page(
    url: str, body: bytes, content_type: str | None, overrides: Overrides | None, links: LinkFilter
) -> PageFacts:
    """Return the facts of a page; its links are canonical, in scope and allowed."""
    facts = extract_page(url, body, content_type, overrides)
    return replace(facts, links=tuple(select_links(list(facts.links[:MAX_LINKS]), links)))


def read_locations(body: bytes, links: LinkFilter) -> Sitemap:
    """Return a sitemap; the locations of pages are canonical, in scope and allowed."""
    sitemap = read_sitemap(body)
    if sitemap.kind == "index":
        return sitemap
    return replace(sitemap, locations=tuple(select_links(list(sitemap.locations), links)))


def select_links(urls: list[str], links: LinkFilter) -> list[str]:
    """Return the canonical URLs that the crawl may visit, each once, in their order."""
    return list(dict.fromkeys(filter(None, find_canonical(urls, links))))


def find_canonical(urls: list[str], links: LinkFilter) -> list[str | None]:
    """Return the canonical form of each URL; None for those that may not be visited."""
    return list(map(_make_decision(links), urls))


def is_allowed(url: str, robots: bytes, agent: str) -> bool:
    """Return whether a robots.txt allows a URL."""
    return make_rule(robots, agent)(url)


@lru_cache(maxsize=4)
def _make_decision(links: LinkFilter) -> Callable[[str], str | None]:
    """Return a function that makes a URL canonical, or returns None; pages repeat their navigation, so it remembers."""
    scope = Scope(domain=links.domain, ports=frozenset(links.ports), excludes=links.excludes)
    rules = {origin: make_rule(body, links.agent) for origin, body in links.robots}

    def allows(url: str) -> bool:
        rule = rules.get(find_origin(url))
        return rule is None or rule(url)

    @lru_cache(maxsize=REMEMBERED)
    def decide(url: str) -> str | None:
        canonical = canonicalise(url)
        if canonical is None or scope.refuse(canonical) is not None or not allows(canonical):
            return None
        return canonical if url == canonical or allows(url) else None

    return decide
