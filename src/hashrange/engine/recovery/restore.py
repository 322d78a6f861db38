"""Restore a table: create it hidden, then fill it in slices from a copy of rows (`engine.recovery.table_copy`).

The copy is a backup's, or one made for this restore: the source's rows as they were at a time. While that copy is being
written there is no job; after an interruption the definition (`restoring`) says what to start again.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import orjson
from msgspec.structs import replace

from hashrange.core.errors import (
    BackupInUseException,
    InternalServerError,
    StorageError,
    TableAlreadyExistsException,
    TableInUseException,
)
from hashrange.core.values import measure_item
from hashrange.core.wire import Wire
from hashrange.engine import sql, write
from hashrange.engine.definition import Definition, Phase, RestoreState
from hashrange.engine.job_state import RestoreRows
from hashrange.engine.jobs import register_job, table_numbered
from hashrange.engine.recovery import backup_store, table_copy
from hashrange.engine.recovery.backup import CREATING, Backup, CopyLocation
from hashrange.engine.recovery.point_in_time import find_beginning, format_time
from hashrange.engine.stream import streams
from hashrange.engine.table import Table

if TYPE_CHECKING:
    from hashrange.engine.jobs import JobContext


logger = logging.getLogger("hashrange")
UNTIL_DONE = 2**53


def restore_backup(engine: JobContext, backup: Backup, request: Wire) -> Table:
    """Make a table from a backup."""
    definition = _define(engine, backup.definition, request)
    check_target(engine, request["TargetTableName"])
    if backup.details.status == CREATING:
        raise BackupInUseException(f"Backup is being created: {backup.arn}")
    if backup_store.is_being_restored(engine, backup):
        raise BackupInUseException(f"Backup is being used to restore another table: {backup.arn}")
    _check_readable(engine, backup)
    summary = {"SourceBackupArn": backup.arn, "SourceTableArn": backup.definition.arn}
    table = _create(engine, definition, RestoreState(backup=backup.arn), summary, engine.wall_time())
    assert backup.details.location is not None  # its status is AVAILABLE
    _start(engine, table, backup.details.location, temporary=False, at_once=backup.details.items <= table_copy.SMALL)
    return table


def _check_readable(engine: JobContext, backup: Backup) -> None:
    try:
        if backup.details.location is not None:
            table_copy.read_rows(engine, backup.details.location, 0)
    except StorageError as failure:
        raise InternalServerError(f"Backup {backup.arn} cannot be read. {failure}") from failure


def restore_to_time(engine: JobContext, source: Table, moment: int, request: Wire) -> Table:
    """Make a table with the contents that another table had at a time."""
    definition = _define(engine, source.definition, request)
    check_target(engine, request["TargetTableName"])
    recovery = source.definition.recovery
    assert recovery is not None  # else there is no time to restore to
    exact = max(moment, find_beginning(engine, recovery))  # shown in whole seconds, kept to the millisecond
    until = max(streams.first_change_after(engine, source, exact), streams.number_at(recovery.since))
    state = RestoreState(source=source.definition.table_id, moment=exact, until=until)
    table = _create(engine, definition, state, {"SourceTableArn": source.arn}, moment)
    _copy_rows(engine, source, table, until)
    _report_time(engine, table, moment, until)
    return table


def _report_time(engine: JobContext, table: Table, moment: int, until: int) -> None:
    """Log which changes a restore contains, and whether its time was ambiguous."""
    number, time = streams.format_sequence_number(until), format_time(moment)
    if engine.clock_log.is_ambiguous(moment):
        logger.warning(
            "Table %s is restored to the last time that the clock showed %s; it was set back, and showed that time "
            "more than once. The restore contains all changes before the sequence number %s.", table.name, time, number,
        )  # fmt: skip
    else:
        logger.info("Table %s is restored to %s: all changes before the sequence number %s.", table.name, time, number)


def _define(engine: JobContext, source: Definition, request: Wire) -> Definition:
    from hashrange.engine.recovery.restore_overrides import (
        make_restored,  # the rules of definitions: not needed to start
    )

    settings = engine.settings
    return make_restored(source, request, engine.now(), settings.region, settings.account)


def check_target(engine: JobContext, name: str) -> None:
    """Raise when there is a table of the name to be restored to."""
    table = engine.catalog.get(name)
    if table is None:
        return
    state = table.definition.restoring
    if not isinstance(state, RestoreState):
        raise TableAlreadyExistsException(f"Table already exists: {name}")
    origin = f" from backup: {state.backup}" if state.backup is not None else ""
    raise TableInUseException(f"Table: {name} is already being restored{origin}")


def _create(engine: JobContext, definition: Definition, state: RestoreState, summary: Wire, moment: int) -> Table:
    described = {**summary, "RestoreDateTime": moment / 1000, "RestoreInProgress": True}
    shown = {"RestoreSummary": described, "TableSizeBytes": 0, "ItemCount": 0}
    phase = Phase("CREATING", UNTIL_DONE, shown)
    return engine.catalog.create(replace(definition, restoring=state, phase=phase))


def _copy_rows(engine: JobContext, source: Table, table: Table, until: int) -> None:
    rows = table_copy.rows_until(source.n, until)
    is_small = table_copy.is_small_copy(engine, rows)
    if is_small or engine.store.in_memory:
        _start(engine, table, table_copy.copy_to_table(engine, rows), temporary=True, at_once=is_small)
        return
    location = CopyLocation(file=_name_file(table))
    engine.copies.start(rows, location.file or "", lambda failure: _on_copied(engine, table.n, location, failure))


def _name_file(table: Table) -> str:
    return f"restore-{table.definition.table_id}.db"


def _on_copied(engine: JobContext, n: int, location: CopyLocation, failure: StorageError | None) -> None:
    """Continue once the copy is written; the whole restore may have been rolled back meanwhile."""
    table = table_numbered(engine, n)
    if table is None or not table.is_hidden:
        table_copy.discard_copy(engine, location)
    elif failure is None:
        _start(engine, table, location, temporary=True, at_once=False)
    else:
        _give_up(engine, table, str(failure))


def _start(engine: JobContext, table: Table, location: CopyLocation, *, temporary: bool, at_once: bool) -> None:
    engine.jobs.start(table.n, RestoreRows(location, temporary), at_once=at_once)


def _give_up(engine: JobContext, table: Table, reason: str) -> None:
    logger.error("The restore of table %s was given up. %s", table.name, reason)
    engine.catalog.drop(table)


@register_job(RestoreRows)
def _restore(engine: JobContext, n: int, state: RestoreRows) -> RestoreRows | None:
    """Put some of the copied items into the table; at the end, put it into use and remove a temporary copy."""
    if state.location.file in engine.copies.names:  # it gets its name after this commit, which another thread shares
        return state
    table = table_numbered(engine, n)
    rows = [] if table is None else _read(engine, table, state)
    if table is not None and rows:
        _put(engine, table, rows)
        return replace(state, last=rows[-1][0])
    if table is not None and rows is not None:
        _reveal(engine, table)
    if state.temporary:
        table_copy.discard_copy(engine, state.location)
    return None


def _read(engine: JobContext, table: Table, state: RestoreRows) -> list[tuple[Any, ...]] | None:
    """Return the next rows, an empty list at the end; None if the copy is damaged, and drop the table then."""
    try:
        return table_copy.read_rows(engine, state.location, state.last)
    except StorageError as failure:
        _give_up(engine, table, str(failure))
        return None


def _put(engine: JobContext, table: Table, rows: list[tuple[Any, ...]]) -> None:
    for _, key, size, body in rows:
        item = orjson.loads(body)
        image = write.make_image(table, item, measure_item(item) if size is None else size, checked=True)
        write.apply(engine, table, key, None, image)


def _reveal(engine: JobContext, table: Table) -> None:
    definition, phase = table.definition, table.definition.phase
    assert phase is not None
    until = max(engine.now(), definition.created + engine.settings.status_delay)
    engine.catalog.save(table, replace(definition, restoring=False, phase=replace(phase, until=until)))


def restart_copies(engine: JobContext) -> None:
    """Begin again what was interrupted, by a restart or a full disk, before the job of a restore was recorded."""
    under_way = {n for (n,) in engine.store.execute(sql.FIND_JOBS, (RestoreRows.job_type,))}
    for table in list(engine.catalog.tables.values()):
        state = table.definition.restoring
        is_begun = table.n in under_way or _name_file(table) in engine.copies.names
        if isinstance(state, RestoreState) and not is_begun:
            engine.begin_transaction()
            _start_again(engine, table, state)


def _start_again(engine: JobContext, table: Table, state: RestoreState) -> None:
    tables, until = engine.catalog.tables.values(), state.until
    source = next((other for other in tables if other.definition.table_id == state.source), None)
    recovery = source.definition.recovery if source else None
    if until is None and state.moment is not None:  # begun by an older hashrange
        until = streams.number_at(state.moment + 1)
    if source is None or until is None or recovery is None or streams.number_at(recovery.since) > until:
        _give_up(engine, table, "Its source was deleted, or recovery turned off there, before it was copied.")
    elif streams.last_removed(engine, source) >= until:
        _give_up(engine, table, "The changes since the time to restore to are no longer in the log.")
    else:
        _copy_rows(engine, source, table, until)
