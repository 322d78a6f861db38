"""The port that the session layer talks through: one operation in wire form goes in, its answer comes out.

`client.database.Database` is the one in this process, `client.remote.Remote` the one over HTTP.
"""

from __future__ import annotations

from typing import Protocol

from hashrange.core.errors import Wire


class Transport(Protocol):
    """Runs DynamoDB's operations somewhere; it may be used from any thread and any event loop."""

    def call(self, operation: str, request: Wire, /) -> Wire:
        """Return the answer; raise the ServiceError that DynamoDB answers, or TransportError when there is none."""
        ...

    async def call_async(self, operation: str, request: Wire, /) -> Wire:
        """Do the same as `call` without blocking the event loop."""
        ...

    def close(self) -> None:
        """Let go of what it holds; calls after it fail."""
        ...
