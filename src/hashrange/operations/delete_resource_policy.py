"""DeleteResourcePolicy: detach the policy of a table or a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.engine.control_plane.resource_policy import check_revision, find_holder, keep_policy, put_policy
from hashrange.engine.operation import operation

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation(writes="tables")
def delete_resource_policy(engine: Engine, request: dict[str, Any]) -> bytes:
    """Remove the policy and return its revision; without one there is nothing to do."""
    holder = find_holder(engine, request["ResourceArn"])
    check_revision(holder, request.get("ExpectedRevisionId"))
    entry = holder.entry
    if entry is None:
        return b"{}"
    keep_policy(engine, holder, put_policy(entry, None, engine.now()))
    return orjson.dumps({"RevisionId": entry["revision"]})
