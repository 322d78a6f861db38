"""TableStatus and IndexStatus, and which changes a table accepts in which status.

What takes time on the service (CREATING, UPDATING ...) is a phase in the definition of the table or index. Without a
configured delay a phase ends the moment it begins, so the response to a change describes the table as of one
millisecond before (`response_time`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hashrange.core.errors import ResourceInUseException, ValidationException
from hashrange.core.wire import Wire
from hashrange.engine.definition import Definition, GlobalIndexDefinition, Phase
from hashrange.engine.table import Index, Table

if TYPE_CHECKING:
    from hashrange.engine.catalog import CatalogContext


ACTIVE = "ACTIVE"
IN_USE = "Attempt to change a resource which is still in use: "


def make_phase(status: str, now: int, delay: int, shown: Wire | None = None) -> Phase:
    """Return a phase that begins now; a shown member that is None is left out while the phase lasts."""
    return Phase(status, now + delay, shown or {})


def response_time(now: int) -> int:
    """Return the time as of which the response to a change describes the table: while its phase still lasts."""
    return now - 1


def running_phase(definition: Definition | GlobalIndexDefinition, at: int) -> Phase | None:
    """Return the phase that a table or index is in."""
    phase = definition.phase
    return phase if phase is not None and at < phase.until else None


def table_status(table: Table, at: int) -> str:
    """Return the TableStatus; a table that is being restored or loaded is still CREATING."""
    if table.is_hidden:
        return "CREATING"
    phase = running_phase(table.definition, at)
    return ACTIVE if phase is None else phase.status


def index_status(table: Table, index: Index, at: int) -> str:
    """Return the IndexStatus of a global index."""
    definition = index.definition
    assert isinstance(definition, GlobalIndexDefinition)
    phase = running_phase(definition, at)
    if phase is not None:
        return phase.status
    return "CREATING" if definition.backfill or table_status(table, at) == "CREATING" else ACTIVE


# -- what a status allows ----------------------------------------------------------------------------------------------


def check_changeable(table: Table, members: set[str], now: int) -> None:
    """Raise when a table is in a status that does not allow a change of these members."""
    status = table_status(table, now)
    if status == "CREATING":
        raise ResourceInUseException(f"{IN_USE}Table is being created: {table.name}")
    if status == "UPDATING" and members != {"DeletionProtectionEnabled"}:
        raise ResourceInUseException(f"{IN_USE}Table IOPS are currently being updated. Table: {table.name}")


def check_deletable(table: Table, now: int) -> None:
    """Raise when a table may not be deleted now."""
    status = table_status(table, now)
    if status == "CREATING":
        raise ResourceInUseException(f"{IN_USE}Table is being created: {table.name}")
    if table.definition.is_protected:
        raise ValidationException(
            "Resource cannot be deleted as it is currently protected against deletion. "
            "Disable deletion protection first."
        )
    if any(index_status(table, index, now) != ACTIVE for index in table.indexes if index.is_global):
        raise ResourceInUseException(
            f"{IN_USE}Cannot delete table while indexes are being created, updated, or deleted."
        )
    if status == "UPDATING":
        raise ResourceInUseException(f"{IN_USE}Table: {table.name} is in the process of being updated.")


def check_name_is_free(engine: CatalogContext, name: str, now: int) -> None:
    """Raise when there is a table of that name, also one that is being deleted."""
    table = engine.catalog.get(name)
    if table is not None and table_status(table, now) == "CREATING":
        raise ResourceInUseException(f"{IN_USE}Table is being created: {name}")
    if table is not None or find_deleting(engine, name, now) is not None:
        raise ResourceInUseException(f"Table already exists: {name}")


def locate_changeable(engine: CatalogContext, name_or_arn: str) -> Table:
    """Return a table to be changed or deleted, or raise that it does not exist or is being deleted."""
    name = engine.catalog.name_in(name_or_arn)
    if find_deleting(engine, name, engine.now()) is not None:
        raise ResourceInUseException(f"{IN_USE}Table is being deleted: {name}")
    return engine.catalog.locate(name)


# -- deleted tables that are shown as DELETING, where a delay is configured --------------------------------------------


def mark_deleting(engine: CatalogContext, description: Wire, now: int) -> None:
    """Show a deleted table as DELETING for the configured delay."""
    if engine.settings.status_delay:
        until = now + engine.settings.status_delay
        engine.catalog.deleting[description["TableName"]] = (until, description)


def find_deleting(engine: CatalogContext, name: str, now: int) -> Wire | None:
    """Return the description of a table that is being deleted."""
    until, description = engine.catalog.deleting.get(name, (now, None))
    if now < until:
        return description
    engine.catalog.deleting.pop(name, None)
    return None


def list_deleting(engine: CatalogContext, now: int) -> list[str]:
    """Return the names of the tables that are being deleted."""
    return [name for name in list(engine.catalog.deleting) if find_deleting(engine, name, now) is not None]
