"""Create, find, delete and expire backups. Their rows are copies (`engine.recovery.table_copy`).

A backup has its own copy of the table's definition, so it outlives the table. When a table with point-in-time recovery
is deleted, its rows stay where they are as a system backup, for 35 days.
"""

from __future__ import annotations

import logging
import re
import secrets
from typing import TYPE_CHECKING, Any

from msgspec import UNSET
from msgspec.structs import replace

from hashrange.core.errors import (
    AccessDeniedException,
    BackupInUseException,
    BackupNotFoundException,
    StorageError,
    ValidationException,
)
from hashrange.engine import sql
from hashrange.engine.definition import RestoreState
from hashrange.engine.job_state import Purge, load_state
from hashrange.engine.recovery import table_copy
from hashrange.engine.recovery.backup import (
    AVAILABLE,
    CREATING,
    SYSTEM,
    USER,
    Backup,
    BackupDetails,
    CopyLocation,
    dump_details,
    load_details,
)
from hashrange.engine.recovery.point_in_time import format_time
from hashrange.engine.stream.streams import DAY

if TYPE_CHECKING:
    from hashrange.engine.recovery.table_copy import CopyContext
    from hashrange.engine.table import Table


logger = logging.getLogger("hashrange")
KEPT_DAYS = 35
ARN = re.compile(r"arn:([a-z-]*):(\w*):([a-z0-9-]*):(\d*):table/([a-zA-Z0-9_.-]+)/backup/(\d{14}-[0-9a-f]{8})")


def create_backup(engine: CopyContext, table: Table, name: str) -> Backup:
    """Back up a table as it is now: at once if it is small, else in the background."""
    backup = _compose(engine, table, name, USER)
    rows = table_copy.rows_now(table)
    if engine.store.in_memory:
        _complete(engine, backup, table_copy.copy_to_table(engine, rows))
    elif table_copy.is_small_copy(engine, rows):
        _complete(engine, backup, table_copy.copy_to_file(engine, rows, _name_file(backup)))
    else:
        _begin_copying(engine, backup, table)
    return backup


def _name_file(backup: Backup) -> str:
    return f"{backup.identity}.db"


def _begin_copying(engine: CopyContext, backup: Backup, table: Table) -> None:
    """Record the moment of the backup, and log all changes from now on, so that the copy can be rolled back to it."""
    definition, until = table.definition, engine.next_sequence()
    details = replace(backup.details, source=table.n, until=until)
    begun = replace(backup, details=details)
    _copy(engine, begun, table.n, until)
    log = None if definition.pitr is UNSET else definition.pitr
    engine.catalog.save(table, replace(definition, copying=(*definition.copying, until), pitr=log))
    _save(engine, begun)


def _copy(engine: CopyContext, backup: Backup, n: int, until: int) -> None:
    location = CopyLocation(file=_name_file(backup))
    rows = table_copy.rows_until(n, until)
    engine.copies.start(rows, location.file or "", lambda failure: _on_copied(engine, backup, location, failure))


def _end_copying(engine: CopyContext, backup: Backup) -> None:
    """Stop logging for a backup; remove what is left of its table if that was deleted meanwhile."""
    n, until = backup.details.source, backup.details.until
    tables = (*engine.catalog.tables.values(), *engine.catalog.retired.values())
    table = next((table for table in tables if table.n == n), None)
    if table is not None:
        copying = tuple(other for other in table.definition.copying if other != until)
        engine.catalog.save(table, replace(table.definition, copying=copying))
    others = [other for other in _load_all(engine) if other.arn != backup.arn]
    if n is None or n in engine.catalog.live_numbers or any(other.details.source == n for other in others):
        return
    kept = any(other.details.location == CopyLocation(table=n) for other in others)  # as the table's system backup
    left = [*([] if kept else [f"t{n}"]), *([] if table else [f"c{n}"])]
    if left:
        engine.jobs.start(n, Purge(tuple(left)), at_once=False)


def _on_copied(engine: CopyContext, backup: Backup, location: CopyLocation, failure: StorageError | None) -> None:
    """Complete or remove a large backup once its file is written; its row may have been rolled back meanwhile."""
    kept = _load(engine, backup.arn)
    if kept is None:
        table_copy.discard_copy(engine, location)
    elif failure is None:
        _end_copying(engine, kept)
        _complete(engine, kept, location)
    else:
        logger.error("Backup %s was given up. %s", backup.arn, failure)
        _end_copying(engine, kept)
        _remove(engine, kept)


def _complete(engine: CopyContext, backup: Backup, location: CopyLocation) -> None:
    details = replace(backup.details, status=AVAILABLE, location=location, source=None, until=None)
    _save(engine, replace(backup, details=details))


def keep_deleted_table(engine: CopyContext, table: Table) -> None:
    """Keep the rows of a table that is being deleted, where they are, as its system backup."""
    backup = _compose(engine, table, f"{table.name}$DeletedTableBackup", SYSTEM)
    location, expires = CopyLocation(table=table.n), engine.now() + KEPT_DAYS * DAY
    details = replace(backup.details, status=AVAILABLE, location=location, expires=expires)
    _save(engine, replace(backup, details=details))


def _compose(engine: CopyContext, table: Table, name: str, backup_type: str) -> Backup:
    details = BackupDetails(
        type=backup_type,
        status=CREATING,
        definition=replace(table.definition, copying=()),
        items=table.item_count,
        bytes=table.size_bytes,
        location=None,
        expires=None,
    )
    return Backup(_new_arn(engine, table, engine.now(), backup_type), name, engine.wall_time(), details)


def _new_arn(engine: CopyContext, table: Table, now: int, backup_type: str) -> str:
    while True:
        arn = f"{table.arn}/backup/{now:014d}-{'00000000' if backup_type == SYSTEM else secrets.token_hex(4)}"
        if _load(engine, arn) is None:
            return arn
        now += 1


def delete_backup(engine: CopyContext, backup: Backup) -> None:
    """Remove a user's backup, unless it is being made or restored from."""
    if backup.is_system:
        raise ValidationException(
            f"Invalid Request: User is not allowed to delete the system backup with arn {backup.arn}. "
            f"It will automatically expire on {format_time(backup.details.expires or 0)}"
        )
    if backup.details.status == CREATING:
        raise BackupInUseException(f"Backup is being created: {backup.arn}")
    if is_being_restored(engine, backup):
        raise BackupInUseException(f"Backup is being used to restore table: {backup.arn}")
    _remove(engine, backup)


def is_being_restored(engine: CopyContext, backup: Backup) -> bool:
    """Return whether a table is being made from a backup."""
    restoring = [table.definition.restoring for table in engine.catalog.tables.values()]
    return any(isinstance(state, RestoreState) and state.backup == backup.arn for state in restoring)


def _remove(engine: CopyContext, backup: Backup) -> None:
    engine.written += 1
    engine.store.execute(sql.DELETE_BACKUP, (backup.arn,))
    if backup.details.location is not None:
        table_copy.discard_copy(engine, backup.details.location)


def expire(engine: CopyContext) -> None:
    """Remove system backups that are past their time."""
    for backup in _load_all(engine, sql.FIND_BACKUPS_UNTIL, engine.now() - KEPT_DAYS * DAY):
        if backup.has_expired(engine.now()) and not is_being_restored(engine, backup):
            engine.begin_transaction()
            _remove(engine, backup)


def restart_copies(engine: CopyContext) -> None:
    """Copy again what was interrupted, by a restart or a full disk, as it was at the moment of the backup."""
    for backup in _load_all(engine):
        if backup.details.status != CREATING or _name_file(backup) in engine.copies.names:
            continue
        engine.begin_transaction()
        n, until = backup.details.source, backup.details.until
        if n is not None and until is not None:
            _copy(engine, backup, n, until)
        else:  # begun by an older hashrange, which did not record its moment
            logger.error("Backup %s was given up: it was interrupted, and its moment is not known.", backup.arn)
            _remove(engine, backup)


def clean_up_files(engine: CopyContext) -> None:
    """Finish or remove the files that a kill left in `backups`; log files that are missing or belong to no backup."""
    backups = _load_all(engine)
    recorded = {backup.file for backup in backups if backup.file} | _list_job_files(engine)
    engine.store.clean_up_partial_copies(recorded)
    found = engine.store.list_copies()
    for backup in backups:
        if backup.file and backup.file not in found:
            logger.warning("Backup %s is not there: its file %s is missing in backups.", backup.arn, backup.file)
    for file in sorted(found - recorded):
        logger.warning("The file %s in backups belongs to no backup of this database; it can be removed.", file)


def _list_job_files(engine: CopyContext) -> set[str]:
    states = [load_state(*row) for row in engine.store.execute(sql.LOAD_JOB_STATES).fetchall()]
    return {state.copy_file for state in states if state.copy_file is not None}


# -- finding -----------------------------------------------------------------------------------------------------------


def find_backup(engine: CopyContext, arn: str) -> Backup:
    """Return a backup by its ARN, whatever region that names, or raise that there is none."""
    match = ARN.fullmatch(arn)
    if match is None:
        raise ValidationException("Invalid Backup ARN")
    partition, service, _region, account, name, identity = match.groups()
    if (partition, service) != ("aws", "dynamodb"):
        raise ValidationException("BackupArn is not valid")
    settings = engine.settings
    if account != settings.account:
        raise AccessDeniedException("Access is denied")
    backup = _load(engine, f"arn:aws:dynamodb:{settings.region}:{account}:table/{name}/backup/{identity}")
    if backup is None or backup.has_expired(engine.now()):
        raise BackupNotFoundException(f"Backup not found: {arn}")
    if not _is_kept(engine, backup):
        raise BackupNotFoundException(f"Backup not found: {arn} (its file {backup.file} is missing in backups)")
    return backup


def _is_kept(engine: CopyContext, backup: Backup) -> bool:
    return backup.file is None or engine.store.has_copy(backup.file)  # files can be moved away


def list_after(engine: CopyContext, start: str | None) -> list[Backup]:
    """Return all backups, in the order they were made, that come after an ARN, which need not exist any more."""
    after = ("", "") if start is None else _place_in_order(engine, start)
    now = engine.now()
    shown = [backup for backup in _load_all(engine) if not backup.has_expired(now) and _is_kept(engine, backup)]
    return sorted(
        (backup for backup in shown if (backup.identity, backup.arn) > after),
        key=lambda backup: (backup.identity, backup.arn),
    )


def _place_in_order(engine: CopyContext, arn: str) -> tuple[str, str]:
    match = ARN.fullmatch(arn)
    if match is None:
        raise ValidationException("Invalid Backup ARN")
    if match[3] != engine.settings.region:
        raise ValidationException("Invalid Request: The supplied ExclusiveStartBackupArn does not match the region")
    return match[6], arn


def _load(engine: CopyContext, arn: str) -> Backup | None:
    return next(iter(_load_all(engine, sql.FIND_BACKUP, arn)), None)


def _load_all(engine: CopyContext, query: str = sql.LOAD_BACKUPS, *parameters: object) -> list[Backup]:
    rows = engine.store.execute(query, parameters)
    return [_read(row) for row in rows.fetchall()]


def _read(row: tuple[Any, ...]) -> Backup:
    arn, name, created, details = row
    return Backup(arn, name, created, load_details(details))


def _save(engine: CopyContext, backup: Backup) -> None:
    engine.written += 1
    engine.store.execute(
        sql.SAVE_BACKUP,
        (backup.arn, backup.name, backup.created, dump_details(backup.details)),
    )
