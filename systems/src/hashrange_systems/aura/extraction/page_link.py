"""Reads the links, the canonical address and the instructions for robots of a page."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urldefrag, urljoin, urlsplit

from selectolax.lexbor import LexborHTMLParser

from hashrange_systems.shared.fetching.http_url import MAX_URL_LENGTH

MAX_LINKS = 5000
MAX_BYTES = 400_000  # of all links: the sandbox limits its answer


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLinks:
    """Where a page leads, and what robots may do with it."""

    base: str
    links: tuple[str, ...]
    canonical: str | None
    noindex: bool
    nofollow: bool


def read_links(page: LexborHTMLParser, url: str) -> PageLinks:
    """Return the links of a page, absolute and in its order; those marked nofollow are left out."""
    declared = page.css_first("base[href]")
    base = resolve(url, (declared.attributes.get("href") or "") if declared else "") or url
    found: dict[str, None] = {}
    room = MAX_BYTES
    for node in page.css("a[href], area[href], link[rel=next][href]"):
        attributes = node.attributes
        if "nofollow" in (attributes.get("rel") or "").lower():
            continue
        link = resolve(base, attributes.get("href") or "")
        if link and link not in found:
            found[link] = None
            room -= len(link.encode())
        if len(found) >= MAX_LINKS or room < 0:
            break
    canonical = page.css_first("link[rel~=canonical][href]")
    robots = read_robots(page)
    return PageLinks(
        base=base,
        links=tuple(found),
        canonical=resolve(base, canonical.attributes.get("href") or "") if canonical else None,
        noindex=bool(robots & {"noindex", "none"}),
        nofollow=bool(robots & {"nofollow", "none"}),
    )


def read_robots(page: LexborHTMLParser) -> set[str]:
    """Return the words of the robots meta elements."""
    words: set[str] = set()
    for node in page.css("meta[name]"):
        if (node.attributes.get("name") or "").lower() == "robots":
            words |= {word.strip() for word in (node.attributes.get("content") or "").lower().split(",")}
    return words


def resolve(base: str, address: str) -> str | None:
    """Return an absolute HTTP address without fragment; None for any other, or one with credentials."""
    address = address.strip()
    if not address or len(address) > MAX_URL_LENGTH:
        return None
    try:
        joined = urldefrag(urljoin(base, address)).url
        parts = urlsplit(joined)
        usable = parts.scheme in {"http", "https"} and parts.hostname and parts.username is None
    except ValueError:
        return None
    return joined if usable else None
