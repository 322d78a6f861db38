"""Reads prices as European shops write them: an amount, a range, "price on request", "or nearest offer"."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from hashrange_systems.shared.money import CURRENCIES, Money, find_money, from_decimal, make_money

MAX_TEXT = 200  # characters of a text that may be a price; longer ones are prose
MAX_EXPONENT_DIGITS = 2
ON_REQUEST_NOTE = "on request"

ON_REQUEST = re.compile(
    r"auf anfrage|on request|on application|upon request|sur demande|su richiesta|bajo petici[oó]n|a consultar"
    r"|op aanvraag|p[åa] (?:foresp[øo]rsel|f[öo]rfr[åa]gan)|efter aftale|na zapytanie|na dotaz|sob consulta|\bPOA\b",
    re.IGNORECASE,
)
NEGOTIABLE = re.compile(
    r"(?<!\w)(VB|VHB|VS|Verhandlungsbasis|o\.?n\.?o|OBO|or best offer|à débattre)(?!\w)", re.IGNORECASE
)
NUMBER_ALONE = re.compile(r"\d[\d .,'\u2019\u00a0\u202f]{0,24}")
EXPONENT = re.compile(r"(\d{1,20}(?:\.\d{1,20})?)[eE]([+-]?)(\d+)")
CROWN = re.compile(r"(?<!\w)kr\.?(?!\w)", re.IGNORECASE)
CROWNS = {"sv": "SEK", "se": "SEK", "no": "NOK", "nb": "NOK", "nn": "NOK", "da": "DKK", "dk": "DKK"}
# "Ft" is also a foot: without the language, only an amount with groups of digits is money.
FORINT = re.compile(r"(?<=\d)[ \u00a0\u202f]?Ft\b\.?")
GROUPED_FORINT = re.compile(r"(\d{1,3}(?:[. \u00a0\u202f]\d{3})+)[ \u00a0\u202f]?Ft\b\.?")
DOLLAR = re.compile(r"(?<![A-Za-z])\$")
DOLLARS = {"au": "AU $", "ca": "CA $", "nz": "NZ $", "hk": "HK $", "sg": "S $"}


@dataclass(frozen=True, slots=True)
class PriceReading:
    """A price, or why there is none."""

    money: Money | None = None
    note: str | None = None


def read_price_text(text: str, region: str = "") -> PriceReading:
    """Return the price that a short text states; `region` (a language or a top-level domain) decides between crowns."""
    text = " ".join(text[: MAX_TEXT * 2].split())[:MAX_TEXT]
    if ON_REQUEST.search(text):
        return PriceReading(note=ON_REQUEST_NOTE)
    return choose_price(find_money(name_currency(text, region)), negotiable=bool(NEGOTIABLE.search(text)))


def choose_price(found: Iterable[Money], *, negotiable: bool = False) -> PriceReading:
    """Return the only price; several different ones are no price, nor is zero."""
    different = list(dict.fromkeys(found))
    if len(different) > 1:
        return PriceReading(note="several prices: " + ", ".join(map(str, different[:5])))
    if not different:
        return PriceReading()
    if different[0].minor == 0:
        return PriceReading(note="zero")
    return PriceReading(different[0], "negotiable" if negotiable else None)


def name_currency(text: str, region: str) -> str:
    """Return the text with the currencies that only its country makes clear."""
    text = CROWN.sub(CROWNS.get(region, "kr"), text)
    text = FORINT.sub(" HUF", text) if region == "hu" else GROUPED_FORINT.sub(r"\1 HUF", text)
    return DOLLAR.sub(DOLLARS.get(region, "$"), text)


def read_amount(value: str, currency: str | None, region: str = "") -> PriceReading:
    """Return the price of structured data: an amount, and its currency elsewhere."""
    code = (currency or "").strip().upper()
    scientific = EXPONENT.fullmatch(value.strip()[:MAX_TEXT])
    if scientific:
        return read_scientific(scientific, code)
    number = NUMBER_ALONE.fullmatch(value.strip())
    if number and code in CURRENCIES:
        money = make_money(value.strip(), code)
        return choose_price([money] if money else [])
    reading = read_price_text(value, region)
    if reading.money is None and code in CURRENCIES and reading.note is None:
        return read_price_text(f"{value[:MAX_TEXT]} {code}", region)
    return reading


def read_scientific(match: re.Match[str], code: str) -> PriceReading:
    """Return the price of a number with an exponent, such as 1.5e3; one that no price has is none."""
    if len(match[3]) > MAX_EXPONENT_DIGITS:
        return PriceReading()
    money = from_decimal(Decimal(match[0]), code)
    return choose_price([money] if money else [])
