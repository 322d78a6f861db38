"""CreateGlobalTable: refused, as the service refuses the old kind of global tables everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hashrange.core.errors import ValidationException
from hashrange.engine.control_plane.global_tables import UNSUPPORTED
from hashrange.engine.operation import operation
from hashrange.engine.shape.constraint_message import length_in_own_sentence

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation(violations=length_in_own_sentence("GlobalTableName", "TableName"))
def create_global_table(_engine: Engine, _request: dict[str, Any]) -> bytes:
    """Say that the old kind of global tables is no more."""
    raise ValidationException(UNSUPPORTED)
