"""Random identifiers and secrets: ids of items, API keys, secrets of webhooks.

An API key is 32 random bytes and shown once. Only its SHA-256 is stored, and a key is found by that hash: no secret is
compared, so there is no timing attack.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable

KEY_PREFIX = "hrc_"  # lets secret scanners find keys in logs and repositories
WEBHOOK_PREFIX = "whsec_"
MAX_KEY_LENGTH = 100
MAX_ID_LENGTH = 500

MakeId = Callable[[], str]


def make_id() -> str:
    """Return a unique id."""
    return secrets.token_hex(10)


def make_key() -> str:
    """Return a new API key."""
    return KEY_PREFIX + secrets.token_urlsafe(32)


def make_webhook_secret() -> str:
    """Return a new secret that signs webhook messages."""
    return WEBHOOK_PREFIX + secrets.token_urlsafe(32)


def hash_key(key: str) -> str | None:
    """Return the hash by which an API key is stored and found; None if the text is not an API key."""
    if not key.startswith(KEY_PREFIX) or len(key) > MAX_KEY_LENGTH:
        return None
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def is_valid_id(text: str) -> bool:
    """Return whether a text is possible as an id."""
    return text.isprintable() and 0 < len(text.encode()) <= MAX_ID_LENGTH
