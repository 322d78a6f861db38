"""UpdateContinuousBackups: turn point-in-time recovery of a table on or off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.engine.operation import operation
from hashrange.engine.recovery.point_in_time import check_specification, describe_recovery, find_table, switch_recovery

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation(writes="tables")
def update_continuous_backups(engine: Engine, request: dict[str, Any]) -> bytes:
    """Enable or disable recovery, and describe it."""
    specification = request["PointInTimeRecoverySpecification"]
    check_specification(specification)
    table = find_table(engine, request["TableName"])
    switch_recovery(engine, table, specification)
    return orjson.dumps({"ContinuousBackupsDescription": describe_recovery(engine, table)})
