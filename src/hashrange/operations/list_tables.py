"""ListTables: the names of all tables, page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.engine.control_plane.table_status import list_deleting
from hashrange.engine.operation import operation

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation()
def list_tables(engine: Engine, request: dict[str, Any]) -> bytes:
    """Return a page of names in byte order."""
    start, limit = request.get("ExclusiveStartTableName"), request.get("Limit", 100)
    names = sorted({*engine.catalog.names(), *list_deleting(engine, engine.now())})
    names = [name for name in names if start is None or name > start]
    response: dict[str, Any] = {"TableNames": names[:limit]}
    if len(names) > limit:
        response["LastEvaluatedTableName"] = names[limit - 1]
    return orjson.dumps(response)
