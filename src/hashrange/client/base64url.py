"""base64url without padding; each byte string has exactly one encoding."""

from __future__ import annotations

import base64
import binascii


def encode(data: bytes) -> str:
    """Return the encoding of these bytes."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def decode(text: str) -> bytes | None:
    """Return the bytes of a text that `encode` made, or None: other encodings of the same bytes are refused."""
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):  # ValueError: not ASCII
        return None
    # Python skips invalid characters and ignores the last bits, so the result must encode to the same text.
    return data if encode(data) == text else None
