"""CreateGlobalTable: refused: the service no longer supports this version (2017) of global tables."""

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
    """Raise the service's error: this version of global tables is no longer supported."""
    raise ValidationException(UNSUPPORTED)
