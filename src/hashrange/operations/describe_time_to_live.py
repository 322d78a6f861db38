"""DescribeTimeToLive: the attribute by which items expire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.engine.operation import operation

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation()
def describe_time_to_live(engine: Engine, request: dict[str, Any]) -> bytes:
    """Return the attribute, or that items do not expire."""
    attribute = engine.catalog.locate(request["TableName"]).ttl_attribute
    enabled = {"TimeToLiveStatus": "ENABLED", "AttributeName": attribute}
    return orjson.dumps({"TimeToLiveDescription": enabled if attribute else {"TimeToLiveStatus": "DISABLED"}})
