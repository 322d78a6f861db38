"""What a price and a state amount to, as one hash: equal hashes mean that nothing changed. Stores nothing."""

import hashlib

VERSION = "v1"
LENGTH = 64  # hex digits of SHA-256; the first layout's MD5 has 32


def change_hash(state: str, amount_minor: int | None, currency: str | None) -> str:
    """Return the hash of a product's state and price, in minor units of a currency."""
    amount = "" if amount_minor is None else str(amount_minor)
    return hashlib.sha256(f"{VERSION}|{state}|{amount}|{currency or ''}".encode()).hexdigest()


def is_change(known: str | None, found: str) -> bool:
    """Whether a page differs from what was recorded; a hash of another algorithm says nothing, and is only replaced."""
    return known is None or (len(known) == LENGTH and known != found)
