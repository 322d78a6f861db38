"""DeleteTable: delete a table and its items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.engine.control_plane.table_description import describe_table
from hashrange.engine.control_plane.table_status import check_deletable, locate_changeable, mark_deleting
from hashrange.engine.operation import operation

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine

OMITTED_MEMBERS = {
    "AttributeDefinitions", "CreationDateTime", "GlobalSecondaryIndexes", "KeySchema", "LocalSecondaryIndexes",
    "WarmThroughput",
}  # fmt: skip


@operation(writes="tables")
def delete_table(engine: Engine, request: dict[str, Any]) -> bytes:
    """Delete a table; the response says DELETING."""
    table, now = locate_changeable(engine, request["TableName"]), engine.now()
    check_deletable(table, now)
    description = describe_table(table, now) | {"TableStatus": "DELETING"}
    engine.catalog.drop(table)
    mark_deleting(engine, description, now)
    return orjson.dumps(
        {"TableDescription": {m: value for m, value in description.items() if m not in OMITTED_MEMBERS}}
    )
