"""DescribeContinuousBackups: whether a table has point-in-time recovery, and for which times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.engine.operation import operation
from hashrange.engine.recovery.point_in_time import describe_recovery, find_table

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation()
def describe_continuous_backups(engine: Engine, request: dict[str, Any]) -> bytes:
    """Describe a table's point-in-time recovery."""
    table = find_table(engine, request["TableName"])
    return orjson.dumps({"ContinuousBackupsDescription": describe_recovery(engine, table)})
