"""The words for the state of a product, in structured data and on pages. Without such a word the state is unknown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from hashrange_systems.aura.model.page_type import ProductState

# schema.org's ItemAvailability, and what shops and Open Graph write instead
TERMS: Mapping[str, ProductState] = {
    **dict.fromkeys(("instock", "limitedavailability", "onlineonly", "instoreonly", "madetoorder"), "AVAILABLE"),
    **dict.fromkeys(("available", "availablefororder", "verfügbar", "lieferbar", "auflager"), "AVAILABLE"),
    **dict.fromkeys(("soldout", "outofstock", "sold", "oos", "verkauft", "ausverkauft"), "SOLD"),
    **dict.fromkeys(("preorder", "presale", "backorder", "pending", "comingsoon"), "LISTED"),
    **dict.fromkeys(("reserved", "reserviert", "onhold"), "RESERVED"),
    **dict.fromkeys(("discontinued", "removed", "withdrawn"), "REMOVED"),
}

# Whole lines of a page, as a label beside a product says it: en, de, fr, it, es, nl, sv/da/no, pl, cs
MARKS: Mapping[ProductState, str] = {
    "SOLD": r"(?:this (?:item|lot|piece) (?:is|has been) )?sold(?: out)?|out of stock|item sold"
    r"|(?:dieser artikel ist |bereits |leider )?(?:schon )?(?:verkauft|ausverkauft|vergriffen)|nicht auf lager"
    r"|vendue?s?|épuisée?|en rupture de stock|vendut[oa]|esaurit[oa]|vendid[oa]|agotad[oa]"
    r"|verkocht|uitverkocht|såld|solgt|utsolgt|sprzedan[eoay]|wyprzedane|prodáno|vyprodáno",
    "RESERVED": r"reserved|on hold|(?:derzeit |ist )?reserviert|réservée?|riservat[oa]|reservad[oa]|gereserveerd"
    r"|reserverad|reserveret|reservert|zarezerwowan[eoay]|rezervováno",
    "REMOVED": r"(?:this |the )?(?:item|product|lot|article|listing) (?:is )?no longer available|no longer available"
    r"|(?:dieser |dieses |der |das )?(?:artikel|produkt|angebot) (?:ist )?nicht mehr (?:verfügbar|erhältlich)"
    r"|nicht mehr verfügbar|(?:cet article )?n['\u2019]est plus disponible|non (?:è )?più disponibile"
    r"|ya no está disponible"
    r"|niet meer beschikbaar|(?:lot )?withdrawn|(?:los )?zurückgezogen|retirée?|ritirat[oa]|retirad[oa]",
    "AVAILABLE": r"(?:sofort |jetzt )?(?:verfügbar|lieferbar)|auf lager|vorrätig|in stock|available(?: now)?|en stock"
    r"|disponible|disponibile|op voorraad|i lager|på lager|dostępn[yae]|skladem",
}
MARK_LINES = {state: re.compile(rf"\W*(?:{words})\W*", re.IGNORECASE) for state, words in MARKS.items()}
MAX_MARK = 60  # characters of a line that can be a mark
LABEL = re.compile(
    r"^(?:status|zustand|verfügbarkeit|availability|disponibilité|disponibilità|disponibilidad)\s*[:\uff1a]\s*",
    re.IGNORECASE,
)

CART = re.compile(
    r"in den (?:warenkorb|einkaufswagen)|add to (?:cart|basket|bag)|buy (?:it )?now|jetzt kaufen|sofort kaufen"
    r"|ajouter au panier|acheter|aggiungi al carrello|acquista|añadir (?:al carrito|a la cesta)|comprar"
    r"|in winkel(?:wagen|mand)(?:je)?|(?:lägg|legg) i (?:varukorg|handlekurv)\w*|læg i kurv"
    r"|do koszyka|do košíku",
    re.IGNORECASE,
)

# The most cautious first: a product is available only where nothing on its page contradicts it.
CAUTION: tuple[ProductState, ...] = ("REMOVED", "SOLD", "RESERVED", "LISTED", "AVAILABLE")


def read_term(value: str) -> ProductState | None:
    """Return the state that a term of structured data means; None for unknown terms."""
    word = value.strip().rstrip("/").rpartition("/")[2].rpartition("#")[2].rpartition(":")[2]
    return TERMS.get(re.sub(r"[\s_-]", "", word[:MAX_MARK]).lower())


def read_mark(line: str) -> ProductState | None:
    """Return the state that a whole line of a page states."""
    if not line or len(line) > MAX_MARK:
        return None
    line = LABEL.sub("", line)
    return next((state for state, mark in MARK_LINES.items() if mark.fullmatch(line)), None)


def choose_state(states: Iterable[ProductState | None]) -> ProductState | None:
    """Return the most cautious of the states that were proven."""
    proven = set(states)
    return next((state for state in CAUTION if state in proven), None)
