"""What the visible page, its address and the shop's own selectors answer."""

from __future__ import annotations

import re

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from hashrange_systems.aura.extraction.auction_text import read_auction, read_product_number
from hashrange_systems.aura.extraction.availability import choose_state, read_mark, read_term
from hashrange_systems.aura.extraction.page_facts import AuctionFacts, ExtractorAnswer, Overrides
from hashrange_systems.aura.extraction.price_text import PriceReading, choose_price, read_price_text
from hashrange_systems.aura.extraction.url_hint import suggest_type
from hashrange_systems.aura.extraction.visible_page import PageShape, read_line
from hashrange_systems.aura.model.page_type import PageType, ProductState

MAX_SELECTOR = 200
MANY_CARDS = 3

ROBOT_WALL = re.compile(
    r"captcha|are you (?:a )?(?:human|robot)|verify (?:that )?you|checking your browser|just a moment"
    r"|access denied"
    r"|attention required|pardon our interruption|security check|sind sie ein mensch"
    r"|zugriff verweigert|unusual traffic",
    re.IGNORECASE,
)
MISSING = re.compile(
    r"(?:page|product|item) (?:was )?not found|(?:seite|artikel|produkt) (?:wurde )?nicht gefunden"
    r"|page (?:non trouvée|introuvable)|pagina non trovata|página no encontrada|pagina niet gevonden",
    re.IGNORECASE,
)

# A part of a title that is nothing but the number: "Lot 404" is a lot.
MISSING_NUMBER = re.compile(
    r"(?:(?:http|error|fehler|erreur|errore|status)\W*){0,2}404(?:\W*(?:error|fehler))?", re.IGNORECASE
)
PARTS = re.compile(r"[|:\u2013\u2014\u00b7»«\n]|\s-\s")


def is_robot_wall(shape: PageShape) -> bool:
    """Return whether the page asks its visitor to prove to be human."""
    return bool(ROBOT_WALL.search(f"{shape.title or ''}\n{shape.heading or ''}"))


def says_missing(shape: PageShape) -> bool:
    """Return whether the page says that it does not exist."""
    text = f"{shape.title or ''}\n{shape.heading or ''}"
    return bool(MISSING.search(text)) or any(MISSING_NUMBER.fullmatch(part.strip(" .!")) for part in PARTS.split(text))


# ── the visible page ─────────────────────────────────────────────────────────────────────────────────────────────────
def answer_from_page(shape: PageShape, language: str | None, region: str) -> ExtractorAnswer:
    """Return what a visitor of the page would say."""
    price = read_visible_price(shape, region)
    auction = read_auction(shape.lines, region)
    state = read_visible_state(shape, price, auction)
    return ExtractorAnswer(
        extractor="page",
        page_type=classify_shape(shape, price, auction, state),
        state=state,
        price=price.money,
        price_note=price.note,
        title=shape.heading or shape.title,
        number=read_product_number(shape.lines) or auction.lot,
        images=tuple(shape.images),
        language=language,
        auction=None if auction.is_empty else auction,
    )


def read_visible_price(shape: PageShape, region: str) -> PriceReading:
    """Return the price shown; several different ones are none."""
    readings = [read_price_text(text, region) for text in shape.prices]
    price = choose_price(reading.money for reading in readings if reading.money)
    notes = [reading.note for reading in readings if reading.note]
    if price.money is None and price.note is None and notes:
        return PriceReading(note=notes[0])
    return PriceReading(price.money, price.note or next(iter(notes), None))


def read_visible_state(shape: PageShape, price: PriceReading, auction: AuctionFacts) -> ProductState | None:
    """Return the state that the page proves."""
    proofs = [read_mark(line) for line in shape.lines]
    if shape.has_cart and (price.money or price.note):
        proofs.append("AVAILABLE")
    if auction.hammer_price is not None:
        proofs.append("SOLD")
    elif auction.price or auction.estimate_low is not None:
        proofs.append("LISTED")
    return choose_state(proofs)


def classify_shape(
    shape: PageShape, price: PriceReading, auction: AuctionFacts, state: ProductState | None
) -> PageType | None:
    """Return the type of page that its shape suggests."""
    shown = price.money or price.note or auction.price or auction.estimate_low is not None
    if shape.heading and shown and (len(shape.prices) <= MANY_CARDS or state):
        return "product"
    return "listing" if shape.cards >= MANY_CARDS else None


def answer_from_url(url: str) -> ExtractorAnswer:
    """Return what the address suggests."""
    return ExtractorAnswer(extractor="url", page_type=suggest_type(url))


# ── the shop's own selectors ─────────────────────────────────────────────────────────────────────────────────────────
def answer_from_overrides(page: LexborHTMLParser, overrides: Overrides, region: str) -> ExtractorAnswer:
    """Return what the shop's own selectors find; a selector that finds nothing is a problem."""
    problems: list[str] = []
    price_text = select_text(page, "price", overrides.price, problems)
    state_text = select_text(page, "state", overrides.state, problems)
    price = read_price_text(price_text, region) if price_text else PriceReading()
    state = (read_mark(state_text) or read_term(state_text)) if state_text else None
    if price_text and not price.money and not price.note:
        problems.append(f"price: there is no price in “{price_text[:80]}”")
    if state_text and state is None:
        problems.append(f"state: “{state_text[:80]}” is not a known state")
    return ExtractorAnswer(
        extractor="override",
        page_type="product" if price.money or state else None,
        state=state,
        price=price.money,
        price_note=price.note,
        title=select_text(page, "title", overrides.title, problems),
        number=select_text(page, "number", overrides.number, problems),
        problems=tuple(problems),
    )


def select_text(page: LexborHTMLParser, name: str, selector: str | None, problems: list[str]) -> str | None:
    """Return the text of the first element that a selector finds, or its content or value attribute."""
    if not selector:
        return None
    refusal = explain_selector(selector)
    if refusal:
        problems.append(f"{name}: the selector {refusal}")
        return None
    node = page.css_first(selector)
    if node is None:
        problems.append(f"{name}: the selector finds nothing")
        return None
    attributes = node.attributes
    return read_line(node) or attributes.get("content") or attributes.get("value")


def explain_selector(selector: str) -> str | None:
    """Return why a CSS selector cannot be used; None if it can."""
    if len(selector) > MAX_SELECTOR:
        return f"must be at most {MAX_SELECTOR} characters"
    try:
        LexborHTMLParser("<p></p>").css_first(selector)
    except (SelectolaxError, ValueError):
        return "is not a CSS selector"
    return None
