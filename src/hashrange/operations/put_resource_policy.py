"""PutResourcePolicy: attach a policy to a table or a stream. It is stored, not enforced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.engine.control_plane.resource_policy import (
    check_document,
    check_revision,
    find_policy_target,
    put_policy,
    save_policy,
)
from hashrange.engine.operation import operation

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation(writes="tables")
def put_resource_policy(engine: Engine, request: dict[str, Any]) -> bytes:
    """Store the policy and return its revision; an equivalent policy keeps the current one."""
    document = check_document(request["Policy"])
    target = find_policy_target(engine, request["ResourceArn"])
    check_revision(target, request.get("ExpectedRevisionId"))
    policy = put_policy(target.policy, document, engine.now())
    save_policy(engine, target, policy)
    return orjson.dumps({"RevisionId": policy.revision})
