"""Money as pages write it, read into whole minor units of a known currency; never a float.

price-parser knows the number formats; which of several numbers is the price, and which dollar, is decided here.
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
SIGNS = {"€": "EUR", "£": "GBP", "¥": "JPY", "円": "JPY", "zł": "PLN"}

NUMBER = r"(?:\d{1,3}(?:[ \u00a0\u202f.,'\u2019]\d{3})+(?!\d)(?:[.,]\d{1,2})?|\d+(?:[.,]\d{1,2})?|[.,]\d{2})(?!\d)"
DOLLAR = r"(?<![A-Za-z])(?P<{0}>US|CA?|AU?|NZ|HK|S)?[ \u00a0]?\$"
CODE = rf"(?<![A-Za-z])(?:{'|'.join(CURRENCIES)})(?![A-Za-z])|{'|'.join(SIGNS)}"
AMOUNT = re.compile(
    rf"(?:{DOLLAR.format('before')}|(?P<code_before>{CODE}))\s*(?P<number_after>{NUMBER})"
    rf"|(?P<number_first>{NUMBER})\s*(?:{DOLLAR.format('after')}|(?P<code_after>{CODE}))"
)


@dataclass(frozen=True, slots=True)
class Money:
    """An amount in minor units of its currency."""

    minor: int
    currency: str

    def __str__(self) -> str:
        digits = CURRENCIES.get(self.currency, 2)
        return f"{Decimal(self.minor).scaleb(-digits):.{digits}f} {self.currency}"


def find_money(text: str) -> Iterator[Money]:
    """Yield every amount in the text that has a currency beside it, in order."""
    for match in AMOUNT.finditer(text):
        money = make_money(match["number_after"] or match["number_first"], read_currency(match))
        if money:
            yield money


def read_currency(match: re.Match[str]) -> str:
    """Return the code of the currency that stands beside the amount."""
    sign = match["code_before"] or match["code_after"]
    return SIGNS.get(sign, sign) if sign else DOLLARS[match["before"] or match["after"] or ""]


def make_money(number: str, currency: str) -> Money | None:
    """Return the money that a number in any common format says, or None when it says none."""
    amount = Price.fromstring(number).amount
    return None if amount is None else from_decimal(amount, currency)


def from_decimal(amount: Decimal, currency: str) -> Money | None:
    """Return the amount in minor units; None when it is negative, endless or of an unknown currency."""
    if currency not in CURRENCIES or not amount.is_finite() or amount < 0 or amount.adjusted() > 12:
        return None
    minor = amount.scaleb(CURRENCIES[currency]).to_integral_value(ROUND_HALF_EVEN)
    return Money(int(minor), currency)
