"""PutItem: store an item, replacing the one with the same key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hashrange.engine.operation import operation
from hashrange.engine.shape.constraint_message import (
    ViolationReport,
    Violations,
    message_without_value,
    messages_for_write,
)
from hashrange.engine.write import check_put, write_item
from hashrange.engine.write_response import build_replace_response
from hashrange.expr.parameters import PUT

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


def _messages(violations: Violations) -> list[str]:
    """An empty table name is not quoted."""
    if violations[0].path.upper == "TableName" and violations[0].found == "":
        return [message_without_value(violations[0])]
    return messages_for_write(violations)


VIOLATIONS = ViolationReport(first=frozenset({"TableName"}), messages=_messages)


@operation(writes="items", enveloped=True, needs_no_copy=True, violations=VIOLATIONS)
def put_item(engine: Engine, request: dict[str, Any]) -> bytes:
    """Replace the whole item under its key, if the condition holds."""
    write = check_put(request, PUT).resolve(engine)
    return build_replace_response(request, write_item(engine, write))
