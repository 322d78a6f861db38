"""URLs of pages: their canonical form, whether a crawl may visit them, and traps that never end. No I/O."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from hashrange_systems.aura.model.domain import format_domain, strip_www
from hashrange_systems.shared.fetching.errors import BadUrl
from hashrange_systems.shared.fetching.http_url import DEFAULT_PORTS, Target, parse_url

_parse = lru_cache(maxsize=64)(parse_url)  # the steps below parse the same URL: 0.63 times the time of a large sitemap

MAX_LENGTH = 4096  # of a URL that is worth storing
MAX_DEPTH = 999  # links from the start: a catalogue that only has "next" links is that deep
MAX_SEGMENTS = 16
MAX_REPEATS = 3  # of one path segment: /shop/shop/shop/ is a relative link gone wrong
MAX_PARAMETERS = 4

# Parameters that name a visitor or a campaign, never a page.
TRACKING = re.compile(
    r"utm_.*|mc_[ce]id|gclid|gclsrc|dclid|fbclid|msclkid|yclid|twclid|igshid|referr?er|_ga|_gl|hsa_.*|pk_campaign|pk_kwd"
    r"|phpsessid|jsessionid|aspsessionid.*|sessionid|session_id|sessid|cfid|cftoken|oscsid|xtcsid|zenid",
    re.IGNORECASE,
)
# Names that also mean other things ("sid=55" is a lot of a sale): only a long random value is a session.
SESSION_NAME = re.compile(r"sid|sess|session|token", re.IGNORECASE)
SESSION_VALUE = re.compile(r"(?=.*\d)[0-9a-z_-]{16,}", re.IGNORECASE)
# Parameters that show the same things in another order or number.
ARRANGING = re.compile(r"sort.*|order|order_?(?:by|dir|way)|per_?page|page_?size|filter.*|currency|lang", re.IGNORECASE)
# Names that also name a page ("view=productdetails"): only these values are an arrangement.
ARRANGEMENTS = {
    **dict.fromkeys(("dir", "direction"), re.compile(r"asc|desc|up|down", re.IGNORECASE)),
    **dict.fromkeys(
        ("view", "mode", "layout", "display"),
        re.compile(r"grid|list|gallery|table|tiles?|compact|rows?", re.IGNORECASE),
    ),
    "limit": re.compile(r"\d+|all", re.IGNORECASE),
}
SESSION_IN_PATH = re.compile(r";(jsessionid|phpsessid|sid)=[^/?#]*", re.IGNORECASE)
FILES = re.compile(
    r"\.(?:jpe?g|png|gif|webp|avif|svg|ico|bmp|tiff?|css|js|mjs|json|map|woff2?|ttf|eot|otf|pdf|docx?|xlsx?|pptx?|csv|zip"
    r"|gz|tgz|rar|7z|tar|exe|dmg|apk|iso|mp[34]|m4[av]|avi|mov|mkv|webm|wav|ogg|flac|ics|vcf|rss|atom|xml)$",
    re.IGNORECASE,
)
# What the original's crawler left out, in the languages of shops: baskets, accounts, wish lists, sign-up. They are
# whole segments of a path: "silver-basket-1780" and "national-cash-register" are antiques.
EXCLUDED = re.compile(
    r"(?:(?:shopping|view|my|your|add[-_]?to)[-_]?)?(?:cart|basket)|(?:shopping|my|your)[-_]?bag"
    r"|warenkorb|einkaufswagen|(?:mon-)?panier|carrello|checkout|kasse|(?:customer-|user-|wp-)?log-?in|log-?out|sign-?in|sign-?up|register|registrieren|registrierung"
    r"|(?:my|mein)-?(?:account|konto)|(?:add-?to-?|my-?)?wish-?list|merkzettel|wunschliste|compare"
    r"|(?:lost-?|forgot-?|reset-?)?pass(?:word|wort)(?:-vergessen)?|wp-admin|cgi-bin",
    re.IGNORECASE,
)
SCRIPT = re.compile(r"\.(?:php\d?|html?|aspx?|jsp)$", re.IGNORECASE)
# The segment after one of these is the name of a thing, whatever it is: /products/basket.
THINGS = re.compile(
    r"products?|produkte?|produits?|prodott[oi]|productos?|items?|artikel|objekte?|objets?|oggett[oi]|lots?|los|lote",
    re.IGNORECASE,
)
# Parameters whose value is a path of the shop's program: ?route=checkout/cart, ?view=login.
ROUTES = re.compile(r"route|r|page|action|act|do|cmd|task|view|option|controller|module|mod|dispatch|fc", re.IGNORECASE)
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
        target = _parse(url)
        if strip_www(format_domain(target)) != strip_www(self.domain) or target.port not in self.ports:
            return "another site"
        parts = urlsplit(url)
        path = unquote(parts.path)
        if FILES.search(path):
            return "a file"
        if is_for_visitors(path, parts.query):
            return "a basket, an account or a sign-up"
        if any(part in url for part in self.excludes):
            return "excluded for this shop"
        return find_trap(path, parts.query)


def is_for_visitors(path: str, query: str) -> bool:
    """Return whether a URL is a basket, an account or a sign-up: something that belongs to one visitor."""
    before = ""
    for segment in path.split("/"):
        if EXCLUDED.fullmatch(SCRIPT.sub("", segment)) and not THINGS.fullmatch(before):
            return True
        before = segment
    for name, value in parse_qsl(query, keep_blank_values=True):
        if EXCLUDED.fullmatch(name) or (
            ROUTES.fullmatch(name) and any(EXCLUDED.fullmatch(part) for part in re.split(r"[/._]", value))
        ):
            return True
    return False


def find_trap(path: str, query: str) -> str | None:
    """Return why a URL looks like one of endlessly many; None if it does not."""
    segments = [segment for segment in path.split("/") if segment]
    if len(segments) > MAX_SEGMENTS:
        return "a path that is too deep"
    if segments and max(Counter(segments).values()) > MAX_REPEATS:
        return "a path that repeats itself"
    parameters = parse_qsl(query, keep_blank_values=True)
    if sum(not ROUTES.fullmatch(name) for name, _ in parameters) > MAX_PARAMETERS:
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
        target = _parse(url)
    except BadUrl:
        return None
    from w3lib.url import canonicalize_url  # 7 MB, which a worker leaves to its sandbox

    try:
        return canonicalize_url(_clean(target), keep_fragments=False)
    except ValueError:
        return None


def find_origin(url: str) -> str:
    """Return the scheme, host and port of a URL, as its robots.txt is found."""
    target = _parse(url)
    return f"{target.scheme}://{target.authority}"


def _clean(target: Target) -> str:
    path, _, query = target.path.partition("?")
    kept = [
        (name, value)
        for name, value in parse_qsl(query, keep_blank_values=True)
        if not is_session(name, value) and not is_arrangement(name, value)
    ]
    path = SESSION_IN_PATH.sub("", path)
    text = f"{target.scheme}://{target.authority}{path}"
    return f"{text}?{urlencode(kept)}" if kept else text


def is_session(name: str, value: str) -> bool:
    """Return whether a parameter names a visitor or a campaign."""
    return bool(TRACKING.fullmatch(name) or (SESSION_NAME.fullmatch(name) and SESSION_VALUE.fullmatch(value)))


def is_arrangement(name: str, value: str) -> bool:
    """Return whether a parameter shows the same things in another order or number."""
    values = ARRANGEMENTS.get(name.lower())
    return bool(ARRANGING.fullmatch(name) or (values and values.fullmatch(value)))
