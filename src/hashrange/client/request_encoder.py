"""Encodes requests as JSON; like the AWS SDKs it accepts bytes for B and datetimes for times."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import orjson

from hashrange.core.values import encode_binary
from hashrange.core.wire import Wire


def encode_request(request: Wire) -> bytes:
    """Return the JSON of a request; raise TypeError if it is not in wire form."""
    try:
        return orjson.dumps(request, default=_encode_other, option=orjson.OPT_PASSTHROUGH_DATETIME)
    except orjson.JSONEncodeError as error:
        advice = "a number is {'N': '5'}, a set {'SS': ['a', 'b']}"
        raise TypeError(f"The request is not in wire form, where {advice}: {error}") from error


def _encode_other(value: Any) -> Any:
    """Encode bytes as base64 and datetimes as seconds since the epoch, as the AWS SDKs do."""
    if isinstance(value, bytes | bytearray | memoryview):
        return encode_binary(bytes(value))
    if isinstance(value, datetime):
        return value.timestamp()
    raise TypeError
