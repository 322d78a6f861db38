"""UpdateContributorInsights: enable or disable insights on a table or an index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from msgspec.structs import replace

from hashrange.engine.control_plane.contributor_insights import change_setting, check_index, summarize
from hashrange.engine.control_plane.table_status import response_time
from hashrange.engine.operation import operation
from hashrange.engine.shape.constraint_message import length_in_own_sentence

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation(writes="tables", violations=length_in_own_sentence("IndexName", "IndexName"))
def update_contributor_insights(engine: Engine, request: dict[str, Any]) -> bytes:
    """Store the setting; the response says ENABLING or DISABLING."""
    table, now = engine.catalog.locate(request["TableName"]), engine.now()
    name = check_index(table, request.get("IndexName"))
    settings = table.definition.insights
    changed = change_setting(settings.get(name), request, now, engine.settings.status_delay)
    if changed is None or changed is settings.get(name):
        return orjson.dumps(summarize(table, name, changed, now))
    engine.catalog.save(table, replace(table.definition, insights={**settings, name: changed}))
    return orjson.dumps(summarize(table, name, changed, response_time(now)))
