"""The transport of the session layer: sends one operation in wire form, returns its response.

`client.database.Database` is the one in this process, `client.remote.Remote` the one over HTTP.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

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


def require_transport(database: Any) -> None:
    """Refuse what is not a database of hashrange, such as a client of boto3 or the name of a directory."""
    if not callable(getattr(database, "call", None)):
        raise TypeError(
            f"{type(database).__module__}.{type(database).__name__} is not a database of hashrange: use "
            "hashrange.connect(url) for a server, hashrange.connect(profile=..., region=...) for AWS, or "
            "hashrange.open(directory)"
        )
