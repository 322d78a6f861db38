"""Whether a table can take a change now: its own state, that of its indexes, and tables on their way in or out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hashrange.core.errors import ResourceInUseException, ValidationException
from hashrange.core.wire import Wire
from hashrange.engine.control_plane.table_description import ACTIVE, index_status, table_status
from hashrange.engine.table import Table

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


IN_USE = "Attempt to change a resource which is still in use: "


def check_changeable(table: Table, members: set[str], now: int) -> None:
    """Raise when a table is in the middle of something that a change of these members cannot join."""
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
    if table.definition["DeletionProtectionEnabled"]:
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


def check_name_is_free(engine: Engine, name: str, now: int) -> None:
    """Raise when there is a table of that name, also one that is about to be gone."""
    table = engine.catalog.get(name)
    if table is not None and table_status(table, now) == "CREATING":
        raise ResourceInUseException(f"{IN_USE}Table is being created: {name}")
    if table is not None or find_deleting(engine, name, now) is not None:
        raise ResourceInUseException(f"Table already exists: {name}")


def locate_changeable(engine: Engine, name_or_arn: str) -> Table:
    """Return a table to be changed or deleted, or raise that it is not there, or not for long."""
    name = engine.catalog.name_in(name_or_arn)
    if find_deleting(engine, name, engine.now()) is not None:
        raise ResourceInUseException(f"{IN_USE}Table is being deleted: {name}")
    return engine.catalog.locate(name)


# -- deleted tables that still show, where a delay is configured -------------------------------------------------------


def mark_deleting(engine: Engine, description: Wire, now: int) -> None:
    """Let a deleted table be seen as DELETING for as long as states last."""
    if engine.settings.status_delay:
        until = now + engine.settings.status_delay
        engine.catalog.deleting[description["TableName"]] = (until, description)


def find_deleting(engine: Engine, name: str, now: int) -> Wire | None:
    """Return the description of a table that is being deleted."""
    until, description = engine.catalog.deleting.get(name, (now, None))
    if now < until:
        return description
    engine.catalog.deleting.pop(name, None)
    return None


def list_deleting(engine: Engine, now: int) -> list[str]:
    """Return the names of the tables that are being deleted."""
    return [name for name in list(engine.catalog.deleting) if find_deleting(engine, name, now) is not None]
