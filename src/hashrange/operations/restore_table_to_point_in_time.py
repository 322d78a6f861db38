"""RestoreTableToPointInTime: create a table with the contents that another had at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.engine.control_plane.table_description import describe_table
from hashrange.engine.control_plane.table_status import response_time
from hashrange.engine.operation import operation
from hashrange.engine.recovery.point_in_time import check_time_members, choose_restore_time, find_source
from hashrange.engine.recovery.restore import restore_to_time

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation(writes="tables")
def restore_table_to_point_in_time(engine: Engine, request: dict[str, Any]) -> bytes:
    """Create the table, which is usable once all items are copied; the response says CREATING."""
    check_time_members(request)
    source, now = find_source(engine, request), engine.now()
    moment = choose_restore_time(engine, source, request.get("RestoreDateTime"))
    table = restore_to_time(engine, source, moment, request)
    return orjson.dumps({"TableDescription": describe_table(table, response_time(now))})
