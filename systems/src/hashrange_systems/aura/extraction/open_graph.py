"""Reads Open Graph: og:* and product:* of the meta elements."""

from __future__ import annotations

from collections.abc import Mapping

from selectolax.lexbor import LexborHTMLParser

from hashrange_systems.aura.extraction.availability import read_term
from hashrange_systems.aura.extraction.page_facts import ExtractorAnswer
from hashrange_systems.aura.extraction.page_text import MAX_TEXT
from hashrange_systems.aura.extraction.price_text import PriceReading, read_amount
from hashrange_systems.aura.model.page_type import PageType

TYPES: Mapping[str, PageType] = {
    **dict.fromkeys(("product", "og:product", "product.item"), "product"),
    **dict.fromkeys(("product.group", "og:product.group"), "category"),
}
MAX_IMAGES = 20


def read_meta(page: LexborHTMLParser) -> dict[str, list[str]]:
    """Return the contents of the meta elements of Open Graph by their property."""
    found: dict[str, list[str]] = {}
    for node in page.css("meta[property][content], meta[name][content]")[:500]:
        attributes = node.attributes
        name = (attributes.get("property") or attributes.get("name") or "").strip().lower()
        content = " ".join((attributes.get("content") or "")[:MAX_TEXT].split())
        if name.startswith(("og:", "product:")) and content:
            found.setdefault(name, []).append(content)
    return found


def read_open_graph(meta: Mapping[str, list[str]], region: str) -> ExtractorAnswer:
    """Return what Open Graph says about the page."""

    def first(*names: str) -> str | None:
        return next((meta[name][0] for name in names if name in meta), None)

    amount = first("product:price:amount", "og:price:amount", "product:sale_price:amount")
    currency = first("product:price:currency", "og:price:currency", "product:sale_price:currency")
    price = read_amount(amount, currency, region) if amount else PriceReading()
    state = first("product:availability", "og:availability")
    page_type = TYPES.get((first("og:type") or "").lower())
    if page_type is None and amount:
        page_type = "product"
    return ExtractorAnswer(
        extractor="opengraph",
        page_type=page_type,
        state=read_term(state) if state else None,
        price=price.money,
        price_note=price.note,
        title=first("og:title"),
        number=first("product:retailer_item_id", "product:retailer_part_no"),
        description=first("og:description"),
        images=tuple(dict.fromkeys(meta.get("og:image", [])))[:MAX_IMAGES],
        language=(first("og:locale") or "").partition("_")[0] or None,
    )
