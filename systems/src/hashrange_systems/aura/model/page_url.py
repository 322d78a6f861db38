"""URLs of pages: their canonical form, whether a crawl may visit them, and traps that never end. No I/O."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from hashrange_systems.aura.model.domain import format_domain, strip_www
from hashrange_systems.shared.fetching.errors import BadUrl
from hashrange_systems.shared.fetching.http_url import DEFAULT_PORTS, Target, parse_url

MAX_LENGTH = 4096  # of a URL that is worth storing
MAX_DEPTH = 20  # links from the start
MAX_SEGMENTS = 16
MAX_REPEATS = 3  # of one path segment: /shop/shop/shop/ is a relative link gone wrong
MAX_PARAMETERS = 4

# Parameters that name a visitor or a campaign, never a page.
TRACKING = re.compile(
    r"utm_.*|mc_[ce]id|gclid|gclsrc|dclid|fbclid|msclkid|yclid|twclid|igshid|ref|referrer|source|_ga|_gl|hsa_.*|pk_.*"
    r"|phpsessid|jsessionid|sessionid|session_id|sid|sess|cfid|cftoken|osCsid|zenid|PHPSESSID|token",
    re.IGNORECASE,
)
# Parameters that show the same things in another order or number.
ARRANGING = re.compile(
    r"sort.*|order.*|dir|direction|limit|per_?page|page_?size|view|mode|layout|display|filter.*|currency|lang",
    re.IGNORECASE,
)
SESSION_IN_PATH = re.compile(r";(jsessionid|phpsessid|sid)=[^/?#]*", re.IGNORECASE)
FILES = re.compile(
    r"\.(?:jpe?g|png|gif|webp|avif|svg|ico|bmp|tiff?|css|js|mjs|json|map|woff2?|ttf|eot|otf|pdf|docx?|xlsx?|pptx?|csv|zip"
    r"|gz|tgz|rar|7z|tar|exe|dmg|apk|iso|mp[34]|m4[av]|avi|mov|mkv|webm|wav|ogg|flac|ics|vcf|rss|atom|xml)$",
    re.IGNORECASE,
)
# What the original's crawler left out, in the languages of shops: baskets, accounts, wish lists, sign-up.
EXCLUDED = re.compile(
    r"(?:^|[/_.-])(?:add-?to-?)?(?:cart|basket|warenkorb|panier|carrello|checkout|kasse|log-?in|log-?out|sign-?in|sign-?up"
    r"|register|registrieren|my-?account|mein-?konto|wish-?list|merkzettel|wunschliste|compare|password|passwort"
    r"|wp-admin|wp-login|cgi-bin)(?:$|[/_.?=&-])",
    re.IGNORECASE,
)
CALENDAR = re.compile(r"(?:^|/)(?:19|20)\d\d[/-](?:0?[1-9]|1[0-2])(?:[/-](?:0?[1-9]|[12]\d|3[01]))?(?:/|$)")
CALENDAR_PARAMETER = re.compile(r"year|month|day|date|jahr|monat|tag|week|cal.*", re.IGNORECASE)
WEB_PORTS = frozenset(DEFAULT_PORTS.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The pages that belong to a shop: those of its domain with or without `www.`, on its port, and not excluded."""

    domain: str
    ports: frozenset[int] = WEB_PORTS
    excludes: Sequence[str] = ()

    def refuse(self, url: str) -> str | None:
        """Return why a canonical URL is not visited; None if it is."""
        target = parse_url(url)
        if strip_www(format_domain(target)) != self.domain or target.port not in self.ports:
            return "another site"
        parts = urlsplit(url)
        path = unquote(parts.path)
        if FILES.search(path):
            return "a file"
        if EXCLUDED.search(path) or EXCLUDED.search(f"/{parts.query}"):
            return "a basket, an account or a sign-up"
        if any(part in url for part in self.excludes):
            return "excluded for this shop"
        return find_trap(path, parts.query)


def find_trap(path: str, query: str) -> str | None:
    """Return why a URL looks like one of endlessly many; None if it does not."""
    segments = [segment for segment in path.split("/") if segment]
    if len(segments) > MAX_SEGMENTS:
        return "a path that is too deep"
    if segments and max(Counter(segments).values()) > MAX_REPEATS:
        return "a path that repeats itself"
    parameters = parse_qsl(query, keep_blank_values=True)
    if len(parameters) > MAX_PARAMETERS:
        return "too many parameters"
    if _is_calendar(path, parameters):
        return "a calendar"
    return None


def _is_calendar(path: str, parameters: Sequence[tuple[str, str]]) -> bool:
    named = "calend" in path.lower() or "kalender" in path.lower() or "/events" in path.lower()
    return named and (bool(CALENDAR.search(path)) or any(CALENDAR_PARAMETER.fullmatch(name) for name, _ in parameters))


def canonicalise(url: str) -> str | None:
    """Return the one form of a URL under which a page is stored; None if it is no page of the web.

    Without fragment, default port, tracking, session and arranging parameters; parameters sorted; the host as A-label.
    """
    if len(url) > MAX_LENGTH or not url.lower().startswith(("http://", "https://")):
        return None
    try:
        target = parse_url(url)
    except BadUrl:
        return None
    from w3lib.url import canonicalize_url  # 7 MB, which a worker leaves to its sandbox

    try:
        return canonicalize_url(_clean(target), keep_fragments=False)
    except ValueError:
        return None


def _clean(target: Target) -> str:
    path, _, query = target.path.partition("?")
    kept = [
        (name, value)
        for name, value in parse_qsl(query, keep_blank_values=True)
        if not TRACKING.fullmatch(name) and not ARRANGING.fullmatch(name)
    ]
    path = SESSION_IN_PATH.sub("", path)
    text = f"{target.scheme}://{target.authority}{path}"
    return f"{text}?{urlencode(kept)}" if kept else text
