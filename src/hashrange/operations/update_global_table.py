"""UpdateGlobalTable: refused: the service no longer supports this version (2017) of global tables."""

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
    """Raise the service's error for it."""
    updates = request["ReplicaUpdates"]
    if not updates or not all(updates):
        raise ValidationException(NOTHING)
    if any("Create" in update for update in updates):
        raise ValidationException(UNSUPPORTED)
    raise GlobalTableNotFoundException(message_for_missing(request["GlobalTableName"]))
