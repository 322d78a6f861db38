"""Prices in minor units as text: one format for pages, e-mails, feeds and commands, and plain numbers for files."""

from __future__ import annotations

from hashrange_systems.shared.money import Money


def format_price(minor: int | None, currency: str | None) -> str:
    """Return a price such as 1,250.00 EUR; empty without an amount."""
    if minor is None:
        return ""
    whole, point, rest = format_amount(minor, currency).partition(".")
    return f"{int(whole):,}{point}{rest} {currency or ''}".strip()


def format_amount(minor: int | None, currency: str | None) -> str:
    """Return the number of a price for a file, such as 1250.00; empty without an amount."""
    return "" if minor is None else str(Money(minor, currency or "")).partition(" ")[0]
