"""ExecuteStatement: one PartiQL statement; a SELECT reads a page, the others write one item."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from hashrange.core.errors import ValidationException
from hashrange.core.wire import Wire
from hashrange.engine.capacity import ConsumedCapacity
from hashrange.engine.operation import operation
from hashrange.engine.write import write_item
from hashrange.partiql.literal import check_parameters
from hashrange.partiql.modify import returned_item
from hashrange.partiql.prepared_statement import PreparedStatement, prepare_statement
from hashrange.partiql.select import INVALID_TOKEN, SelectPosition, read_token, write_token

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation(writes="items", pauses=True)
def execute_statement(engine: Engine, request: Wire) -> bytes:
    """Run the statement and return its rows: a page of items, or what RETURNING asks for."""
    prepared = prepare_statement(engine, request, check_parameters(request.get("Parameters") or ()))
    return _read(engine, prepared) if prepared.statement.is_read else _write(engine, prepared)


def _read(engine: Engine, prepared: PreparedStatement) -> bytes:
    request, parameters = prepared.request, prepared.statement.parameters
    reader = prepared.make_reader()
    token, position = request.get("NextToken"), SelectPosition()
    if token is not None:
        position = read_token(token, request["Statement"], parameters)
    consistent = bool(request.get("ConsistentRead"))
    rows = reader.read(engine, prepared.statement.table, position, request.get("Limit"), consistent=consistent)
    more: Wire = {}
    if rows.next is not None:
        more["NextToken"] = write_token(rows.next, request["Statement"], parameters)
        if rows.next.key is not None:
            more["LastEvaluatedKey"] = rows.next.key
    return _build_response(request, rows.bodies, rows.cost, more)


def _write(engine: Engine, prepared: PreparedStatement) -> bytes:
    if prepared.request.get("NextToken") is not None:
        raise ValidationException(INVALID_TOKEN)
    write = prepared.make_write()
    result = write_item(engine, write)
    cost = ConsumedCapacity(prepared.statement.table)
    cost.add_write(result)
    returned = returned_item(prepared.statement.returning, write, result)
    return _build_response(prepared.request, [] if returned is None else [returned], cost, {})


def _build_response(request: Wire, bodies: list[bytes], cost: ConsumedCapacity, more: Wire) -> bytes:
    mode = request.get("ReturnConsumedCapacity", "NONE")
    if mode != "NONE":
        more["ConsumedCapacity"] = cost.report(mode)
    tail = b"," + orjson.dumps(more)[1:] if more else b"}"
    return b'{"Items":[' + b",".join(bodies) + b"]" + tail
