"""The transport of the session layer: sends one operation in wire form, returns its response.

`client.database.Database` is the one in this process, `client.remote.Remote` the one over HTTP.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

import orjson

from hashrange.core.wire import Wire

DecodeResponse: TypeAlias = Callable[[bytes], Wire]  # decodes the JSON of a response
decode_all: DecodeResponse = orjson.loads


class Transport(Protocol):
    """Runs DynamoDB's operations; usable from any thread and any event loop."""

    def call(self, operation: str, request: Wire, read: DecodeResponse = decode_all, /) -> Wire:
        """Return the decoded response; raise DynamoDB's ServiceError, or TransportError without a valid response."""
        ...

    async def call_async(self, operation: str, request: Wire, read: DecodeResponse = decode_all, /) -> Wire:
        """Do the same as `call` without blocking the event loop."""
        ...

    def close(self) -> None:
        """Release its resources; later calls fail."""
        ...
