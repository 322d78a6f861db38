"""DescribeEndpoints: where the service is reached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.engine.operation import operation

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation()
def describe_endpoints(engine: Engine, _request: dict[str, Any]) -> bytes:
    """Return the one endpoint: where we are served, so that no client is sent away to AWS."""
    address = engine.endpoint or f"dynamodb.{engine.settings.region}.amazonaws.com"
    return orjson.dumps({"Endpoints": [{"Address": address, "CachePeriodInMinutes": 1440}]})
