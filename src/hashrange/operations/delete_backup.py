"""DeleteBackup: remove a backup."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.engine.operation import operation
from hashrange.engine.recovery import backup_store
from hashrange.engine.recovery.backup import DELETED, describe_fully

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation(writes="tables")
def delete_backup(engine: Engine, request: dict[str, Any]) -> bytes:
    """Remove a backup and describe it."""
    arn = request["BackupArn"]
    backup = backup_store.find_backup(engine, arn)
    backup_store.delete_backup(engine, backup)
    return orjson.dumps({"BackupDescription": describe_fully(backup, DELETED, arn)})
