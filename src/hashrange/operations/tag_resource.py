"""TagResource: set tags of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from hashrange.core.errors import ValidationException
from hashrange.engine.control_plane.tags import check_count, check_tags, find_tagged
from hashrange.engine.operation import operation

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation(writes="tables")
def tag_resource(engine: Engine, request: dict[str, Any]) -> bytes:
    """Add tags and replace those of the same keys: all of them, or none."""
    if not request["Tags"]:
        raise ValidationException("Atleast one Tag needs to be provided as Input.")
    tags = check_tags(request["Tags"])
    table = find_tagged(engine, request["ResourceArn"])
    merged = {**table.definition.tags, **tags}
    check_count(merged)
    engine.catalog.save(table, replace(table.definition, tags=merged))
    return b""
