"""DescribeContributorInsights: whether insights are enabled, and their rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.engine.control_plane.contributor_insights import check_index, describe
from hashrange.engine.operation import operation
from hashrange.engine.shape.constraint_message import length_in_own_sentence

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation(violations=length_in_own_sentence("IndexName", "IndexName"))
def describe_contributor_insights(engine: Engine, request: dict[str, Any]) -> bytes:
    """Describe the setting of a table or an index."""
    table = engine.catalog.locate(request["TableName"])
    name = check_index(table, request.get("IndexName"))
    setting = table.definition.insights.get(name)
    return orjson.dumps(describe(table, name, setting, engine.now()))
