"""Reads products, offers and lists of JSON-LD, microdata and RDFa, which have one vocabulary: schema.org."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from hashrange_systems.aura.extraction.availability import choose_state, read_term
from hashrange_systems.aura.extraction.page_facts import ExtractorAnswer
from hashrange_systems.aura.extraction.page_text import MAX_TEXT
from hashrange_systems.aura.extraction.price_text import PriceReading, choose_price, read_amount
from hashrange_systems.aura.model.page_type import PageType, ProductState

Node = Mapping[str, Any]

PRODUCTS = {"product", "individualproduct", "productmodel", "productgroup", "someproducts"}
GOODS = {"book", "visualartwork", "painting", "sculpture", "photograph", "vehicle", "car", "creativework", "thing"}
LISTS: Mapping[str, PageType] = {
    "collectionpage": "category",
    "itemlist": "listing",
    "offercatalog": "listing",
    "searchresultspage": "listing",
}
NUMBERS = ("sku", "productID", "mpn", "identifier", "gtin13", "gtin")
FORMER_PRICES = {"listprice", "strikethroughprice", "srp", "msrp"}
MAX_NODES = 5000
MAX_OFFERS = 200
MAX_IMAGES = 20


@dataclass(frozen=True, slots=True)
class PageContext:
    """What is known about a page before its products are read."""

    url: str
    heading: str | None
    region: str  # language or top-level domain, for the currency


@dataclass(slots=True)
class Vocabulary:
    """The nodes of a page that describe what it is about."""

    products: list[Node]
    list_type: PageType | None = None
    language: str | None = None


def read_structured(
    standard: str, values: Iterable[Any], context: PageContext, problems: Sequence[str] = ()
) -> ExtractorAnswer:
    """Return what the nodes of one standard say about the page."""
    found = gather_nodes(values)
    product = choose_product(found.products, context)
    if product is None:
        several = len(found.products) > 1 and found.list_type is None
        page_type: PageType | None = "listing" if several else found.list_type
        return ExtractorAnswer(
            extractor=standard, page_type=page_type, language=found.language, problems=tuple(problems)
        )
    price, state = read_offers(product, context)
    return ExtractorAnswer(
        extractor=standard,
        page_type="product",
        state=state,
        price=price.money,
        price_note=price.note,
        title=read_text(product, "name"),
        number=next(filter(None, (read_text(product, name) for name in NUMBERS)), None),
        description=read_text(product, "description"),
        images=tuple(read_images(product)),
        language=found.language,
        problems=tuple(problems),
    )


def gather_nodes(values: Iterable[Any]) -> Vocabulary:
    """Return the products and lists at the top of the graph; references by @id are followed."""
    found = Vocabulary([])
    waiting: list[Any] = list(values)[::-1]
    named = index_nodes(waiting)
    for _ in range(MAX_NODES):
        if not waiting:
            break
        node = waiting.pop()
        if isinstance(node, list):
            waiting.extend(node[::-1])
        elif isinstance(node, dict):
            _gather(found, follow(node, named), waiting)
    found.products = [link_offers(product, named) for product in found.products]
    return found


def _gather(found: Vocabulary, node: Node, waiting: list[Any]) -> None:
    types = read_types(node)
    found.language = found.language or read_text(node, "inLanguage")
    if types & PRODUCTS or (types & GOODS and node.get("offers")):
        found.products.append(node)
        return
    for name in LISTS.keys() & types:
        found.list_type = min(found.list_type or "listing", LISTS[name])
    if types & {"offer"} and node.get("itemOffered"):
        offered = next(iter_nodes(node["itemOffered"]), None)
        waiting.extend([{**offered, "offers": node}] if offered else [])
    waiting.extend(node[name] for name in ("mainEntity", "@graph") if name in node)


def index_nodes(values: Iterable[Any]) -> dict[str, Node]:
    """Return the nodes of the graph by their @id."""
    named: dict[str, Node] = {}
    waiting = list(values)
    for _ in range(MAX_NODES):
        if not waiting:
            break
        node = waiting.pop()
        if isinstance(node, list):
            waiting.extend(node)
        elif isinstance(node, dict):
            name = node.get("@id")
            if isinstance(name, str) and len(node) > 1:
                named.setdefault(name, node)
            waiting.extend(value for value in node.values() if isinstance(value, dict | list))
    return named


def follow(node: Node, named: Mapping[str, Node]) -> Node:
    """Return the node that a reference names."""
    name = node.get("@id")
    return named.get(name, node) if len(node) == 1 and isinstance(name, str) else node


def link_offers(product: Node, named: Mapping[str, Node]) -> Node:
    """Return the product with its offers instead of references to them."""
    return {**product, "offers": [follow(offer, named) for offer in iter_nodes(product.get("offers"))]}


def choose_product(products: Sequence[Node], context: PageContext) -> Node | None:
    """Return the product that the page is about; None if it shows several."""
    if len(products) == 1:
        return products[0]
    for product in products:
        addresses = [read_text(product, name) for name in ("url", "@id", "mainEntityOfPage")]
        if any(address and is_same_page(address, context.url) for address in addresses):
            return product
    if context.heading is None:
        return None
    named = [product for product in products if read_text(product, "name") == context.heading]
    return named[0] if named else None


def is_same_page(address: str, url: str) -> bool:
    """Return whether an address, absolute or not, is that of the page."""
    try:
        one, other = urlsplit(address), urlsplit(url)
    except ValueError:
        return False
    path = one.path.rstrip("/")
    return bool(path) and path == other.path.rstrip("/") and one.query in {"", other.query}


# ── offers ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def read_offers(product: Node, context: PageContext) -> tuple[PriceReading, ProductState | None]:
    """Return the price and the state of a product; several different prices are none."""
    offers = list(iter_offers(product.get("offers")))[:MAX_OFFERS]
    readings = [read_offer_price(offer, context.region) for offer in offers]
    price = choose_price(reading.money for reading in readings if reading.money)
    if price.money is None and price.note is None:
        price = next((reading for reading in readings if reading.note), price)
    states = [read_offer_state(offer) for offer in offers]
    if "AVAILABLE" in states:  # of several offers, one that is in stock is a proof
        return price, "AVAILABLE"
    return price, choose_state(states)


def iter_offers(value: Any) -> Iterator[Node]:
    """Yield the offers; an aggregate without offers of its own is one."""
    for offer in iter_nodes(value):
        parts = list(iter_nodes(offer.get("offers")))
        yield from parts or [offer]


def read_offer_price(offer: Node, region: str) -> PriceReading:
    """Return the price of an offer, or of its price specification."""
    currency = read_text(offer, "priceCurrency")
    low, high = read_text(offer, "lowPrice"), read_text(offer, "highPrice")
    if low and high and low != high:
        return PriceReading(note=f"from {low} to {high} {currency or ''}".strip())
    amount = read_text(offer, "price") or low or high
    if amount:
        return read_amount(amount, currency, region)
    for specification in iter_nodes(offer.get("priceSpecification")):
        kind = (read_text(specification, "priceType") or "").rpartition("/")[2].lower()
        amount = read_text(specification, "price")
        if amount and kind not in FORMER_PRICES:
            return read_amount(amount, read_text(specification, "priceCurrency") or currency, region)
    return PriceReading()


def read_offer_state(offer: Node) -> ProductState | None:
    """Return the state that an offer proves."""
    term = read_text(offer, "availability")
    return read_term(term) if term else None


# ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def read_types(node: Node) -> set[str]:
    """Return the types of a node, without their vocabulary, in small letters."""
    given = node.get("@type")
    names = given if isinstance(given, list) else [given]
    return {name.rpartition("/")[2].rpartition(":")[2].lower() for name in names if isinstance(name, str)}


def iter_nodes(value: Any) -> Iterator[Node]:
    """Yield a node, or those of a list."""
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, dict):
            yield each


def iter_texts(value: Any) -> Iterator[str]:
    """Yield a text, or those of a list; of a node its name, value or address."""
    for each in value if isinstance(value, list) else [value]:
        found = read_inner(each) if isinstance(each, dict) else each
        if isinstance(found, str):
            text = " ".join(found[:MAX_TEXT].split())
            if text:
                yield text


def read_inner(node: Node, names: Sequence[str] = ("@value", "name", "value", "url", "contentUrl", "@id")) -> Any:
    """Return the property of a node that represents it."""
    inner = next((node[name] for name in names if name in node), None)
    return inner[0] if isinstance(inner, list) and inner else inner


def read_text(node: Node, name: str) -> str | None:
    """Return the first text of a property."""
    return next(iter_texts(node.get(name)), None)


def read_images(product: Node) -> list[str]:
    """Return the addresses of the images."""
    given = product.get("image")
    values = given if isinstance(given, list) else [given]
    addresses = [read_inner(each, ("url", "contentUrl", "@id")) if isinstance(each, dict) else each for each in values]
    return list(dict.fromkeys(iter_texts(addresses)))[:MAX_IMAGES]
