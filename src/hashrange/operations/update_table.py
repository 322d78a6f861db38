"""UpdateTable: change one setting of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.engine.control_plane.table_description import describe_table
from hashrange.engine.control_plane.table_status import locate_changeable, response_time
from hashrange.engine.control_plane.update_table import UpdateTableDraft, drop_unused
from hashrange.engine.control_plane.update_table_request import check_request
from hashrange.engine.operation import operation

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine
    from hashrange.engine.table import Table


@operation(writes="tables")
def update_table(engine: Engine, request: dict[str, Any]) -> bytes:
    """Make the change; the response says UPDATING."""
    check_request(request)
    table, now = locate_changeable(engine, request["TableName"]), engine.now()
    draft = UpdateTableDraft(table, request, now, engine.settings)
    draft.make()
    engine.catalog.save(table, draft.definition)
    _switch_stream(engine, table, request.get("StreamSpecification"))
    if draft.created is not None:
        engine.catalog.add_index(table, draft.created)
    description = describe_table(table, response_time(now))
    if draft.deleted is not None:
        engine.catalog.remove_index(table, draft.deleted)
        engine.catalog.save(table, drop_unused(table.definition))
    return orjson.dumps({"TableDescription": description})


def _switch_stream(engine: Engine, table: Table, specification: dict[str, Any] | None) -> None:
    if specification is None:
        return
    if specification["StreamEnabled"]:
        engine.catalog.open_stream(table, specification["StreamViewType"])
    else:
        engine.catalog.close_stream(table)
