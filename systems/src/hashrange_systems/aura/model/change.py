"""Changes: their kinds, and the hash of a product's price and state; equal hashes mean that nothing changed. No I/O."""

from __future__ import annotations

import hashlib

VERSION = "v1"
KIND_NAMES: dict[str, str] = {
    "NEW": "New product",
    "PRICE": "Price",
    "STATE": "State",
    "REMOVED": "Removed",
    "ESTIMATE": "Estimate",
    "LOT": "Lot number",
    "SALE_DATE": "Date of the sale",
    "HAMMER": "Hammer price",
    "WITHDRAWN": "Withdrawn",
    "BROKEN": "Shop broken",
    "MENDED": "Shop mended",
}


def change_hash(state: str, amount_minor: int | None, currency: str | None) -> str:
    """Return the hash of a product's state and price, in minor units of a currency."""
    amount = "" if amount_minor is None else str(amount_minor)
    return hashlib.sha256(f"{VERSION}|{state}|{amount}|{currency or ''}".encode()).hexdigest()


def is_change(known_hash: str | None, known_state: str | None, found: str) -> bool:
    """Return whether a page differs from what was recorded.

    Other programs wrote hashes of other algorithms, also of the same length: a hash says something only beside a
    state, which this system alone records.
    """
    if known_hash is None:
        return True
    return known_state is not None and known_hash != found
