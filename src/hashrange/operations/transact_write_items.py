"""TransactWriteItems: up to a hundred writes and checks, all or none."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import orjson

from hashrange.core.errors import ValidationException
from hashrange.core.wire import Wire
from hashrange.engine import transaction, write
from hashrange.engine.capacity import report_capacity
from hashrange.engine.operation import operation
from hashrange.engine.partial_work import no_inputs
from hashrange.engine.shape.constraint_message import ViolationReport, messages_for_transaction
from hashrange.engine.write import WriteRequest
from hashrange.expr.parameters import (
    TRANSACT_CHECK,
    TRANSACT_DELETE,
    TRANSACT_PUT,
    TRANSACT_UPDATE,
    ExpressionParameters,
)

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine

ACTIONS: dict[str, tuple[Callable[[Wire, ExpressionParameters], WriteRequest], ExpressionParameters]] = {
    "ConditionCheck": (write.check_condition_check, TRANSACT_CHECK),
    "Put": (write.check_put, TRANSACT_PUT),
    "Update": (write.check_update, TRANSACT_UPDATE),
    "Delete": (write.check_delete, TRANSACT_DELETE),
}
NAME = "TransactWriteItems"


VIOLATIONS = ViolationReport(
    first=frozenset({"ClientRequestToken", "ReturnConsumedCapacity", "ReturnItemCollectionMetrics"}),
    messages=messages_for_transaction,
)


@operation(writes="items", entries="TransactItems", transactional=True, pauses=True, violations=VIOLATIONS)
def transact_write_items(engine: Engine, request: Wire) -> bytes:
    """Carry out every action, or cancel with a reason for each that failed."""
    digest = transaction.digest_request(request) if "ClientRequestToken" in request else b""
    actions = [_read_action(entry) for entry in request["TransactItems"]]
    transaction.check_payload(request["TransactItems"])
    writes = engine.do_parts("action", no_inputs, _check_action, actions)
    names = [content["TableName"] for _, content in actions]
    replayed = transaction.find_replay(engine, NAME, request, digest)
    if replayed is not None:
        return _build_response(request, transaction.replay_costs(replayed), {})
    changes = transaction.run_transaction(engine, writes)
    touched = [[name, transaction.image_size(change)] for name, change in zip(names, changes, strict=True)]
    transaction.keep_token(engine, NAME, request, digest, touched)
    costs = transaction.write_costs(names, changes, [action == "ConditionCheck" for action, _ in actions])
    return _build_response(request, costs, transaction.collect_metrics(names, changes))


def _read_action(entry: Wire) -> tuple[str, Wire]:
    given = [action for action in ACTIONS if entry.get(action) is not None]
    if len(given) != 1:
        raise ValidationException("TransactItems can only contain one of Check, Put, Update or Delete")
    return given[0], entry[given[0]]


def _check_action(action: str, content: Wire) -> WriteRequest:
    check, parameters = ACTIONS[action]
    return check(content, parameters)


def _build_response(request: Wire, costs: list[Any], metrics: Wire) -> bytes:
    response: Wire = {}
    mode = request.get("ReturnConsumedCapacity", "NONE")
    if mode != "NONE":
        response["ConsumedCapacity"] = report_capacity(costs, mode)
    if request.get("ReturnItemCollectionMetrics") == "SIZE" and metrics:
        response["ItemCollectionMetrics"] = metrics
    return orjson.dumps(response)
