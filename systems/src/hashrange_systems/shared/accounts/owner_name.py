"""Which texts can be an owner and a login: any text of a length that fits in a key, and one form of each name."""

from __future__ import annotations

import unicodedata

MAX_BYTES = 500


def is_owner(text: str) -> bool:
    """Return whether a text can be an owner."""
    try:
        return 0 < len(text.encode()) <= MAX_BYTES
    except UnicodeEncodeError:  # half of a surrogate pair
        return False


def check_owner(text: str) -> str:
    """Return the text; raise ValueError if it cannot be an owner."""
    if not is_owner(text):
        raise ValueError(f"must be a text of 1 to {MAX_BYTES} bytes")
    return text


def fold_login(name: str) -> str:
    """Return the form of an address or a name by which it is unique; raise ValueError if it cannot be a login."""
    return check_owner(unicodedata.normalize("NFC", unicodedata.normalize("NFC", name.strip()).casefold()))


def is_login(name: str) -> bool:
    """Return whether a text can be a login."""
    try:
        fold_login(name)
    except ValueError:
        return False
    return True
