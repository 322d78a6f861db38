"""DescribeTable: what a table is, and how large."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.engine.control import describe
from hashrange.engine.control.admission import find_departing
from hashrange.engine.operation import operation

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation()
def describe_table(engine: Engine, request: dict[str, Any]) -> bytes:
    """Describe a table as it stands now."""
    now = engine.now()
    departing = find_departing(engine, engine.catalog.name_in(request["TableName"]), now)
    description = departing or describe.describe_table(engine.catalog.locate(request["TableName"]), now)
    return orjson.dumps({"Table": description})
