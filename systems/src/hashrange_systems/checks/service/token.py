"""Signed, expiring tokens: what a verification link carries. Only who has the secret can make one.

In base64url: HMAC-SHA256 (32 bytes) | what it says as JSON. The signature covers a purpose, so that no token serves
another one. It is signed, not encrypted.
"""

from __future__ import annotations

import hmac

import orjson

from hashrange.client import base64url
from hashrange_systems.checks.errors import TokenRefused

TAG_SIZE = 32
LONGEST_TOKEN = 2000


def sign_token(secret: bytes, purpose: str, words: list[str], expires_at: int) -> str:
    """Return a token that says these words until that time, in milliseconds since the epoch."""
    body = orjson.dumps([expires_at, *words])
    return base64url.encode(_sign(secret, purpose, body) + body)


def open_token(secret: bytes, purpose: str, token: str, now: int) -> list[str]:
    """Return the words of a token that we made for this purpose and that still holds."""
    data = base64url.decode(token) if len(token) <= LONGEST_TOKEN else None
    tag, body = (data or b"")[:TAG_SIZE], (data or b"")[TAG_SIZE:]
    if not hmac.compare_digest(tag, _sign(secret, purpose, body)):
        raise TokenRefused("This link is damaged or not ours: open it exactly as it was sent.")
    expires_at, *words = orjson.loads(body)
    if expires_at <= now:
        raise TokenRefused("This link has expired: ask for a new one.")
    return [str(word) for word in words]


def _sign(secret: bytes, purpose: str, body: bytes) -> bytes:
    return hmac.digest(secret, b"checks token\0" + purpose.encode() + b"\0" + body, "sha256")
