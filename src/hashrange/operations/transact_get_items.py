"""TransactGetItems: read up to a hundred items at one point in time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from hashrange.core.errors import ValidationException
from hashrange.core.values import Item, check_key
from hashrange.core.wire import Wire
from hashrange.engine.capacity import ConsumedCapacity, read_units, report_capacity
from hashrange.engine.operation import operation
from hashrange.engine.shape.constraint_message import ViolationReport, messages_for_transaction
from hashrange.engine.table import KeyTooLong, SchemaMismatch, Table, check_scalars
from hashrange.engine.transaction import MAX_TRANSACTION_BYTES, TOO_LARGE, TWICE, cancel, reason_for, row_inputs
from hashrange.engine.write import Row, load_row
from hashrange.expr.parameters import TRANSACT_GET
from hashrange.expr.request_expressions import check_mixing, read_expressions

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine
    from hashrange.expr.projection import Projection


VIOLATIONS = ViolationReport(messages=messages_for_transaction)


@operation(needs_no_copy=True, entries="TransactItems", transactional=True, pauses=True, violations=VIOLATIONS)
def transact_get_items(engine: Engine, request: Wire) -> bytes:
    """Return the items in the order of the request; `{}` for a missing one."""
    gets = [entry["Get"] for entry in request["TransactItems"]]
    asked = [_read(get) for get in gets]
    tables = [engine.catalog.find(get["TableName"]) for get in gets]
    keys = _find_keys([key for key, _ in asked], tables)
    for table, (_, projection) in zip(tables, asked, strict=True):
        if projection is not None:
            check_scalars(table, projection.document_attributes)
    rows = [load_row(engine, table, key) for table, key in zip(tables, keys, strict=True)]
    if sum(row.size for row in rows if row) > MAX_TRANSACTION_BYTES:
        raise ValidationException(TOO_LARGE)
    found = [(engine, projection, row) for row, (_, projection) in zip(rows, asked, strict=True)]
    shown = b",".join(engine.do_parts("shown", row_inputs, _show, found))
    body = b'{"Responses":[' + shown + b"]"
    mode = request.get("ReturnConsumedCapacity", "NONE")
    if mode != "NONE":
        body += b',"ConsumedCapacity":' + orjson.dumps(report_capacity(_costs(gets, rows), mode))
    return body + b"}"


def _read(get: Wire) -> tuple[Item, Projection | None]:
    check_mixing(get, TRANSACT_GET)
    key = check_key(get["Key"])
    return key, read_expressions(get, TRANSACT_GET).projection


def _find_keys(asked: list[Item], tables: list[Table]) -> list[bytes]:
    keys: list[bytes] = []
    for position, (key, table) in enumerate(zip(asked, tables, strict=True)):
        try:
            keys.append(table.key_of(key))
        except (SchemaMismatch, KeyTooLong) as refusal:
            raise cancel(len(asked), {position: reason_for(refusal)}) from None
    if len({(table.n, key) for table, key in zip(tables, keys, strict=True)}) != len(keys):
        raise ValidationException(TWICE)
    return keys


def _show(_engine: Engine, projection: Projection | None, row: Row | None) -> bytes:
    if row is None:
        return b"{}"
    if projection is None:
        return b'{"Item":' + row.body + b"}"
    item = projection(row.item)
    return b'{"Item":' + orjson.dumps(item) + b"}" if item else b"{}"


def _costs(gets: list[Wire], rows: list[Row | None]) -> list[ConsumedCapacity]:
    costs: dict[str, ConsumedCapacity] = {}
    for get, row in zip(gets, rows, strict=True):
        name = get["TableName"]
        units = read_units(row.size if row else 0, consistent=True, transactional=True)
        costs.setdefault(name, ConsumedCapacity(name, "Read")).add_table(units)
    return list(costs.values())
