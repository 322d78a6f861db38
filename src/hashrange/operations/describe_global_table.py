"""DescribeGlobalTable: there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hashrange.core.errors import GlobalTableNotFoundException
from hashrange.engine.control_plane.global_tables import message_for_missing
from hashrange.engine.operation import operation
from hashrange.engine.shape.constraint_message import length_in_own_sentence

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation(violations=length_in_own_sentence("GlobalTableName", "TableName"))
def describe_global_table(_engine: Engine, request: dict[str, Any]) -> bytes:
    """Raise GlobalTableNotFoundException or its like: there are no global tables."""
    raise GlobalTableNotFoundException(message_for_missing(request["GlobalTableName"]))
