"""ListTagsOfResource: the tags of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.engine.control_plane.tags import find_tagged, list_tags
from hashrange.engine.operation import operation

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation()
def list_tags_of_resource(engine: Engine, request: dict[str, Any]) -> bytes:
    """Return all tags: they always fit on one page."""
    table = find_tagged(engine, request["ResourceArn"])
    return orjson.dumps({"Tags": list_tags(table.definition.tags)})
