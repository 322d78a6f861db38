"""Signed tokens that expire, for links and sessions. Only the holder of the secret can create one.

Format, in base64url: HMAC-SHA256 (32 bytes) | payload as JSON. The signature covers the application and a purpose, so
that a token of one purpose is not valid for another. The payload is signed, not encrypted.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from dataclasses import dataclass, field

import orjson

from hashrange_systems.shared.errors import TokenInvalid

TAG_SIZE = 32
MAX_TOKEN_LENGTH = 4000  # the key of an item, which may have 2048 bytes, fits in


@dataclass(frozen=True, slots=True)
class TokenSigner:
    """Signs and opens the tokens of an application."""

    secret: bytes = field(repr=False)
    application: str

    def sign(self, purpose: str, words: list[str], expires_at: int) -> str:
        """Return a token with these words that is valid until then, in milliseconds since the epoch."""
        body = orjson.dumps([expires_at, *words])
        return encode_base64url(self._tag(purpose, body) + body)

    def open(self, purpose: str, token: str, now: int) -> list[str]:
        """Return the words of a valid token; raise TokenInvalid if it is not ours, for another purpose, or expired."""
        data = decode_base64url(token) if len(token) <= MAX_TOKEN_LENGTH else None
        tag, body = (data or b"")[:TAG_SIZE], (data or b"")[TAG_SIZE:]
        if not hmac.compare_digest(tag, self._tag(purpose, body)):
            raise TokenInvalid("This link is damaged or not ours: open it exactly as it was sent.")
        expires_at, *words = orjson.loads(body)
        if expires_at <= now:
            raise TokenInvalid("This link has expired: ask for a new one.")
        return [str(word) for word in words]

    def _tag(self, purpose: str, body: bytes) -> bytes:
        prefix = f"{self.application} token\0{purpose}\0".encode()
        return hmac.digest(self.secret, prefix + body, "sha256")


def encode_base64url(data: bytes) -> str:
    """Return bytes in base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode_base64url(text: str) -> bytes | None:
    """Return the bytes; None unless the text is exactly what `encode_base64url` returns for them."""
    try:
        data = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (UnicodeEncodeError, binascii.Error):
        return None
    return data if encode_base64url(data) == text else None
