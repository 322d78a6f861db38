"""Signs and verifies webhooks: HMAC-SHA256 over the timestamp, a full stop and the body."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping

DELIVERY = "Hashrange-Delivery"  # the same for each attempt to send a message
TIMESTAMP = "Hashrange-Timestamp"  # seconds since the epoch, of this attempt
SIGNATURE = "Hashrange-Signature"  # "v1=" and the MAC in hex
TOLERANCE_S = 300


def sign(secret: str, timestamp: int, body: bytes) -> str:
    """Return the signature of a body that is sent at this time."""
    mac = hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256)
    return f"v1={mac.hexdigest()}"


def verify(secret: str, headers: Mapping[str, str], body: bytes, now: float, tolerance_s: int = TOLERANCE_S) -> bool:
    """Return whether a request is authentic and recent; `body` is the raw body."""
    given = {name.lower(): value for name, value in headers.items()}
    timestamp = given.get(TIMESTAMP.lower(), "")
    if not (timestamp.isascii() and timestamp.isdecimal() and len(timestamp) <= 12):
        return False
    signature = given.get(SIGNATURE.lower(), "").encode()
    expected = sign(secret, int(timestamp), body).encode()
    return hmac.compare_digest(signature, expected) and abs(now - int(timestamp)) <= tolerance_s
