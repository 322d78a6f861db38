"""The hash of a product's price and state: equal hashes mean that nothing changed. No I/O."""

import hashlib

VERSION = "v1"
LENGTH = 64  # hex digits of SHA-256; the first layout's MD5 has 32


def change_hash(state: str, amount_minor: int | None, currency: str | None) -> str:
    """Return the hash of a product's state and price, in minor units of a currency."""
    amount = "" if amount_minor is None else str(amount_minor)
    return hashlib.sha256(f"{VERSION}|{state}|{amount}|{currency or ''}".encode()).hexdigest()


def is_change(known: str | None, found: str) -> bool:
    """Return whether a page differs from the recorded hash; a hash of another algorithm is no change."""
    return known is None or (len(known) == LENGTH and known != found)
