"""The pages of the demo's shops as HTML: start page, categories, products in each markup. No I/O."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from hashrange_systems.aura.demo.demo_shop import (
    CART,
    RESERVED,
    SOLD,
    DemoProduct,
    DemoShop,
    format_price,
    make_product,
)

ON_A_PAGE = 24
CATEGORIES = ("moebel", "uhren", "kunst")
TERMS = {"AVAILABLE": "InStock", "SOLD": "SoldOut", "RESERVED": "Reserved"}


def render_page(shop: DemoShop, title: str, content: str, head: str = "") -> str:
    """Return a page of a shop."""
    menu = "".join(f'<a href="/kategorie/{each}">{each}</a> ' for each in CATEGORIES)
    return (
        f'<!doctype html><html lang="{shop.language}"><head><meta charset="utf-8"><title>{escape(title)} | '
        f'{escape(shop.name)}</title>{head}</head><body><nav><a href="/">{escape(shop.name)}</a> {menu}'
        f'<a href="/warenkorb/cart">Cart</a> <a href="/login">Login</a> <a href="/intern/preise">Intern</a>'
        f'<a href="/impressum">Impressum</a></nav><main>{content}</main></body></html>'
    )


def render_home(shop: DemoShop, step: int) -> str:
    """Return the start page, with some products."""
    cards = "".join(render_card(shop, make_product(shop, number, step)) for number in range(min(3, shop.products)))
    return render_page(shop, shop.name, f"<h1>{escape(shop.name)}</h1><ul>{cards}</ul>")


def render_category(shop: DemoShop, name: str, number: int, step: int) -> str:
    """Return a page of a category, with the products of one page and a link to the next."""
    position = CATEGORIES.index(name)
    mine = range(position, shop.products, len(CATEGORIES))
    shown = mine[number * ON_A_PAGE : (number + 1) * ON_A_PAGE]
    cards = "".join(render_card(shop, make_product(shop, each, step)) for each in shown)
    more = len(mine) > (number + 1) * ON_A_PAGE
    following = f'<a rel="next" href="/kategorie/{name}?page={number + 2}">next</a>' if more else ""
    return render_page(shop, name, f'<h1>{name}</h1><ul class="products">{cards}</ul>{following}')


def render_card(shop: DemoShop, product: DemoProduct) -> str:
    """Return a product in a list."""
    price = escape(format_price(shop, product.minor))
    return f'<li><a href="{product.path}">{escape(product.title)} <span class="price">{price}</span></a></li>'


# ── products ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def render_product(shop: DemoShop, product: DemoProduct, step: int) -> str:
    """Return the page of a product in the markup of its shop."""
    if shop.markup == "auction":
        return render_lot(shop, product, step)
    head = render_open_graph(shop, product) if shop.markup == "opengraph" else ""
    if shop.markup.startswith("json-ld") or shop.markup == "contradiction":
        head = render_json_ld(shop, product)
    content = render_marked(shop, product)
    related = make_product(shop, (product.number + 1) % shop.products, step)
    aside = f'<div class="related-products"><ul>{render_card(shop, related)}</ul></div>'
    return render_page(shop, product.title, content + aside, head)


def render_visible(shop: DemoShop, product: DemoProduct) -> str:
    """Return what a visitor sees below the heading."""
    price = f'<p class="price">{escape(format_price(shop, product.minor))}</p>'
    marks = {"SOLD": SOLD, "RESERVED": RESERVED}.get(product.state)
    button = f"<form><button>{CART.get(shop.language, CART['en'])}</button></form>"
    mark = f"<p>{marks.get(shop.language, marks['en'])}</p>" if marks else button
    return f"{price}{mark}<p>Art.-Nr.: {shop.country}-{product.number}</p><p>Provenienz: Privatsammlung.</p>"


def render_marked(shop: DemoShop, product: DemoProduct) -> str:
    """Return the content of a product page, marked with microdata or RDFa if the shop uses it."""
    title, visible = escape(product.title), render_visible(shop, product)
    amount = "" if product.minor is None else f"{product.minor / 100:.2f}"
    term = f"https://schema.org/{TERMS[product.state]}"
    if shop.markup in {"microdata", "contradiction"}:
        if shop.markup == "contradiction" and product.minor:
            amount = f"{(product.minor + 5000) / 100:.2f}"
        return (
            f'<div itemscope itemtype="https://schema.org/Product"><h1 itemprop="name">{title}</h1>'
            f'<div itemprop="offers" itemscope itemtype="https://schema.org/Offer"><meta itemprop="price" '
            f'content="{amount}"><meta itemprop="priceCurrency" content="{shop.currency}">'
            f'<link itemprop="availability" href="{term}"></div>{visible}</div>'
        )
    if shop.markup == "rdfa":
        return (
            f'<div vocab="https://schema.org/" typeof="Product"><h1 property="name">{title}</h1>'
            f'<div property="offers" typeof="Offer"><meta property="price" content="{amount}">'
            f'<meta property="priceCurrency" content="{shop.currency}"><link property="availability" href="{term}">'
            f"</div>{visible}</div>"
        )
    return f"<h1>{title}</h1>{visible}"


def render_open_graph(shop: DemoShop, product: DemoProduct) -> str:
    """Return the meta elements of Open Graph."""
    values = {"og:type": "product", "og:title": product.title, "og:locale": shop.locale}
    values["product:availability"] = {"SOLD": "out of stock", "AVAILABLE": "in stock"}.get(product.state, "pending")
    if product.minor is not None:
        values |= {
            "product:price:amount": f"{product.minor / 100:.2f}",
            "product:price:currency": shop.currency,
        }
    return "".join(f'<meta property="{name}" content="{escape(value)}">' for name, value in values.items())


def make_offer(shop: DemoShop, product: DemoProduct) -> dict[str, Any]:
    """Return the offer of a product as JSON-LD."""
    offer: dict[str, Any] = {"@type": "Offer", "availability": f"https://schema.org/{TERMS[product.state]}"}
    if product.minor is not None:
        offer |= {"price": f"{product.minor / 100:.2f}", "priceCurrency": shop.currency}
    return offer


def render_json_ld(shop: DemoShop, product: DemoProduct) -> str:
    """Return the product as JSON-LD, in the way of its shop."""
    node: dict[str, Any] = {
        "@context": "https://schema.org",
        "@type": "Product",
        "name": product.title,
        "sku": f"{shop.country}-{product.number}",
        "image": [f"/bild/{product.number}.jpg"],
        "offers": make_offer(shop, product),
    }
    before = ""
    if shop.markup == "json-ld-graph":
        node = {"@context": "https://schema.org", "@graph": [{"@type": "WebPage"}, node]}
    elif shop.markup == "json-ld-list":
        node |= {"@type": ["Thing", "Product"], "offers": {"@type": "AggregateOffer", "offers": [node["offers"]]}}
    elif shop.markup == "json-ld-broken":
        before = make_script('{"@type": "BreadcrumbList", ')
    elif shop.markup == "json-ld-deep":
        before = make_script("[" * 100_000 + "]" * 100_000)
    text = json.dumps(node, ensure_ascii=False)
    if shop.markup == "json-ld-escaped":
        text = text.replace('"', "&quot;")
    elif shop.markup == "json-ld-cdata":
        text = f"//<![CDATA[\n{text}\n//]]>"
    return before + make_script(text)


def make_script(text: str) -> str:
    """Return a block of JSON-LD."""
    return f'<script type="application/ld+json">{text}</script>'


def render_lot(shop: DemoShop, product: DemoProduct, step: int) -> str:
    """Return the page of a lot: bids rise until the hammer falls, some lots are withdrawn."""
    minor = make_product(shop, product.number, 0).minor or 100_000
    german = shop.language == "de"

    def price(amount: int) -> str:
        return format_price(shop, amount)

    estimate = ("Schätzpreis" if german else "Estimate", f"{price(minor)} - {price(minor * 3 // 2)}")
    rows = [estimate, ("Aufruf" if german else "Starting bid", price(minor // 2))]
    note = ""
    if product.number % 6 == 5 and step >= 2:
        note = f"<p>{'Zurückgezogen' if german else 'Withdrawn'}</p>"
    elif step > product.number % 4 + 2:
        rows.append(("Zuschlag" if german else "Hammer price", price(minor * 5 // 4)))
    elif step:
        rows.append(("Aktuelles Gebot" if german else "Current bid", price(minor // 2 + minor // 20 * step)))
    sale = "Auktion am 12. März 2027" if german else "Auction on 12 March 2027"
    table = "".join(f"<dt>{name}:</dt><dd>{escape(value)}</dd>" for name, value in rows)
    lot = f"<p>{'Los' if german else 'Lot'} {product.number + 1}</p>"
    return render_page(shop, product.title, f"<h1>{escape(product.title)}</h1>{lot}<dl>{table}</dl>{note}<p>{sale}</p>")
