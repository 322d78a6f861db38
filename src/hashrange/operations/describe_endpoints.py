"""DescribeEndpoints: the address of the service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.engine.operation import operation

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation()
def describe_endpoints(engine: Engine, _request: dict[str, Any]) -> bytes:
    """Return this server's address, so that no client switches to AWS."""
    address = engine.endpoint or f"dynamodb.{engine.settings.region}.amazonaws.com"
    return orjson.dumps({"Endpoints": [{"Address": address, "CachePeriodInMinutes": 1440}]})
