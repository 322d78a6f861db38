"""DeleteResourcePolicy: detach the policy of a table or a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.engine.control_plane.resource_policy import check_revision, find_policy_target, put_policy, save_policy
from hashrange.engine.operation import operation

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation(writes="tables")
def delete_resource_policy(engine: Engine, request: dict[str, Any]) -> bytes:
    """Remove the policy and return its revision; without one there is nothing to do."""
    target = find_policy_target(engine, request["ResourceArn"])
    check_revision(target, request.get("ExpectedRevisionId"))
    policy = target.policy
    if policy is None:
        return b"{}"
    save_policy(engine, target, put_policy(policy, None, engine.now()))
    return orjson.dumps({"RevisionId": policy.revision})
