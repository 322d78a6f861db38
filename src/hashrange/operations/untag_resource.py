"""UntagResource: remove tags of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from hashrange.engine.control_plane.tags import check_keys, find_tagged
from hashrange.engine.operation import operation

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation(writes="tables")
def untag_resource(engine: Engine, request: dict[str, Any]) -> bytes:
    """Remove the tags of the given keys; keys without a tag are ignored."""
    check_keys(request["TagKeys"])
    table = find_tagged(engine, request["ResourceArn"])
    removed = set(request["TagKeys"])
    kept = {key: value for key, value in table.definition.tags.items() if key not in removed}
    engine.catalog.save(table, replace(table.definition, tags=kept))
    return b""
