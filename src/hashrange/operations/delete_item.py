"""DeleteItem: remove an item; a missing item is not an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hashrange.engine.operation import operation
from hashrange.engine.shape.constraint_message import ViolationReport, messages_for_write
from hashrange.engine.write import check_delete, write_item
from hashrange.engine.write_response import build_replace_response
from hashrange.expr.parameters import DELETE

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


VIOLATIONS = ViolationReport(first=frozenset({"TableName"}), messages=messages_for_write)


@operation(writes="items", enveloped=True, needs_no_copy=True, violations=VIOLATIONS)
def delete_item(engine: Engine, request: dict[str, Any]) -> bytes:
    """Remove the item of a key, if the condition holds."""
    write = check_delete(request, DELETE).resolve(engine)
    return build_replace_response(request, write_item(engine, write))
