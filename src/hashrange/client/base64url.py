"""Bytes as text that is safe in URLs: base64url without padding, and exactly one text for any bytes."""

from __future__ import annotations

import base64
import binascii


def encode(data: bytes) -> str:
    """Return the one text of these bytes."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def decode(text: str) -> bytes | None:
    """Return the bytes of a text that `encode` made, or None: other spellings of the same bytes are refused."""
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):  # ValueError: not ASCII
        return None
    # Python skips foreign characters and ignores the last bits: only what reads back the same has not been touched.
    return data if encode(data) == text else None
