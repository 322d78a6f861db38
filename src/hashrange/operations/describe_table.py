"""DescribeTable: describe a table and its size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.engine.control_plane import table_description
from hashrange.engine.control_plane.table_status import find_deleting
from hashrange.engine.operation import operation

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation()
def describe_table(engine: Engine, request: dict[str, Any]) -> bytes:
    """Describe the table's current state."""
    now = engine.now()
    deleting = find_deleting(engine, engine.catalog.name_in(request["TableName"]), now)
    description = deleting or table_description.describe_table(engine.catalog.locate(request["TableName"]), now)
    return orjson.dumps({"Table": description})
