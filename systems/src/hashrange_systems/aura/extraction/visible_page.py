"""What a visitor sees: headings, lines of text, prices, buttons and cards, gathered in one walk over the page.

Navigation, related products and former prices are not part of it: a card that leads to another page, and does not have
the heading, is about another product, and so is "sold" in it. The walk does not recurse, and is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urljoin, urlsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode

from hashrange_systems.aura.extraction.availability import CART

MAX_NODES = 60_000
MAX_LINES = 5000
MAX_LINE = 400
MAX_PRICES = 200

SKIPPED = frozenset(
    [
        "script",
        "style",
        "template",
        "noscript",
        "nav",
        "footer",
        "aside",
        "svg",
        "iframe",
        "select",
        "option",
        "textarea",
        "head",
        "del",
        "s",
        "strike",
    ]
)
INLINE = frozenset(
    [
        "a",
        "abbr",
        "b",
        "bdi",
        "big",
        "cite",
        "code",
        "em",
        "font",
        "i",
        "ins",
        "label",
        "mark",
        "meta",
        "small",
        "span",
        "strong",
        "sub",
        "sup",
        "time",
        "u",
        "wbr",
    ]
)
ASIDE = re.compile(
    r"(?:^|[\s_-])(?:related|similar|upsells?|cross-?sells?|recommend\w*|also-(?:like|bought)|cookies?|newsletter"
    r"|breadcrumbs?|mini-?cart|sidebar|menu|recently-viewed|aehnliche)(?:$|[\s_-])",
    re.IGNORECASE,
)
CARD = re.compile(
    r"(?:^|[\s_-])(?:(?:product|item|lot|artikel|produkt)[_-]?(?:card|item|teaser|tile|box)|card|teaser|tile|grid-item|list-item)s?(?:$|[\s_-])",
    re.IGNORECASE,
)
PRICE = re.compile(
    r"(?:^|[\s_-])(?:\w*price|preis|prix|prezzo|precio|prijs|pris|cena|amount)(?:$|[\s_-])", re.IGNORECASE
)
FORMER = re.compile(
    r"(?:^|[\s_-])(?:old|was|regular|former|strike\w*|before|statt|uvp|rrp|shipping|versand\w*|tax|unit|grundpreis|line-through)(?:$|[\s_-])",
    re.IGNORECASE,
)
CARD_TAGS = frozenset(("li", "article"))
# Links beside a product that do not lead to another one.
SERVICE = re.compile(
    r"kontakt|contact|anfrage|enquir|inquir|impressum|imprint|versand|shipping|delivery|faq|agb|terms|datenschutz|privacy"
    r"|\.(?:jpe?g|png|gif|webp|avif|pdf)$",
    re.IGNORECASE,
)


@dataclass(slots=True)
class PageShape:
    """The visible parts of a page."""

    title: str | None = None
    heading: str | None = None
    lines: list[str] = field(default_factory=list)  # without links
    prices: list[str] = field(default_factory=list)  # texts of price elements, outside of cards
    cards: int = 0  # products shown in a list
    has_cart: bool = False
    images: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Card:
    root: int
    first_line: int
    leads_away: bool = False
    has_heading: bool = False


@dataclass(slots=True)
class _Walk:
    shape: PageShape
    url: str
    text: list[str] = field(default_factory=list)  # of the line being read
    price: list[str] | None = None  # of the price element being read
    price_root: int = 0
    cards: list[_Card] = field(default_factory=list)  # open elements that are cards
    links: int = 0


def read_shape(page: LexborHTMLParser, url: str = "") -> PageShape:
    """Return the visible parts of a page; links to its own URL do not lead away."""
    shape = PageShape()
    title = page.css_first("title")
    shape.title = read_line(title) if title else None
    heading = page.css_first("h1")
    shape.heading = read_line(heading) if heading else None
    if page.body is None:
        return shape
    walk = _Walk(shape, url)
    for node, entering in iterate(page.body):
        if entering is None:
            _add_text(walk, node)
        elif entering:
            _enter(walk, node)
        else:
            _leave(walk, node)
    _end_line(walk)
    return shape


def iterate(root: LexborNode) -> Iterator[tuple[LexborNode, bool | None]]:
    """Yield elements when they begin (True) and end (False), and texts (None), without recursion."""
    node: LexborNode | None = root
    open_elements: list[LexborNode] = []
    for _ in range(MAX_NODES):
        while node is None:
            if not open_elements:
                return
            last = open_elements.pop()
            yield last, False
            node = last.next if open_elements else None
        if node.is_element_node and not is_skipped(node):
            yield node, True
            open_elements.append(node)
            node = node.first_child
            continue
        if node.is_text_node:
            yield node, None
        node = node.next


def is_skipped(node: LexborNode) -> bool:
    """Return whether an element is not about the product of the page."""
    if node.tag in SKIPPED:
        return True
    attributes = node.attributes
    if not attributes:
        return False
    if "hidden" in attributes or attributes.get("aria-hidden") == "true":
        return True
    names = name_element(node)
    if not names or len(names) > 500:
        return False
    return bool(ASIDE.search(names)) or (bool(FORMER.search(names)) and bool(PRICE.search(names)))


def name_element(node: LexborNode) -> str:
    """Return the classes and the id of an element."""
    attributes = node.attributes
    return f"{attributes.get('class') or ''} {attributes.get('id') or ''}".strip()


def _enter(walk: _Walk, node: LexborNode) -> None:
    tag = node.tag or ""
    if tag not in INLINE:
        _end_line(walk)
    if tag == "a":
        walk.links += 1
        if walk.cards and not walk.cards[-1].leads_away:
            walk.cards[-1].leads_away = leads_away(node.attributes.get("href") or "", walk.url)
    elif tag == "h1":
        for card in walk.cards:
            card.has_heading = True
    names = name_element(node)[:500]
    if tag in CARD_TAGS or (names and CARD.search(names)):
        _end_line(walk)
        walk.cards.append(_Card(node.mem_id, len(walk.shape.lines)))
    if walk.price is None and names and PRICE.search(names):
        walk.price, walk.price_root = [], node.mem_id
    if tag in {"button", "input", "a"}:
        _look_at_button(walk, node, tag)
    elif tag == "img" and not walk.cards and len(walk.shape.images) < 20:
        walk.shape.images.extend(filter(None, [node.attributes.get("src")]))


def _look_at_button(walk: _Walk, node: LexborNode, tag: str) -> None:
    attributes = node.attributes
    if walk.cards or "disabled" in attributes or attributes.get("aria-disabled") == "true":
        return
    if tag == "input":
        text = (attributes.get("value") or "") if attributes.get("type") in {"submit", "button"} else ""
    else:
        text = read_line(node) or "" if tag == "button" or "cart" in name_element(node) else ""
    if text and len(text) <= 60 and CART.search(text):
        walk.shape.has_cart = True


def _leave(walk: _Walk, node: LexborNode) -> None:
    tag = node.tag or ""
    if tag == "a":
        walk.links = max(0, walk.links - 1)
    if walk.price is not None and node.mem_id == walk.price_root:
        _end_price(walk)
    if walk.cards and walk.cards[-1].root == node.mem_id:
        card = walk.cards.pop()
        _end_line(walk)
        if card.leads_away and not card.has_heading:
            del walk.shape.lines[card.first_line :]
    if tag not in INLINE:
        _end_line(walk)


def _end_price(walk: _Walk) -> None:
    text = " ".join(" ".join(walk.price or ()).split())[:MAX_LINE]
    walk.price = None
    if not text:
        return
    if walk.cards or walk.links:
        walk.shape.cards += 1
    elif len(walk.shape.prices) < MAX_PRICES:
        walk.shape.prices.append(text)


def _add_text(walk: _Walk, node: LexborNode) -> None:
    text = node.text_content or ""
    if walk.price is not None:
        walk.price.append(text[:MAX_LINE])
    if not walk.links:
        walk.text.append(text[: MAX_LINE * 4])


def _end_line(walk: _Walk) -> None:
    if walk.text:
        line = " ".join("".join(walk.text).split())[:MAX_LINE]
        walk.text.clear()
        if line and len(walk.shape.lines) < MAX_LINES:
            walk.shape.lines.append(line)


def leads_away(href: str, url: str) -> bool:
    """Return whether a link leads to another page that may be a product's."""
    href = href.strip()
    if not href or href.startswith("#") or SERVICE.search(href):
        return False
    try:
        there, here = urlsplit(urljoin(url, href)), urlsplit(url)
    except ValueError:
        return False
    return there.scheme in {"http", "https", ""} and (there.path, there.query) != (here.path, here.query)


def read_line(node: LexborNode) -> str | None:
    """Return the text of an element on one line; None if it has none."""
    return " ".join(node.text(separator=" ")[: MAX_LINE * 4].split())[:MAX_LINE] or None
