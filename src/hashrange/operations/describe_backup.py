"""DescribeBackup: describe a backup and its table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.engine.operation import operation
from hashrange.engine.recovery.backup import describe_fully
from hashrange.engine.recovery.backup_store import find_backup

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation()
def describe_backup(engine: Engine, request: dict[str, Any]) -> bytes:
    """Describe a backup, by the ARN that was asked for."""
    arn = request["BackupArn"]
    return orjson.dumps({"BackupDescription": describe_fully(find_backup(engine, arn), arn=arn)})
