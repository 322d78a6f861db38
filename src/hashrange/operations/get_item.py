"""GetItem: read one item by its key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.core.values import check_key
from hashrange.engine.capacity import ConsumedCapacity, read_units
from hashrange.engine.operation import operation
from hashrange.engine.read import fetch
from hashrange.engine.table import check_scalars
from hashrange.expr.parameters import GET
from hashrange.expr.request_expressions import check_mixing, read_expressions

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation(needs_no_copy=True)
def get_item(engine: Engine, request: dict[str, Any]) -> bytes:
    """Return the item of a key, or no item when there is none."""
    check_mixing(request, GET)
    key = check_key(request["Key"])
    projection = read_expressions(request, GET).projection
    table = engine.catalog.find(request["TableName"])
    encoded = table.key_of(key)
    if projection is not None:
        check_scalars(table, projection.document_attributes)
    size, body = fetch(engine, table, encoded) or (0, None)
    if projection is not None and body is not None:
        body = orjson.dumps(projection(orjson.loads(body)))
    mode = request.get("ReturnConsumedCapacity", "NONE")
    if mode == "NONE":
        return b"{}" if body is None else b'{"Item":' + body + b"}"
    cost = ConsumedCapacity(request["TableName"])
    cost.add_table(read_units(size, consistent=bool(request.get("ConsistentRead"))))
    consumed = b'"ConsumedCapacity":' + orjson.dumps(cost.report(mode))
    return b"{" + consumed + b"}" if body is None else b'{"Item":' + body + b"," + consumed + b"}"
