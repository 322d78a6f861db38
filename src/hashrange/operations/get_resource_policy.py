"""GetResourcePolicy: the policy of a table or a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.core.errors import PolicyNotFoundException
from hashrange.engine.control_plane.resource_policy import NOT_FOUND, find_holder, format_document
from hashrange.engine.operation import operation

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation()
def get_resource_policy(engine: Engine, request: dict[str, Any]) -> bytes:
    """Return the policy in canonical form, and its revision."""
    entry = find_holder(engine, request["ResourceArn"]).entry
    if entry is None or entry["document"] is None:
        raise PolicyNotFoundException(f"{NOT_FOUND}{request['ResourceArn']}")
    return orjson.dumps({"Policy": format_document(entry["document"]), "RevisionId": entry["revision"]})
