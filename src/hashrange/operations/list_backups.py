"""ListBackups: the backups of all tables or of one, those of deleted tables included."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from hashrange.core.errors import ValidationException
from hashrange.core.values import INVALID_PARAMETER
from hashrange.core.wire import Wire
from hashrange.engine.operation import operation
from hashrange.engine.recovery.backup import Backup, summarize_backup
from hashrange.engine.recovery.backup_store import list_after

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


MAX_PAGE_SIZE = 100


@operation()
def list_backups(engine: Engine, request: Wire) -> bytes:
    """List backups in order of creation, after a given one, which may have been deleted."""
    lower, upper = request.get("TimeRangeLowerBound"), request.get("TimeRangeUpperBound")
    if lower is not None and upper is not None and lower > upper:
        raise ValidationException(
            f"{INVALID_PARAMETER}Time range lower bound must be less than or equal to upper bound"
        )
    name = engine.catalog.name_in(request["TableName"]) if "TableName" in request else None
    rest = list_after(engine, request.get("ExclusiveStartBackupArn"))
    found = [backup for backup in rest if _is_asked_for(backup, name, request)]
    page = found[: request.get("Limit", MAX_PAGE_SIZE)]
    last = {"LastEvaluatedBackupArn": page[-1].arn} if len(found) > len(page) else {}
    return orjson.dumps({"BackupSummaries": [summarize_backup(backup) for backup in page], **last})


def _is_asked_for(backup: Backup, name: str | None, request: Wire) -> bool:
    """Return whether a backup passes the filters; the lower bound is inclusive, the upper exclusive."""
    backup_type, seconds = request.get("BackupType", "USER"), backup.created / 1000
    return (
        (name is None or backup.definition.name == name)
        and backup_type in ("ALL", backup.details.type)
        and request.get("TimeRangeLowerBound", 0) <= seconds
        and ("TimeRangeUpperBound" not in request or seconds < request["TimeRangeUpperBound"])
    )
