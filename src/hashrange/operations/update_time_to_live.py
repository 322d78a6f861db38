"""UpdateTimeToLive: set or remove the attribute by which items expire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.core.errors import ValidationException
from hashrange.engine.operation import operation

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation(writes="tables")
def update_time_to_live(engine: Engine, request: dict[str, Any]) -> bytes:
    """Set or remove the attribute, and return the request."""
    table, specification = engine.catalog.locate(request["TableName"]), request["TimeToLiveSpecification"]
    current, attribute = table.ttl_attribute, specification["AttributeName"]
    if current is not None and current != attribute:
        raise ValidationException(
            f"TimeToLive is active on a different AttributeName: current AttributeName is {current}"
        )
    if specification["Enabled"] == (current is not None):
        raise ValidationException(f"TimeToLive is already {'enabled' if current else 'disabled'}")
    engine.catalog.set_ttl(table, attribute if specification["Enabled"] else None)
    return orjson.dumps({"TimeToLiveSpecification": {"Enabled": specification["Enabled"], "AttributeName": attribute}})
