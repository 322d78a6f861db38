"""Sessions that the server stores: the cookie is 32 random bytes, and only their hash is stored.

A stored session can be ended at once, by signing out or by changing a password; `web.session` has cookies that the
server does not store. A session ends after a while without use, and after a longest time.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass

from hashrange_systems.shared.epoch import DAY_MS

PREFIX = "hrs_"
MAX_LENGTH = 100
IDLE_MS = DAY_MS // 2
MAX_MS = 7 * DAY_MS
EXTEND_EVERY_MS = 300_000  # how often its use is written


@dataclass(frozen=True, slots=True)
class SessionSecret:
    """The text of a cookie, and the hash that the session is stored by."""

    text: str
    digest: str


def make_session_secret() -> SessionSecret:
    """Return a new random cookie."""
    text = PREFIX + secrets.token_urlsafe(32)
    return SessionSecret(text, hash_text(text))


def hash_session(text: str | None) -> str | None:
    """Return the hash by which the session of a cookie is stored; None if the text is no cookie of ours."""
    if not text or not text.startswith(PREFIX) or len(text) > MAX_LENGTH:
        return None
    return hash_text(text)


def hash_text(text: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def find_expiry(created_at: int, now: int) -> int:
    """Return when a session ends that is used now, in milliseconds."""
    return min(now + IDLE_MS, created_at + MAX_MS)


def should_extend(expires_at: int, created_at: int, now: int) -> bool:
    """Return whether the end of a session should be written anew."""
    return find_expiry(created_at, now) - expires_at >= EXTEND_EVERY_MS
