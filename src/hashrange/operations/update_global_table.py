"""UpdateGlobalTable: refused, since there are no global tables of the old kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hashrange.core.errors import GlobalTableNotFoundException, ValidationException
from hashrange.engine.control_plane.global_tables import UNSUPPORTED, message_for_missing
from hashrange.engine.operation import operation
from hashrange.engine.shape.constraint_message import length_in_own_sentence

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine

NOTHING = "One or more parameter values were invalid"


@operation(violations=length_in_own_sentence("GlobalTableName", "TableName"))
def update_global_table(_engine: Engine, request: dict[str, Any]) -> bytes:
    """Say that there is no such global table, or that none of its kind can be added to."""
    updates = request["ReplicaUpdates"]
    if not updates or not all(updates):
        raise ValidationException(NOTHING)
    if any("Create" in update for update in updates):
        raise ValidationException(UNSUPPORTED)
    raise GlobalTableNotFoundException(message_for_missing(request["GlobalTableName"]))
