"""BatchGetItem: up to a hundred items by key, from any tables, up to 16 MB."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from hashrange.core.errors import ValidationException
from hashrange.core.limits import MAX_BATCH_KEYS
from hashrange.core.values import check_key
from hashrange.core.wire import Wire
from hashrange.engine.capacity import ConsumedCapacity, read_units, report_capacity
from hashrange.engine.operation import operation
from hashrange.engine.shape.constraint import ConstraintType, ConstraintViolation
from hashrange.engine.shape.constraint_message import (
    ViolationReport,
    message_at,
    message_with_value,
    message_without_value,
)
from hashrange.engine.table import check_scalars
from hashrange.engine.transaction import row_inputs
from hashrange.engine.write import MAX_DECODED_VALUES, Row, load_row
from hashrange.expr.parameters import BATCH_GET
from hashrange.expr.request_expressions import check_mixing_across, read_expressions

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine
    from hashrange.engine.table import Table
    from hashrange.expr.projection import Projection

MAX_RESPONSE_BYTES = 16 * 1024 * 1024


class TableKeys:
    """The keys to read from one table, and what was found."""

    def __init__(self, name: str, content: Wire) -> None:
        self.name = name
        self.content = content
        self.consistent = bool(content.get("ConsistentRead"))
        self.projection: Projection | None = read_expressions(content, BATCH_GET).projection
        written = [orjson.dumps(key, option=orjson.OPT_SORT_KEYS) for key in content["Keys"]]
        self.asked = [check_key(key) for key in content["Keys"]]
        if len(set(written)) != len(written):  # numbers are compared as they are written
            raise ValidationException("Provided list of item keys contains duplicates")
        self.table: Table
        self.keys: dict[bytes, Wire] = {}
        self.rows: list[Row] = []
        self.bodies: list[bytes] = []
        self.unprocessed: list[Wire] = []
        self.cost = ConsumedCapacity(name)

    def resolve(self, engine: Engine) -> None:
        """Find the table, and the stored form of the keys."""
        self.table = engine.catalog.find(self.name)
        self.keys = {self.table.key_of(key): key for key in self.asked}
        if self.projection is not None:
            check_scalars(self.table, self.projection.document_attributes)

    def render(self, engine: Engine) -> list[bytes]:
        """Return the items as the response shows them."""
        if self.projection is None:
            return [row.body for row in self.rows]
        entries = [(engine, self.projection, row) for row in self.rows]
        return engine.do_parts(self.name, row_inputs, _project, entries)


def _project(_engine: Engine, projection: Projection, row: Row) -> bytes:
    return orjson.dumps(projection(row.item))


def _message(violation: ConstraintViolation) -> str:
    """RequestItems is quoted as JSON, and not at all when it is too long or too short."""
    if violation.rule.type is ConstraintType.RANGE and violation.path.upper.startswith("RequestItems"):
        return message_without_value(violation)
    if violation.path.upper == "RequestItems" and violation.found is not None:
        return message_at(f"Value '{orjson.dumps(violation.found).decode()}' at 'requestItems'", violation)
    return message_with_value(violation)


VIOLATIONS = ViolationReport(messages=lambda violations: [_message(violation) for violation in violations])


@operation(entries="RequestItems", unprocessed="UnprocessedKeys", pauses=True, violations=VIOLATIONS)
def batch_get_item(engine: Engine, request: Wire) -> bytes:
    """Return the items that exist, in the order asked; what exceeds the size limit is left unprocessed."""
    asked = request["RequestItems"]
    if sum(len(content["Keys"]) for content in asked.values()) > MAX_BATCH_KEYS:
        raise ValidationException("Too many items requested for the BatchGetItem call")
    check_mixing_across(asked.values(), BATCH_GET)
    parts = [TableKeys(name, content) for name, content in asked.items()]
    for name in asked:
        engine.catalog.find(name)
    for part in parts:
        part.resolve(engine)
    _read(engine, parts)
    return _build_response(request, parts)


def _read(engine: Engine, parts: list[TableKeys]) -> None:
    room, values = MAX_RESPONSE_BYTES, MAX_DECODED_VALUES
    for part in parts:
        for encoded, key in part.keys.items():
            row = load_row(engine, part.table, encoded)
            decoded = 0 if row is None or part.projection is None else row.estimate_values()
            if row is not None and (row.size > room or decoded > values):
                part.unprocessed.append(key)
                continue
            size = row.size if row else 0
            room -= size
            values -= decoded
            part.cost.add_table(read_units(size, consistent=part.consistent))
            if row is not None:
                part.rows.append(row)
        part.bodies = part.render(engine)


def _build_response(request: Wire, parts: list[TableKeys]) -> bytes:
    tables = b",".join(orjson.dumps(part.name) + b":[" + b",".join(part.bodies) + b"]" for part in parts)
    left = {part.name: {**part.content, "Keys": part.unprocessed} for part in parts if part.unprocessed}
    body = b'{"Responses":{' + tables + b'},"UnprocessedKeys":' + orjson.dumps(left)
    mode = request.get("ReturnConsumedCapacity", "NONE")
    if mode != "NONE":
        body += b',"ConsumedCapacity":' + orjson.dumps(report_capacity([part.cost for part in parts], mode))
    return body + b"}"
