"""The shops of the demo as data: what they sell, in which language and markup, how they misbehave. No I/O."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Literal

from hashrange_systems.aura.model.page_type import ProductState

Markup = Literal[
    "json-ld", "json-ld-graph", "json-ld-list", "json-ld-broken", "json-ld-escaped", "json-ld-cdata", "json-ld-deep",
    "microdata", "contradiction", "opengraph", "rdfa", "plain", "auction",
]  # fmt: skip
Behaviour = Literal[
    "usual", "robots-503", "robots-404", "redirect-loop", "sort-trap", "calendar-trap", "slow-drip",
    "too-many-requests", "unavailable-storm", "gzip-bomb", "wrong-charset", "soft-404", "private-redirect", "endless",
    "reset", "captcha", "huge", "long-urls", "session-ids", "goes-missing",
]  # fmt: skip

NOUNS = ("Kommode", "Vase", "Sekretär", "Standuhr", "Bronze", "Spiegel", "Teller", "Leuchter", "Truhe", "Ölgemälde")
EPOCHS = ("Barock", "Biedermeier", "Empire", "Jugendstil", "Art Déco", "Louis XVI", "Gründerzeit", "Rokoko")
SLUG = str.maketrans(" öäüé", "-oaue")
PERIOD_MS = 180_000  # prices change that often


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoShop:
    """A shop of the demo."""

    domain: str
    name: str
    country: str
    locale: str = "de_DE"  # how prices are written
    currency: str = "EUR"
    markup: Markup = "json-ld"
    behaviour: Behaviour = "usual"
    products: int = 12
    robots: str | None = "User-agent: *\nDisallow: /intern/\nDisallow: /*?sort=\n"
    sitemap: Literal["", "plain", "index", "large"] = "plain"
    last_modified: bool = False  # validates by date instead of by tag
    case: str = ""  # what it shows, in words

    @property
    def language(self) -> str:
        """The language of its pages."""
        return self.locale.partition("_")[0]


@dataclass(frozen=True, slots=True)
class DemoProduct:
    """A product of a shop at one moment."""

    number: int
    title: str
    minor: int | None  # None: price on request
    state: ProductState

    @property
    def path(self) -> str:
        """The path of its page."""
        slug = self.title.lower().translate(SLUG)
        return f"/produkt/{slug}-{self.number}"


def make_product(shop: DemoShop, number: int, step: int) -> DemoProduct:
    """Return a product as it is after some steps: the same for the same arguments."""
    random = Random(f"{shop.domain} {number}")  # noqa: S311 - the same each time
    title = f"{random.choice(NOUNS)} {random.choice(EPOCHS)} {random.randint(1700, 1930)}"
    base = random.randint(8, 480) * 1000
    if number % 11 == 10:
        return DemoProduct(number, title, None, "AVAILABLE")
    minor = base - base // 20 * ((step + number) % 4) if number % 3 == 0 else base
    sold_after = number % 5 + 1
    if number % 7 == 3 and step >= sold_after:
        return DemoProduct(number, title, base, "SOLD")
    return DemoProduct(number, title, minor, "RESERVED" if number % 13 == 12 else "AVAILABLE")


def count_steps(now_ms: int, started_ms: int, period_ms: int = PERIOD_MS) -> int:
    """Return how often the prices have changed."""
    return max(0, (now_ms - started_ms) // period_ms)


SEPARATORS = {  # thousands, decimals, pattern with the amount
    "de_DE": (".", ",", "{} €"),
    "de_AT": (".", ",", "€ {}"),
    "de_CH": ("\u2019", ".", "CHF {}"),
    "fr_FR": ("\u202f", ",", "{} €"),
    "it_IT": (".", ",", "€ {}"),
    "es_ES": (".", ",", "{} €"),
    "en_GB": (",", ".", "£{}"),
    "nl_NL": (".", ",", "€ {}"),
    "sv_SE": ("\u00a0", ",", "{} kr"),
    "da_DK": (".", ",", "{} kr."),
    "pl_PL": ("\u00a0", ",", "{} zł"),
    "cs_CZ": ("\u00a0", ",", "{} Kč"),
    "en_US": (",", ".", "${}"),
}
ON_REQUEST = {
    "de": "Preis auf Anfrage",
    "fr": "Prix sur demande",
    "it": "Prezzo su richiesta",
    "en": "Price on request",
}
SOLD = {"de": "Verkauft", "en": "Sold", "fr": "Vendu", "it": "Venduto", "es": "Vendido", "nl": "Verkocht"} | {
    "sv": "Såld", "da": "Solgt", "pl": "Sprzedane", "cs": "Prodáno"
}  # fmt: skip
RESERVED = {"de": "Reserviert", "en": "Reserved", "fr": "Réservé", "it": "Riservato", "es": "Reservado"} | {
    "nl": "Gereserveerd", "sv": "Reserverad", "da": "Reserveret", "pl": "Zarezerwowane", "cs": "Rezervováno"
}  # fmt: skip
CART = {"de": "In den Warenkorb", "en": "Add to cart", "fr": "Ajouter au panier", "it": "Aggiungi al carrello"} | {
    "es": "Añadir al carrito", "nl": "In winkelwagen", "sv": "Lägg i varukorgen", "da": "Læg i kurv",
    "pl": "Do koszyka", "cs": "Do košíku",
}  # fmt: skip


def format_price(shop: DemoShop, minor: int | None) -> str:
    """Return a price as the shop writes it; whole amounts in Switzerland end with a dash."""
    if minor is None:
        return ON_REQUEST.get(shop.language, "Price on request")
    thousands, point, pattern = SEPARATORS[shop.locale]
    whole = f"{minor // 100:,}".replace(",", thousands)
    if shop.locale == "de_CH" and minor % 100 == 0:
        return pattern.format(f"{whole}.\u2013")
    return pattern.format(f"{whole}{point}{minor % 100:02d}")
