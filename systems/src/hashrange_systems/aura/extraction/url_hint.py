"""What the path of a URL suggests about its page: a hint, weaker than anything on the page."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, urlsplit

from hashrange_systems.aura.model.page_type import PageType

PRODUCT = re.compile(
    r"/(?:products?|produkte?|produit|prodotto|producto|p|items?|artikel|objekt|dp|lots?|los|lote|pd)/[^/]+"
    r"|-p-?\d+(?:\.html?)?$|/lot-\d+",
    re.IGNORECASE,
)
LISTING = re.compile(
    r"/(?:search|suche|recherche|catalog(?:ue)?|katalog|auctions?|auktion(?:en)?|sales?|results?|ergebnisse|neu|new-in)(?:/|$)"
    r"|/page/\d+/?$",
    re.IGNORECASE,
)
CATEGORY = re.compile(
    r"/(?:categor(?:y|ies)|kategorien?|categorie|categoria|collections?|product-category|rubrik|c|cat|shop|antiquitaeten)(?:/|$)",
    re.IGNORECASE,
)
LIST_PARAMETERS = {"q", "s", "search", "page", "p", "seite", "sort", "order", "filter"}


def suggest_type(url: str) -> PageType | None:
    """Return the page type that a URL suggests."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    path = parts.path[:2000]
    if PRODUCT.search(path):
        return "product"
    parameters = {name.lower() for name, _ in parse_qsl(parts.query[:2000], max_num_fields=None)}
    if LISTING.search(path) or parameters & LIST_PARAMETERS:
        return "listing"
    return "category" if CATEGORY.search(path) else None


def find_region(url: str, language: str | None) -> str:
    """Return the language of the page, else its top-level domain, in small letters."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        host = ""
    country = host.rpartition(".")[2].lower()
    if country in {"au", "ca", "nz", "hk", "sg", "se", "no", "dk"}:
        return country
    return (language or "").partition("-")[0].lower() or country
