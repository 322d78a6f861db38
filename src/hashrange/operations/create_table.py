"""CreateTable: create a table, with its indexes, stream, tags and policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.core.errors import ValidationException
from hashrange.engine.control_plane.create_table import make_definition, mark_creating
from hashrange.engine.control_plane.table_description import describe_table
from hashrange.engine.control_plane.table_status import check_name_is_free, response_time
from hashrange.engine.operation import operation
from hashrange.engine.shape.constraint_message import ViolationReport, Violations, messages_for_each

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


def _messages(violations: Violations) -> list[str]:
    if violations[0].path.upper == "TableName" and violations[0].found is None:
        raise ValidationException("The parameter 'TableName' is required but was not present in the request")
    return messages_for_each(violations)


VIOLATIONS = ViolationReport(first=frozenset({"TableName"}), messages=_messages)


@operation(writes="tables", violations=VIOLATIONS)
def create_table(engine: Engine, request: dict[str, Any]) -> bytes:
    """Create a table, usable at once; the response says CREATING."""
    name, now, settings = engine.catalog.name_in(request["TableName"]), engine.now(), engine.settings
    definition = make_definition({**request, "TableName": name}, now, settings.region, settings.account)
    check_name_is_free(engine, name, now)
    table = engine.catalog.create(mark_creating(definition, request, now, settings.status_delay))
    stream = request.get("StreamSpecification")
    if stream is not None and stream["StreamEnabled"]:
        engine.catalog.open_stream(table, stream["StreamViewType"])
    return orjson.dumps({"TableDescription": describe_table(table, response_time(now))})
