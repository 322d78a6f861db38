"""Prices in minor units as text."""

from __future__ import annotations

from hashrange_systems.shared.money import Money


def format_price(minor: int | None, currency: str | None) -> str:
    """Return a price such as 1250.00 EUR; empty without an amount."""
    return "" if minor is None else str(Money(minor, currency or "")).strip()
