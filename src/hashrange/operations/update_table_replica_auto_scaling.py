"""UpdateTableReplicaAutoScaling: no table has replicas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hashrange.core.errors import ResourceNotFoundException
from hashrange.engine.control.globaltable import absence_of
from hashrange.engine.operation import operation

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation()
def update_table_replica_auto_scaling(engine: Engine, request: dict[str, Any]) -> bytes:
    """Say that there is no such global table."""
    raise ResourceNotFoundException(absence_of(engine.catalog.name_in(request["TableName"])))
