"""GetResourcePolicy: the policy of a table or a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.core.errors import PolicyNotFoundException
from hashrange.engine.control_plane.resource_policy import NOT_FOUND, find_policy_target, format_document
from hashrange.engine.operation import operation

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation()
def get_resource_policy(engine: Engine, request: dict[str, Any]) -> bytes:
    """Return the policy in canonical form, and its revision."""
    policy = find_policy_target(engine, request["ResourceArn"]).policy
    if policy is None or policy.document is None:
        raise PolicyNotFoundException(f"{NOT_FOUND}{request['ResourceArn']}")
    return orjson.dumps({"Policy": format_document(policy.document), "RevisionId": policy.revision})
