"""Point-in-time recovery: whether it is on for a table, and which times the table can be restored to.

The change log makes it possible; the table's definition says since when it is kept for this, and for how long.
The state of a table at a time is that after all changes of that millisecond. If the clock was set back and showed a
time repeatedly, the last time counts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hashrange.core.errors import (
    InvalidRestoreTimeException,
    PointInTimeRecoveryUnavailableException,
    TableNotFoundException,
    ValidationException,
)
from hashrange.core.wire import Wire
from hashrange.engine.definition import PointInTimeRecovery
from hashrange.engine.stream.streams import DAY, SEQUENCE_BITS, last_removed, number_at

if TYPE_CHECKING:
    from hashrange.engine.catalog import CatalogContext
    from hashrange.engine.table import Table


SOURCE_ARN = re.compile(r"arn:aws:dynamodb:([a-z0-9-]+):(\d{12}):table/([a-zA-Z0-9_.-]+)")
OTHER_REGION = "Invalid Request: sseSpecificationOverride must be provided for cross-region restores"
MAX_PERIOD_DAYS = 35  # days
END_OF_TIME = 253_402_300_799
LAG = 300_000  # the service needs five minutes until a change can be recovered


@dataclass(frozen=True, slots=True)
class RestoreWindow:
    """The times that a table can be restored to, in ms, both of whole seconds."""

    days: int
    earliest: int
    latest: int


def find_table(engine: CatalogContext, name_or_arn: str) -> Table:
    """Return a table for the backup and recovery operations, which have an error of their own."""
    table = engine.catalog.get(name_or_arn)
    if table is None or table.is_hidden:
        raise TableNotFoundException(f"Table not found: {name_or_arn}")
    return table


def check_specification(specification: Wire) -> None:
    """Raise if a request gives a recovery period and turns point-in-time recovery off."""
    if not specification["PointInTimeRecoveryEnabled"] and "RecoveryPeriodInDays" in specification:
        raise ValidationException(
            "Invalid Request: Cannot specify RecoveryPeriodInDays when disabling point-in-time recovery."
        )


def switch_recovery(engine: CatalogContext, table: Table, specification: Wire) -> None:
    """Turn point-in-time recovery on or off, or change its period; write nothing if nothing changes."""
    wanted, days = specification["PointInTimeRecoveryEnabled"], specification.get("RecoveryPeriodInDays")
    current = table.definition.recovery
    changed = _change(current, days, engine.wall_time()) if wanted else None
    if changed != current:
        engine.catalog.save(table, replace(table.definition, pitr=changed))


def _change(current: PointInTimeRecovery | None, days: int | None, now: int) -> PointInTimeRecovery:
    if current is None:
        return PointInTimeRecovery(days or MAX_PERIOD_DAYS, now)
    days = days or current.days
    kept = min(days, current.days)  # a longer period does not bring back what a shorter one removed
    return PointInTimeRecovery(days, max(current.since, now - kept * DAY))


def find_window(engine: CatalogContext, table: Table) -> RestoreWindow | None:
    """Return the times that a table can be restored to, none of them in the future; None when recovery is off."""
    recovery, now = table.definition.recovery, engine.wall_time()
    if recovery is None:
        return None
    since = find_beginning(engine, recovery)
    # If the clock was set forward, changes may have been trimmed too early: start after the last trimmed one.
    removed = (last_removed(engine, table) >> SEQUENCE_BITS) + 1
    earliest = min(max(since, now - recovery.days * DAY, removed), now)
    return RestoreWindow(recovery.days, _whole(earliest), _whole(max(earliest, now - LAG)))


def find_beginning(engine: CatalogContext, recovery: PointInTimeRecovery) -> int:
    """Return since when changes are kept: an earlier time than the recorded one if the clock was set back since."""
    return engine.clock_log.earliest_since(recovery.since, number_at(recovery.since))


def _whole(millis: int) -> int:
    return millis - millis % 1000


def describe_recovery(engine: CatalogContext, table: Table) -> Wire:
    """Return the ContinuousBackupsDescription."""
    window = find_window(engine, table)
    recovery: Wire = {"PointInTimeRecoveryStatus": "DISABLED" if window is None else "ENABLED"}
    if window is not None:
        recovery["RecoveryPeriodInDays"] = window.days
        recovery["EarliestRestorableDateTime"] = window.earliest / 1000
        recovery["LatestRestorableDateTime"] = window.latest / 1000
    return {"ContinuousBackupsStatus": "ENABLED", "PointInTimeRecoveryDescription": recovery}


def check_time_members(request: Wire) -> None:
    """Raise unless a restore gives its time in exactly one of the two ways."""
    if "RestoreDateTime" in request and request.get("UseLatestRestorableTime"):
        raise ValidationException(
            "Invalid Request: Both RestoreDateTime and UseLatestRestorableTime cannot be set for point-in-time restore "
            "request. Please specify either RestoreDateTime time or UseLatestRestorableTime"
        )
    if "RestoreDateTime" not in request and not request.get("UseLatestRestorableTime"):
        raise ValidationException(
            "Invalid Request: Either one of RestoreDateTime or UseLatestRestorableTime must be specified, but not both"
        )


def find_source(engine: CatalogContext, request: Wire) -> Table:
    """Return the table to restore from, given by name or by ARN."""
    if "SourceTableArn" not in request:
        if "SourceTableName" not in request:
            raise ValidationException("The parameter 'TableName' is required but was not present in the request")
        return find_table(engine, request["SourceTableName"])
    if "SourceTableName" in request:
        raise ValidationException("Must provide exactly one of: sourceTableArn, sourceTableName")
    match = SOURCE_ARN.fullmatch(request["SourceTableArn"])
    if match is None:
        raise ValidationException("sourceTableArn is not a valid ARN")
    region, account, name = match.groups()
    if account != engine.settings.account:
        raise ValidationException("This action is only supported by accounts that match the resource owner's account")
    if region == engine.settings.region and engine.catalog.get(name) is not None:
        return find_table(engine, name)
    if region != engine.settings.region and "SSESpecificationOverride" not in request:
        raise ValidationException(OTHER_REGION)
    raise TableNotFoundException("Table not found")


def choose_restore_time(engine: CatalogContext, table: Table, seconds: float | None) -> int:
    """Return the time to restore to, by default the latest; raise if it is outside the restore window."""
    window = find_window(engine, table)
    if window is None:
        raise PointInTimeRecoveryUnavailableException(f"Point in time recovery is not enabled for table '{table.name}'")
    moment = window.latest if seconds is None else round(min(max(seconds, 0), END_OF_TIME) * 1000)
    if not window.earliest <= moment <= window.latest:
        raise InvalidRestoreTimeException(
            f"RestoreDateTime '{format_time(moment)}' must be within EarliestRestorableDateTime "
            f"'{format_time(window.earliest)}' and LatestRestorableDateTime '{format_time(window.latest)}'"
        )
    return moment


def format_time(millis: int) -> str:
    """Return a time in the format of the service's texts: whole seconds, years of four digits."""
    seconds = min(max(millis // 1000, 0), END_OF_TIME)
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
