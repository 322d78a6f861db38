"""The port that the session layer talks through: one operation in wire form goes in, its answer comes out.

`client.database.Database` is the one in this process, `client.remote.Remote` the one over HTTP.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

import orjson

from hashrange.core.wire import Wire

DecodeResponse: TypeAlias = Callable[[bytes], Wire]  # how the JSON of an answer is read
decode_all: DecodeResponse = orjson.loads


class Transport(Protocol):
    """Runs DynamoDB's operations somewhere; it may be used from any thread and any event loop."""

    def call(self, operation: str, request: Wire, read: DecodeResponse = decode_all, /) -> Wire:
        """Return the answer, read so; raise the ServiceError that DynamoDB answers, or TransportError for no answer."""
        ...

    async def call_async(self, operation: str, request: Wire, read: DecodeResponse = decode_all, /) -> Wire:
        """Do the same as `call` without blocking the event loop."""
        ...

    def close(self) -> None:
        """Let go of what it holds; calls after it fail."""
        ...
