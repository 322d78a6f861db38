"""PutResourcePolicy: attach a policy to a table or a stream. It is kept, not enforced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.engine.control_plane.resource_policy import (
    check_document,
    check_revision,
    find_holder,
    keep_policy,
    put_policy,
)
from hashrange.engine.operation import operation

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation(writes="tables")
def put_resource_policy(engine: Engine, request: dict[str, Any]) -> bytes:
    """Keep the policy and return its revision; an equivalent one keeps the revision it has."""
    document = check_document(request["Policy"])
    holder = find_holder(engine, request["ResourceArn"])
    check_revision(holder, request.get("ExpectedRevisionId"))
    entry = put_policy(holder.entry, document, engine.now())
    keep_policy(engine, holder, entry)
    return orjson.dumps({"RevisionId": entry["revision"]})
