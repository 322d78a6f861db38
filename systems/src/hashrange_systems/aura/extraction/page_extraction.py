"""Extracts everything that a page of a shop says: asks each extractor, then decides where they disagree.

Extractors are asked in the order of their precedence: the shop's own selectors, JSON-LD, microdata, RDFa, Open Graph,
the visible page, the address. Where structured data disagree on a price, the one that the page shows wins. A state
needs a proof, and the most cautious of those proven wins: whoever says "sold" is believed before "in stock".
Pure and bounded, but its input is untrusted: run it in the sandbox.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from hashrange_systems.aura.extraction import json_ld
from hashrange_systems.aura.extraction.availability import choose_state
from hashrange_systems.aura.extraction.marked_item import MICRODATA, RDFA, Syntax, read_items
from hashrange_systems.aura.extraction.open_graph import read_meta, read_open_graph
from hashrange_systems.aura.extraction.page_answer import (
    answer_from_overrides,
    answer_from_page,
    answer_from_url,
    is_robot_wall,
    says_missing,
)
from hashrange_systems.aura.extraction.page_facts import (
    AuctionFacts,
    Disagreement,
    ExtractorAnswer,
    Overrides,
    PageFacts,
)
from hashrange_systems.aura.extraction.page_link import PageLinks, read_links, resolve
from hashrange_systems.aura.extraction.page_text import DecodedPage, decode_page
from hashrange_systems.aura.extraction.structured_product import PageContext, read_structured
from hashrange_systems.aura.extraction.url_hint import find_region
from hashrange_systems.aura.extraction.visible_page import read_shape
from hashrange_systems.aura.model.page_type import PageType, ProductState
from hashrange_systems.aura.model.price_format import format_price
from hashrange_systems.shared.money import Money
from hashrange_systems.shared.text import clean

MAX_TITLE, MAX_DESCRIPTION = 2000, 8000  # bytes
STANDARDS = ("json-ld", "microdata", "rdfa", "opengraph")


def extract_page(url: str, body: bytes, content_type: str | None, overrides: Overrides | None = None) -> PageFacts:
    """Return everything that a page says."""
    decoded = decode_page(body, content_type)
    page = LexborHTMLParser(decoded.text)
    links, shape = read_links(page, url), read_shape(page, url)
    language = find_language(page)
    region = find_region(url, language)
    answers, standards = extract_standards(page, PageContext(links.canonical or url, shape.heading, region))
    structured = any(answer.page_type == "product" and answer.price for answer in answers)
    blocked = is_robot_wall(shape) and not structured
    shown = answer_from_page(shape, language, region)
    missing = not blocked and says_missing(shape) and not structured and not shown.price
    answers += [shown, answer_from_url(url)]
    if overrides is not None and overrides != Overrides():
        answers.insert(0, answer_from_overrides(page, overrides, region))
    if blocked or missing:
        return PageFacts(
            url=url,
            state="REMOVED" if missing else "UNKNOWN",
            title=tidy(shape.title, MAX_TITLE),
            blocked=blocked,
            missing=missing,
            language=language,
            answers=tuple(answers),
            **describe(links, decoded, standards),
        )
    return combine(url, answers, links, decoded, standards)


def describe(links: PageLinks, decoded: DecodedPage, standards: Sequence[str]) -> dict[str, Any]:
    """Return the facts that no extractor disputes."""
    return {
        "standards_used": tuple(standards),
        "canonical": links.canonical,
        "links": links.links,
        "noindex": links.noindex,
        "nofollow": links.nofollow,
        "charset": decoded.charset,
        "problems": decoded.problems,
    }


# ── extractors ────────────────────────────────────────────────────────────────────────────────────────────────────────
def extract_standards(page: LexborHTMLParser, context: PageContext) -> tuple[list[ExtractorAnswer], list[str]]:
    """Return the answer of each standard of structured data, and those that the page uses."""
    answers, used = [], []
    for name, extract in (
        ("json-ld", extract_json_ld),
        ("microdata", lambda page, context: extract_marked(page, context, MICRODATA)),
        ("rdfa", lambda page, context: extract_marked(page, context, RDFA)),
        ("opengraph", extract_open_graph),
    ):
        answer, found = extract(page, context)
        answers.append(answer)
        used += [name] if found else []
    return answers, used


def extract_json_ld(page: LexborHTMLParser, context: PageContext) -> tuple[ExtractorAnswer, bool]:
    """Return the answer of the JSON-LD blocks that can be read, and whether there are any."""
    scripts = page.css("script[type]")
    texts = [
        node.text()
        for node in scripts
        if (node.attributes.get("type") or "").partition(";")[0].strip().lower() == "application/ld+json"
    ]
    blocks = [json_ld.parse_block(text) for text in texts[: json_ld.MAX_BLOCKS]]
    problems = [f"block {number} {block.problem}" for number, block in enumerate(blocks, 1) if block.problem]
    values = [block.value for block in blocks if not block.problem]
    return read_structured("json-ld", values, context, problems), bool(values)


def extract_marked(page: LexborHTMLParser, context: PageContext, syntax: Syntax) -> tuple[ExtractorAnswer, bool]:
    """Return the answer of microdata or RDFa, and whether the page has items of it."""
    items = read_items(page.css(syntax.selector), syntax)
    return read_structured(syntax.standard, items, context), any(item.get("@type") for item in items)


def extract_open_graph(page: LexborHTMLParser, context: PageContext) -> tuple[ExtractorAnswer, bool]:
    """Return the answer of Open Graph, and whether the page uses it."""
    meta = read_meta(page)
    return read_open_graph(meta, context.region), bool(meta)


def find_language(page: LexborHTMLParser) -> str | None:
    """Return the language that the page declares."""
    root = page.css_first("html[lang]")
    language = (root.attributes.get("lang") or "") if root else ""
    return language.strip()[:35].lower() or None


# ── deciding ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def combine(
    url: str, answers: Sequence[ExtractorAnswer], links: PageLinks, decoded: DecodedPage, standards: Sequence[str]
) -> PageFacts:
    """Return the facts that the answers amount to, with their disagreements."""
    disagreements: list[Disagreement] = []
    page_type = choose_type(answers)
    common = describe(links, decoded, standards) | {
        "url": url,
        "type": page_type,
        "title": tidy(first(answers, lambda answer: answer.title), MAX_TITLE),
        "language": first(answers[::-1], lambda answer: answer.language),
        "answers": tuple(answers),
    }
    if page_type != "product":
        return PageFacts(**common)
    auction = first(answers, lambda answer: answer.auction) or AuctionFacts()
    price = choose_answer_price(answers, auction, disagreements)
    state = choose_answer_state(answers, disagreements)
    images = first(answers, lambda answer: answer.images) or ()
    return PageFacts(
        **common,
        state=state,
        price_minor=price.minor if price else None,
        currency=price.currency if price else None,
        price_note=first(answers, lambda answer: answer.price_note),
        number=tidy(first(answers, lambda answer: answer.number), MAX_TITLE),
        description=tidy(first(answers, lambda answer: answer.description), MAX_DESCRIPTION),
        images=tuple(dict.fromkeys(filter(None, (resolve(links.base, image) for image in images)))),
        auction=auction,
        disagreements=tuple(disagreements),
    )


def tidy(text: str | None, longest: int) -> str | None:
    """Return a text for pages and feeds, on one line and without control characters; None if nothing is left."""
    return clean(text, longest) or None if text else None


def first(answers: Sequence[ExtractorAnswer], read: Callable[[ExtractorAnswer], Any]) -> Any:
    """Return what the first answer says that says anything."""
    return next((value for value in map(read, answers) if value), None)


def choose_type(answers: Sequence[ExtractorAnswer]) -> PageType:
    """Return the page type; a path alone does not make a product."""
    said = {answer.extractor: answer.page_type for answer in answers if answer.page_type}
    structured = [said[name] for name in ("override", *STANDARDS) if name in said]
    if "product" in structured:
        return "product"
    suggested = said.pop("url", None)
    if structured or said:
        found = (structured or list(said.values()))[0]
        return "category" if found == "listing" and suggested == "category" else found
    return suggested if suggested and suggested != "product" else "other"


def choose_answer_price(
    answers: Sequence[ExtractorAnswer], auction: AuctionFacts, disagreements: list[Disagreement]
) -> Money | None:
    """Return the price: a bid before a list price, the price shown where structured data disagree."""
    priced = [(answer.extractor, answer.price) for answer in answers if answer.price]
    bid = auction.price
    if bid is not None:
        priced.insert(0, ("auction", bid))
    if not priced:
        return None
    chosen = priced[0][1]
    shown = next((price for extractor, price in priced if extractor == "page"), None)
    if priced[0][0] in STANDARDS and shown and any(price == shown for name, price in priced if name in STANDARDS):
        chosen = shown
    if len({price for _, price in priced}) > 1 and bid is None:
        values = tuple((extractor, format_price(price.minor, price.currency)) for extractor, price in priced)
        disagreements.append(Disagreement("price", values, format_price(chosen.minor, chosen.currency)))
    return chosen


def choose_answer_state(answers: Sequence[ExtractorAnswer], disagreements: list[Disagreement]) -> ProductState:
    """Return the state: that of the shop's own selector, else the most cautious that is proven."""
    proven = [(answer.extractor, answer.state) for answer in answers if answer.state]
    if not proven:
        return "UNKNOWN"
    chosen = proven[0][1] if proven[0][0] == "override" else choose_state(state for _, state in proven)
    if len({state for _, state in proven}) > 1:
        disagreements.append(Disagreement("state", tuple(proven), chosen or "UNKNOWN"))
    return chosen or "UNKNOWN"
