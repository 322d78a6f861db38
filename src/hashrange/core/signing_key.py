"""The signing key of Signature Version 4, which clients derive to sign and servers to verify."""

from __future__ import annotations

import hmac
from functools import lru_cache


@lru_cache(maxsize=64)
def derive_signing_key(secret: str, scope: str) -> bytes:
    """Return the signing key of a scope such as `20260314/eu-west-2/dynamodb/aws4_request`; it changes once a day."""
    key = f"AWS4{secret}".encode()
    for element in scope.split("/"):
        key = hmac.digest(key, element.encode(), "sha256")
    return key
