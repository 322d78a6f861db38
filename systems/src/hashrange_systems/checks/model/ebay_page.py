"""Parses offers from eBay's search pages, whose layout varies between requests.

A layout is a set of selectors. A page that matches none, or has no offers without saying so, cannot be evaluated.
Cards inside cards, and more nodes or text than a real page has, are ignored: the work is linear in the size of a page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from selectolax.lexbor import LexborHTMLParser, LexborNode

from hashrange_systems.checks.model.ebay import Found, Offer, SearchResult, Unreadable
from hashrange_systems.checks.model.fetch_result import Cause, FetchResult, NoResponse, PageResponse
from hashrange_systems.shared.money import Money, find_money


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The selectors of one layout; `details` are the lines that contain shipping."""

    name: str
    card: str
    title: str
    price: str
    details: str


LAYOUTS = (
    Layout(
        name="search-evo",
        card=".su-item-card",
        title=".su-item-card__title",
        price=".su-item-card__price",
        details=".su-card-container__attributes__primary > *",
    ),
    Layout(
        name="s-card",
        card="li.s-card",
        title=".s-card__title",
        price=".s-card__price",
        details=".s-card__attribute-row",
    ),
    Layout(
        name="s-item",
        card="li.s-item",
        title=".s-item__title",
        price=".s-item__price",
        details=".s-item__shipping, .s-item__logisticsCost, .s-item__freeXDays",
    ),
    Layout(
        name="browse-river",
        card=".brwrvr__item-card",
        title=".bsig__title__text",
        price=".bsig__price--displayprice",
        details=".bsig__logisticsCost",
    ),
)

MAX_CARDS = 300  # eBay shows 240 on its longest pages
MAX_NODES = 20  # prices or lines of a card
MAX_TEXT = 1000
FEWER_WORDS = "[class*=REWRITE_START]"  # results below match only some of the words
NO_RESULTS = ".srp-save-null-search, .srp-save-null-search__heading"
COUNT = ".srp-controls__count-heading, .srp-controls__count"
PLACEHOLDER_TITLE = "shop on ebay"
PLACEHOLDER_LINK = re.compile(r"/itm/123456(?!\d)")
LINK = "a[href*='/itm/']"
DECORATION = re.compile(r"^(new listing|neues angebot)\s*|\s*opens in a new window or tab$", re.IGNORECASE)
CROSSED_OUT = ".STRIKETHROUGH, .strikethrough, s, del"

SHIPPING = re.compile(
    r"shipping|delivery|postage|versand|lieferung|livraison|spedizione|envío|verzend|dostaw", re.IGNORECASE
)
FREE = re.compile(r"(?<!\w)(free|kostenlos\w*|gratis|gratuit\w*|bezpłatn\w*|darmow\w*)(?!\w)", re.IGNORECASE)
ROBOT_WALLS = re.compile(
    r"pardon our interruption|checking your browser|security measure|access denied|captcha|robot|verify you|human",
    re.IGNORECASE,
)
CAPTCHA = "#captcha_form, #captcha-box, form[action*=captcha], iframe[src*=captcha]"


def read_page(fetched: FetchResult) -> SearchResult:
    """Return the offers of a search page, or why it could not be evaluated."""
    if isinstance(fetched, NoResponse):
        return Unreadable(fetched.cause, fetched.message)
    if fetched.status != 200:
        return Unreadable(Cause.BLOCKED, f"eBay answered {fetched.status}")
    return parse_page(fetched)


def parse_page(response: PageResponse) -> SearchResult:
    """Return the offers of an HTML page."""
    page = LexborHTMLParser(response.body)
    cards = [(layout, card) for layout in LAYOUTS for card in islice(find_cards(page, layout), MAX_CARDS)]
    if says_nothing_found(page):
        return Found(())
    offers = tuple(offer for layout, card in cards if (offer := read_card(layout, card)))
    return Found(offers) if offers else explain_emptiness(page, len(cards))


def find_cards(page: LexborHTMLParser, layout: Layout) -> Iterator[LexborNode]:
    """Yield the result cards that match the whole query, in page order."""
    for node in find_outermost(page.css(f"{layout.card}, {FEWER_WORDS}")):
        if "REWRITE_START" in (node.attributes.get("class") or ""):
            return
        yield node


def find_outermost(nodes: Iterable[LexborNode]) -> Iterator[LexborNode]:
    """Yield the nodes that are not inside another of them; they are given in page order."""
    inside: dict[int, bool] = {}  # whether a node, or what is above it, is one of them
    for node in nodes:
        way: list[int] = []
        above = node.parent
        while above is not None and above.mem_id not in inside:
            way.append(above.mem_id)
            above = above.parent
        nested = above is not None and inside[above.mem_id]
        inside |= dict.fromkeys(way, nested)
        inside[node.mem_id] = True
        if not nested:
            yield node


def says_nothing_found(page: LexborHTMLParser) -> bool:
    """Return whether eBay reports no results; other results on the page do not count."""
    count = page.css_first(COUNT)
    number = re.match(r"\D*([\d.,]+)", read_node(count)) if count else None
    return page.css_first(NO_RESULTS) is not None or (number is not None and number[1] == "0")


def explain_emptiness(page: LexborHTMLParser, cards: int) -> Unreadable:
    """Return why a page without offers could not be evaluated."""
    headings = " ".join(read_node(node) for node in islice(find_outermost(page.css("title, h1")), MAX_NODES))
    if page.css_first(CAPTCHA) or ROBOT_WALLS.search(headings):
        return Unreadable(Cause.BLOCKED, f"eBay shows robots another page: {headings[:80]}")
    if cards:
        return Unreadable(Cause.LAYOUT, f"none of {cards} results has a readable price")
    return Unreadable(Cause.LAYOUT, "no results, and no word that there are none: the layout is unknown")


def read_card(layout: Layout, card: LexborNode) -> Offer | None:
    """Return the offer of a card; None for placeholders and cards without a price."""
    title, link = read_title(card.css_first(layout.title)), card.css_first(LINK)
    url = (link.attributes.get("href") or "") if link else ""
    price = read_price(find_outermost(card.css(layout.price)))
    if not title or title.lower() == PLACEHOLDER_TITLE or PLACEHOLDER_LINK.search(url) or price is None:
        return None
    return Offer(
        title=title,
        price=price,
        shipping=read_shipping(find_outermost(card.css(layout.details)), price.currency),
        url=url,
    )


def read_title(node: LexborNode | None) -> str:
    """Return the title without eBay's additions."""
    return DECORATION.sub("", DECORATION.sub("", read_node(node))) if node else ""


def read_price(nodes: Iterable[LexborNode]) -> Money | None:
    """Return the price; the low end of a range."""
    found = [money for node in islice(nodes, MAX_NODES) for money in find_money(read_standing(node))]
    same = (money for money in found if money.currency == found[0].currency)
    return min(same, key=lambda money: money.minor, default=None)


def read_shipping(nodes: Iterable[LexborNode], currency: str) -> int | None:
    """Return the shipping cost: 0 if free, None if unknown."""
    for text in (read_standing(node) for node in islice(nodes, MAX_NODES)):
        amounts = [money.minor for money in find_money(text) if money.currency == currency]
        if SHIPPING.search(text) and amounts:
            return amounts[0]
        if FREE.search(text) and SHIPPING.search(text):
            return 0
    return None


def read_standing(node: LexborNode) -> str:
    """Return the text of a node without crossed-out prices."""
    copy = LexborHTMLParser(node.html or "")
    for crossed in copy.css(CROSSED_OUT):
        crossed.decompose()
    return read_node(copy.body) if copy.body else ""


def read_node(node: LexborNode) -> str:
    """Return the text of a node on one line, cut."""
    return " ".join(node.text(separator=" ").split())[:MAX_TEXT]
