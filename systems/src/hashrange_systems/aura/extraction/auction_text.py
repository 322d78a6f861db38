"""Reads what auction houses write beside a lot: estimate, bids, hammer price, number, date of the sale."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from hashrange_systems.aura.extraction.page_facts import AuctionFacts
from hashrange_systems.aura.extraction.price_text import name_currency
from hashrange_systems.shared.money import NUMBER, Money, find_money, make_money

LABELS = {
    "estimate": r"sch[äa]tz(?:preis|wert|ung)|taxe|estimat(?:e|ion)|stima|estimaci[oó]n|richtprijs|vurdering|wycena",
    "hammer_price": r"zuschlag(?:spreis)?|hammer(?: |s?)(?:price|preis|prijs|slag)|sold for|verkauft für|prix adjugé"
    r"|adjugé|aggiudicat[oa]|precio de remate|klubbat pris",
    "current_bid": r"aktuelles gebot|h[öo]chstgebot|current bid|ench[eè]re actuelle|offerta attuale|puja actual"
    r"|huidig bod",
    "starting_bid": r"aufruf(?:preis)?|ausruf(?:preis)?|startpreis|mindestgebot|limit(?:preis)?"
    r"|starting (?:bid|price)|opening bid|mise à prix|base d['\u2019]asta|precio de salida|startprijs|utropspris",
}
AMOUNTS = {name: re.compile(rf"(?:{words})\b\s*[:\uff1a]?", re.IGNORECASE) for name, words in LABELS.items()}
LOT = re.compile(
    r"(?:lot|los|lote|lotto|kavel|katalog-?nr\.?)\s*(?:-?\s?(?:nr|no|num(?:ber|mer)|n°)\.?)?\s*[:\uff1a#]?\s*(\d{1,6}[a-z]?)\b",
    re.IGNORECASE,
)
PRODUCT_NUMBER = re.compile(
    r"(?:art(?:ikel)?\.?-?\s?(?:nr|nummer|no)|bestell-?(?:nr|nummer)|objekt-?(?:nr|nummer)|inv(?:entar)?\.?-?(?:nr|nummer)"
    r"|item (?:no|number|code)|stock (?:no|number|code)|sku|r[eé]f(?:[eé]rence)?|codice|referencia)\.?\s*[:\uff1a]?\s*"
    r"([A-Za-z0-9][A-Za-z0-9./_-]{0,39})",
    re.IGNORECASE,
)
SALE = re.compile(r"auktion|auction|sale date|date of sale|vente|versteigerung|asta|subasta|veiling", re.IGNORECASE)
RANGE = re.compile(rf"({NUMBER})[^\d]{{0,6}}?\s*(?:-|\u2013|\u2014|/|bis|to|à|a|tot)\s*[^\d]{{0,6}}?({NUMBER})")
ISO_DATE = re.compile(r"\b(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}))?")
DAY_FIRST = re.compile(r"\b(\d{1,2})[./](\d{1,2})[./](\d{4})\b")
WRITTEN = re.compile(r"\b(\d{1,2})\.?\s+([A-Za-zäéûô]{3,10})\.?\s+(\d{4})\b")
MONTHS = (
    ("jan", "gen", "ene"),
    ("feb", "fév", "fev"),
    ("mar", "mär", "mrt"),
    ("apr", "avr", "abr"),
    ("may", "mai", "mag", "mei"),
    ("jun", "juin", "giu"),
    ("jul", "juil", "lug"),
    ("aug", "aoû", "ago"),
    ("sep", "set"),
    ("oct", "okt", "ott"),
    ("nov",),
    ("dec", "dez", "déc", "dic"),
)


def read_auction(lines: Sequence[str], region: str) -> AuctionFacts:
    """Return what the lines of a page say about a lot."""
    facts: dict[str, Any] = {}
    currency: str | None = None
    for line, following in pair_lines(lines):
        for name, label in AMOUNTS.items():
            match = label.match(line)
            if match is None or name in facts or f"{name}_low" in facts:
                continue
            rest = line[match.end() :]
            amounts = read_amounts(rest if has_digit(rest) else following, region)
            if amounts:
                currency = currency or amounts[0].currency
                facts |= name_amounts(name, [money.minor for money in amounts if money.currency == currency])
    if not facts:
        return AuctionFacts(lot=read_lot(lines)) if read_lot(lines) else AuctionFacts()
    return AuctionFacts(lot=read_lot(lines), sale_date=read_sale_date(lines), currency=currency, **facts)


def pair_lines(lines: Sequence[str]) -> Iterable[tuple[str, str]]:
    """Return each line with the one after it, which has the value of a label in a table."""
    return zip(lines, [*lines[1:], ""], strict=False)


def has_digit(text: str) -> bool:
    """Return whether a text contains a digit."""
    return any(character.isdigit() for character in text)


def name_amounts(name: str, minors: Sequence[int]) -> dict[str, int]:
    """Return amounts by the field of the facts; an estimate has two."""
    if not minors:
        return {}
    if name != "estimate":
        return {name: minors[0]}
    return {"estimate_low": min(minors[:2]), "estimate_high": max(minors[:2])}


def read_amounts(text: str, region: str) -> list[Money]:
    """Return the amounts of a text; in a range, one currency counts for both."""
    text = name_currency(text[:200], region)
    found = list(find_money(text))
    match = RANGE.search(text)
    if found and match:
        both = [make_money(number, found[0].currency) for number in match.groups()]
        return [money for money in both if money]
    return found


def read_lot(lines: Iterable[str]) -> str | None:
    """Return the number of the lot."""
    return next((match[1] for line in lines if len(line) <= 120 and (match := LOT.match(line))), None)


def read_product_number(lines: Sequence[str]) -> str | None:
    """Return the shop's own number of the product."""
    for line, following in pair_lines(lines):
        if len(line) > 120:
            continue
        match = PRODUCT_NUMBER.match(line) or PRODUCT_NUMBER.match(f"{line} {following[:60]}")
        if match and has_digit(match[1]):
            return match[1]
    return None


def read_sale_date(lines: Sequence[str]) -> str | None:
    """Return the date of the sale, in ISO 8601."""
    for line, following in pair_lines(lines):
        if len(line) <= 200 and SALE.search(line):
            date = read_date(line) or read_date(following[:60])
            if date:
                return date
    return None


def read_date(text: str) -> str | None:
    """Return the first date of a text; in numbers, the day is first."""
    if match := ISO_DATE.search(text):
        return f"{match[1]}T{match[2]}" if match[2] else match[1]
    if match := DAY_FIRST.search(text):
        day, month, year = (int(part) for part in match.groups())
    elif match := WRITTEN.search(text):
        day, year = int(match[1]), int(match[3])
        word = match[2].lower()
        month = next((n for n, names in enumerate(MONTHS, 1) if word.startswith(names)), 0)
    else:
        return None
    return f"{year:04}-{month:02}-{day:02}" if 1 <= month <= 12 and 1 <= day <= 31 else None
