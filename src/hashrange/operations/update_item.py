"""UpdateItem: change some attributes of an item, creating the item if it does not exist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.engine.operation import operation
from hashrange.engine.shape.constraint import ConstraintType
from hashrange.engine.shape.constraint_message import ViolationReport, Violations, messages_for_each, messages_for_write
from hashrange.engine.write import check_update, write_item
from hashrange.engine.write_response import build_write_response
from hashrange.expr.parameters import UPDATE

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine
    from hashrange.engine.write import WriteResult
    from hashrange.expr.update import ItemUpdate


def _messages(violations: Violations) -> list[str]:
    """Only the first violation is reported, that of ReturnValues before all others."""
    if any(violation.rule.type is ConstraintType.NULL for violation in violations):
        return messages_for_each(violations)
    return messages_for_write([min(violations, key=lambda violation: violation.path.upper != "ReturnValues")])


VIOLATIONS = ViolationReport(first=frozenset({"TableName"}), unless_missing="Key", messages=_messages)


@operation(writes="items", enveloped=True, needs_no_copy=True, violations=VIOLATIONS)
def update_item(engine: Engine, request: dict[str, Any]) -> bytes:
    """Apply an update to the item of a key, if the condition holds."""
    write = check_update(request, UPDATE).resolve(engine)
    result = write_item(engine, write)
    returned = request.get("ReturnValues", "NONE")
    attributes = None if returned == "NONE" else _returned_attributes(returned, result, write.expressions.update)
    return build_write_response(request, result, attributes)


def _returned_attributes(returned: str, result: WriteResult, update: ItemUpdate | None) -> bytes | None:
    """Return the attributes that ReturnValues asks for; None when there are none."""
    side = result.old if returned.endswith("OLD") else result.new
    if side is None:
        return None
    if returned.startswith("ALL"):
        return side.body
    touched = update.updated_attributes(side.item) if update else {}
    return orjson.dumps(touched) if touched else None
