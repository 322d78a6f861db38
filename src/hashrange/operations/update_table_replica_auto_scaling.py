"""UpdateTableReplicaAutoScaling: no table has replicas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hashrange.core.errors import ResourceNotFoundException
from hashrange.engine.control_plane.global_tables import message_for_missing
from hashrange.engine.operation import operation

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation()
def update_table_replica_auto_scaling(engine: Engine, request: dict[str, Any]) -> bytes:
    """Raise GlobalTableNotFoundException or its like: there are no global tables."""
    raise ResourceNotFoundException(message_for_missing(engine.catalog.name_in(request["TableName"])))
