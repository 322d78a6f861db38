"""CreateTable: make a table, with its indexes, stream, tags and policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.engine.control_plane.create_table import make_definition, mark_creating
from hashrange.engine.control_plane.table_description import answer_time, describe_table
from hashrange.engine.control_plane.table_status import check_name_is_free
from hashrange.engine.operation import operation

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation(writes=True)
def create_table(engine: Engine, request: dict[str, Any]) -> bytes:
    """Make a table that is there at once, and answer that it is CREATING."""
    name, now, settings = engine.catalog.name_in(request["TableName"]), engine.now(), engine.settings
    definition = make_definition({**request, "TableName": name}, now, settings.region, settings.account)
    check_name_is_free(engine, name, now)
    mark_creating(definition, request, now, settings.status_delay)
    table = engine.catalog.create(definition)
    stream = request.get("StreamSpecification")
    if stream is not None and stream["StreamEnabled"]:
        engine.catalog.open_stream(table, stream["StreamViewType"])
    return orjson.dumps({"TableDescription": describe_table(table, answer_time(now))})
