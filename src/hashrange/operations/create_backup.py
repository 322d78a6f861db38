"""CreateBackup: a copy of a table that outlives it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.engine.operation import operation
from hashrange.engine.recovery import backup_store
from hashrange.engine.recovery.backup import CREATING, describe_details
from hashrange.engine.recovery.point_in_time import find_table

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation(writes="tables")
def create_backup(engine: Engine, request: dict[str, Any]) -> bytes:
    """Back up a table; the response says CREATING."""
    backup = backup_store.create_backup(engine, find_table(engine, request["TableName"]), request["BackupName"])
    return orjson.dumps({"BackupDetails": describe_details(backup, CREATING)})
