"""ListGlobalTables: there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.engine.operation import operation
from hashrange.engine.shape.constraint_message import length_in_own_sentence

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation(violations=length_in_own_sentence("ExclusiveStartGlobalTableName", "TableName"))
def list_global_tables(_engine: Engine, _request: dict[str, Any]) -> bytes:
    """Return an empty list."""
    return orjson.dumps({"GlobalTables": []})
