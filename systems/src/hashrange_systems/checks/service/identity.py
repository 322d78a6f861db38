"""Random names and secrets: ids of items, API keys, the secrets that sign webhooks.

An API key is 32 random bytes, shown once. What is stored is its SHA-256, and a key is found by that hash alone: nothing
secret is ever compared, so there is nothing to time.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable

KEY_PREFIX = "hrc_"  # so that a key in a log or a repository is known for what it is
WEBHOOK_PREFIX = "whsec_"
LONGEST_KEY = 100
LONGEST_ID = 500

MakeId = Callable[[], str]


def make_id() -> str:
    """Return a name that nothing else has."""
    return secrets.token_hex(10)


def make_key() -> str:
    """Return a new API key."""
    return KEY_PREFIX + secrets.token_urlsafe(32)


def make_webhook_secret() -> str:
    """Return a new secret to sign a webhook's messages with."""
    return WEBHOOK_PREFIX + secrets.token_urlsafe(32)


def hash_key(key: str) -> str | None:
    """Return what an API key is stored and found as; None for what cannot be one."""
    if not key.startswith(KEY_PREFIX) or len(key) > LONGEST_KEY:
        return None
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def can_be_id(text: str) -> bool:
    """Whether something could be stored under this id at all."""
    return text.isprintable() and 0 < len(text.encode()) <= LONGEST_ID
