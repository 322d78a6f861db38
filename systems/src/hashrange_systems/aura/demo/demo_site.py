"""What a shop of the demo responds to a path: its pages, its robots.txt and sitemaps, and how it misbehaves. No I/O."""

from __future__ import annotations

import gzip
import hashlib
import re
from dataclasses import dataclass, replace
from email.utils import formatdate
from functools import cache
from http import HTTPStatus
from urllib.parse import SplitResult, parse_qs, urlsplit

from hashrange_systems.aura.demo.demo_page import CATEGORIES, render_category, render_home, render_page, render_product
from hashrange_systems.aura.demo.demo_shop import DemoShop, make_product

SITEMAP_SIZE = 40_000  # URLs of one file; 50,000 are allowed
DRIP_S = 0.5
HTML = ("Content-Type", "text/html; charset=utf-8")
XML = ("Content-Type", "application/xml")
DAY_S = 86_400
PRODUCT = re.compile(r"/produkt/.*-(\d{1,7})$")
CALENDAR = re.compile(r"/kalender/(\d{1,9})$")
URLSET = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
INDEX = '<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoResponse:
    """A response, with the ways in which it may misbehave."""

    body: bytes = b""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (HTML,)
    drips: bool = False  # one byte at a time
    breaks: bool = False  # the connection is cut inside the body
    endless: bool = False  # the body is repeated for ever

    def encode_head(self) -> bytes:
        """Return the bytes before the body."""
        length = () if self.endless else (("Content-Length", str(len(self.body))),)
        lines = [f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}"]
        lines += [f"{name}: {value}" for name, value in (*self.headers, *length, ("Connection", "close"))]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoVisit:
    """A request to a shop: the path, how often it was asked before, and what the time is."""

    shop: DemoShop
    origin: str
    path: str
    asked_before: int = 0
    step: int = 0
    if_none_match: str | None = None
    if_modified_since: str | None = None


def respond(visit: DemoVisit) -> DemoResponse:
    """Return the response of a shop."""
    parts = urlsplit(visit.path)
    if parts.path == "/robots.txt":
        return respond_robots(visit)
    if parts.path.startswith("/sitemap"):
        return respond_sitemap(visit, parts.path)
    return respond_misbehaviour(visit, parts) or validate(visit, respond_page(visit, parts))


def respond_page(visit: DemoVisit, parts: SplitResult) -> DemoResponse:
    """Return a page that works."""
    shop, path = visit.shop, parts.path
    product = PRODUCT.fullmatch(path)
    if path == "/":
        return make_page(render_home(shop, visit.step))
    if path.startswith("/kategorie/") and path.rpartition("/")[2] in CATEGORIES:
        pages = parse_qs(parts.query).get("page", ["1"])[0]
        number = int(pages) - 1 if pages.isdecimal() else 0
        return make_page(render_category(shop, path.rpartition("/")[2], max(0, number), visit.step))
    if product and int(product[1]) < shop.products:
        return make_page(render_product(shop, make_product(shop, int(product[1]), visit.step), visit.step))
    if path in {"/impressum", "/login", "/warenkorb/cart"} or path.startswith("/intern"):
        return make_page(render_page(shop, path.strip("/"), f"<h1>{path}</h1><p>Hamburg</p>"))
    return make_page(render_page(shop, "404", "<h1>Seite nicht gefunden</h1>"), status=404)


def make_page(text: str, status: int = 200) -> DemoResponse:
    """Return a page as a response."""
    return DemoResponse(body=text.encode(), status=status)


def validate(visit: DemoVisit, response: DemoResponse) -> DemoResponse:
    """Return the response with validators, or 304 if the client has it already."""
    if response.status != 200:
        return response
    if visit.shop.last_modified:
        changed = formatdate(1_700_000_000 + visit.step * DAY_S, usegmt=True)
        if visit.if_modified_since == changed:
            return DemoResponse(status=304, headers=(("Last-Modified", changed),))
        return replace(response, headers=(*response.headers, ("Last-Modified", changed)))
    tag = f'"{hashlib.sha256(response.body).hexdigest()[:20]}"'
    if visit.if_none_match == tag:
        return DemoResponse(status=304, headers=(("ETag", tag),))
    return replace(response, headers=(*response.headers, ("ETag", tag)))


# ── robots.txt and sitemaps ──────────────────────────────────────────────────────────────────────────────────────────
def respond_robots(visit: DemoVisit) -> DemoResponse:
    """Return the robots.txt of a shop."""
    shop = visit.shop
    if shop.behaviour == "robots-503":
        return DemoResponse(status=503)
    if shop.robots is None:
        return DemoResponse(status=404)
    sitemap = f"Sitemap: {visit.origin}/sitemap.xml\n" if shop.sitemap else ""
    return DemoResponse(body=(shop.robots + sitemap).encode(), headers=(("Content-Type", "text/plain"),))


def respond_sitemap(visit: DemoVisit, path: str) -> DemoResponse:
    """Return a sitemap: plain, or an index of compressed ones."""
    shop, origin = visit.shop, visit.origin
    if not shop.sitemap:
        return DemoResponse(status=404)
    if path == "/sitemap.xml" and shop.sitemap != "plain":
        parts = range(-(-shop.products // SITEMAP_SIZE))
        entries = "".join(f"<sitemap><loc>{origin}/sitemap-{part}.xml.gz</loc></sitemap>" for part in parts)
        return DemoResponse(body=f"{INDEX}{entries}</sitemapindex>".encode(), headers=(XML,))
    number = re.search(r"\d+", path)
    body = render_sitemap(shop, origin, int(number[0]) if number else 0)
    if path.endswith(".gz"):
        return DemoResponse(body=gzip.compress(body, 1, mtime=0), headers=(("Content-Type", "application/gzip"),))
    return DemoResponse(body=body, headers=(XML,))


@cache
def render_sitemap(shop: DemoShop, origin: str, part: int) -> bytes:
    """Return the sitemap of some products."""
    numbers = range(part * SITEMAP_SIZE, min(shop.products, (part + 1) * SITEMAP_SIZE))
    paths = [make_product(shop, number, 0).path for number in numbers]
    first = ["/", *(f"/kategorie/{each}" for each in CATEGORIES)] if part == 0 else []
    return (URLSET + "".join(f"<url><loc>{origin}{path}</loc></url>" for path in first + paths) + "</urlset>").encode()


# ── misbehaviour ──────────────────────────────────────────────────────────────────────────────────────────────────────
def respond_misbehaviour(visit: DemoVisit, parts: SplitResult) -> DemoResponse | None:
    """Return the misbehaviour of a shop, if it has one for this path."""
    product = PRODUCT.fullmatch(parts.path)
    match visit.shop.behaviour:
        case "unavailable-storm" if visit.asked_before % 2 == 0:
            return DemoResponse(status=503, headers=(HTML, ("Retry-After", "0")))
        case "long-urls" | "session-ids" | "sort-trap" | "calendar-trap":
            return respond_trap(visit, parts)
        case "slow-drip" | "gzip-bomb" | "endless" | "reset" | "huge" | "wrong-charset" if product:
            return damage_body(visit.shop, respond_page(visit, parts))
    return respond_damaged_product(visit, parts, int(product[1])) if product else None


def respond_damaged_product(visit: DemoVisit, parts: SplitResult, number: int) -> DemoResponse | None:
    """Return what a shop has instead of a product."""
    shop = visit.shop
    match shop.behaviour:
        case "redirect-loop":
            return redirect(parts.path + "?again=" + ("2" if "again=1" in parts.query else "1"))
        case "private-redirect":
            return redirect(("http://127.0.0.1:1/", "http://169.254.169.254/latest/")[number % 2])
        case "too-many-requests" if not visit.asked_before:
            return DemoResponse(status=429, headers=(HTML, ("Retry-After", "1")))
        case "soft-404" if number >= shop.products // 2:
            return make_page(render_page(shop, "Seite nicht gefunden", "<h1>Seite nicht gefunden</h1>"))
        case "goes-missing" if visit.step and number % 2:
            return DemoResponse(status=404 if visit.step == 1 else 410)
        case "captcha":
            return make_page(render_page(shop, "Sind Sie ein Mensch?", "<h1>Captcha</h1><p>Sold</p>"))
    return None


def redirect(location: str) -> DemoResponse:
    """Return a redirect."""
    return DemoResponse(status=302, headers=(HTML, ("Location", location)))


def damage_body(shop: DemoShop, response: DemoResponse) -> DemoResponse:
    """Return a product page in a body that misbehaves."""
    match shop.behaviour:
        case "slow-drip":
            return replace(response, drips=True)
        case "gzip-bomb":
            return DemoResponse(body=make_bomb(), headers=(HTML, ("Content-Encoding", "gzip")))
        case "endless":
            return replace(response, endless=True)
        case "reset":
            return replace(response, breaks=True)
        case "huge":
            return replace(response, body=response.body + b"<p>x</p>" * (20 << 17))
        case _:
            return replace(response, body=response.body.decode().encode("cp1252", "replace"))


@cache
def make_bomb() -> bytes:
    """Return 64 MiB in some 64 KB."""
    return gzip.compress(bytes(64 << 20), 9)


def respond_trap(visit: DemoVisit, parts: SplitResult) -> DemoResponse | None:
    """Return a page whose links lead to ever more pages, or are needlessly long."""
    shop, path = visit.shop, parts.path
    if shop.behaviour == "calendar-trap":
        day = CALENDAR.fullmatch(path)
        if day or path == "/":
            number = int(day[1]) if day else 0
            link = f'<a href="/kalender/{number + 1}">next day</a>'
            return make_page(render_page(shop, f"Tag {number}", f"<h1>Tag {number}</h1>{link}"))
    if path.startswith("/kategorie/") or path == "/":
        page = respond_page(visit, parts).body.decode()
        extra = {
            "sort-trap": "".join(f'<a href="?sort={parts.query[-20:]}{each}">sort</a>' for each in "ab"),
            "long-urls": f'<a href="/produkt/{"sehr-" * 300}lang-1">long</a>',
        }.get(shop.behaviour, "")
        if shop.behaviour == "session-ids":
            name = hashlib.sha256(f"{path} {visit.asked_before}".encode()).hexdigest()[:26]
            session = f"sid={name}&utm_source=demo"
            page = re.sub(r'href="(/produkt/[^"]+)"', rf'href="\1?{session}"', page)
        return make_page(page.replace("</main>", f"{extra}</main>"))
    return None
