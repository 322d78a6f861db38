"""RestoreTableFromBackup: create a table from a backup."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.core.errors import ValidationException
from hashrange.engine.control_plane.table_description import describe_table
from hashrange.engine.control_plane.table_status import response_time
from hashrange.engine.operation import operation
from hashrange.engine.recovery import backup_store
from hashrange.engine.recovery.point_in_time import OTHER_REGION
from hashrange.engine.recovery.restore import restore_backup
from hashrange.engine.shape.constraint_message import length_in_own_sentence

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation(writes="tables", violations=length_in_own_sentence("TargetTableName", "TableName"))
def restore_table_from_backup(engine: Engine, request: dict[str, Any]) -> bytes:
    """Create the table, which is usable once all items are copied; the response says CREATING."""
    arn, now = request["BackupArn"], engine.now()
    backup = backup_store.find_backup(engine, arn)
    if arn != backup.arn and "SSESpecificationOverride" not in request:
        raise ValidationException(OTHER_REGION)
    table = restore_backup(engine, backup, request)
    return orjson.dumps({"TableDescription": describe_table(table, response_time(now))})
