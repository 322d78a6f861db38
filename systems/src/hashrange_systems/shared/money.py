"""Parses prices on pages into minor units of a known currency; never a float.

price-parser parses number formats; this module chooses the price among several numbers, and the currency.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal

from price_parser import Price

CURRENCIES: Mapping[str, int] = {  # digits of the minor unit
    **dict.fromkeys(
        ("USD", "EUR", "GBP", "CAD", "AUD", "NZD", "HKD", "SGD", "CHF", "PLN", "SEK", "NOK", "DKK", "CZK", "MXN"), 2
    ),
    **dict.fromkeys(("HUF", "RON", "BGN", "TRY", "ZAR"), 2),
    "JPY": 0,
}
DOLLARS = {
    "": "USD",
    "US": "USD",
    "C": "CAD",
    "CA": "CAD",
    "AU": "AUD",
    "A": "AUD",
    "NZ": "NZD",
    "HK": "HKD",
    "S": "SGD",
}
SIGNS = {"€": "EUR", "£": "GBP", "¥": "JPY", "円": "JPY", "zł": "PLN", "Kč": "CZK"}
WORDS = {"euros": "EUR", "euro": "EUR", "eur": "EUR", "sfr.": "CHF", "fr.": "CHF", "franken": "CHF", "lei": "RON"}

NUMBER = r"(?:\d{1,3}(?:[ \u00a0\u202f.,'\u2019]\d{3})+(?!\d)(?:[.,]\d{1,2})?|\d+(?:[.,]\d{1,2})?|[.,]\d{2})(?!\d)"
DOLLAR = r"(?<![A-Za-z])(?P<{0}>US|CA?|AU?|NZ|HK|S)?[ \u00a0]?\$"
NAMES = rf"(?:{'|'.join(CURRENCIES)}|(?i:{'|'.join(map(re.escape, WORDS))}))"
CODE = rf"(?<![A-Za-z]){NAMES}(?![A-Za-z])|{'|'.join(SIGNS)}"
DASHES = r"(?:[.,][ \u00a0]?[-\u2013\u2014]{1,2})?"  # "950,-" and "1'250.-" have no minor units
AMOUNT = re.compile(
    rf"(?:{DOLLAR.format('before')}|(?P<code_before>{CODE}))\s*(?P<number_after>{NUMBER})"
    rf"|(?P<number_first>{NUMBER}){DASHES}\s*(?:{DOLLAR.format('after')}|(?P<code_after>{CODE}))"
)

# Numbers that are no price, and whose end must not be read as one: a discount, "-50 €", and an exponent, "1.5e3 €".
NO_PRICE = re.compile(rf"(?:(?<=\s)|^)[-\u2212](?:{CODE}|\$)?{NUMBER}|\d+(?:[.,]\d+)?[eE][+-]?\d+", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Money:
    """An amount in minor units of its currency."""

    minor: int
    currency: str

    def __str__(self) -> str:
        digits = CURRENCIES.get(self.currency, 2)
        return f"{Decimal(self.minor).scaleb(-digits):.{digits}f} {self.currency}"


def find_money(text: str) -> Iterator[Money]:
    """Yield every amount with a currency in the text, in order."""
    for match in AMOUNT.finditer(NO_PRICE.sub("|", text)):
        money = make_money(match["number_after"] or match["number_first"], read_currency(match))
        if money:
            yield money


def read_currency(match: re.Match[str]) -> str:
    """Return the code of the currency beside an amount."""
    sign = match["code_before"] or match["code_after"]
    if not sign:
        return DOLLARS[match["before"] or match["after"] or ""]
    return SIGNS.get(sign) or WORDS.get(sign.lower()) or sign.upper()


def make_money(number: str, currency: str) -> Money | None:
    """Parse a number in any common format; None if it is not one."""
    amount = Price.fromstring(number.replace("\u2019", "'")).amount
    return None if amount is None else from_decimal(amount, currency)


def from_decimal(amount: Decimal, currency: str) -> Money | None:
    """Return the amount in minor units; None if it is negative, infinite or of an unknown currency."""
    if currency not in CURRENCIES or not amount.is_finite() or amount < 0 or amount.adjusted() > 12:
        return None
    minor = amount.scaleb(CURRENCIES[currency]).to_integral_value(ROUND_HALF_EVEN)
    return Money(int(minor), currency)
