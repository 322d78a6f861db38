"""PutItem: store an item, replacing the one with the same key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hashrange.engine import action
from hashrange.engine.operation import operation
from hashrange.engine.write_response import build_replace_response
from hashrange.expr.parameters import PUT

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation(writes=True, enveloped=True, borrows=True)
def put_item(engine: Engine, request: dict[str, Any]) -> bytes:
    """Replace the whole item under its key, if the condition holds."""
    draft = action.draft_put(request, PUT)
    change = action.run(engine, draft.resolve(engine))
    return build_replace_response(request, change)
