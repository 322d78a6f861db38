"""BatchExecuteStatement: up to 25 PartiQL statements on single items, each with its own response or error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import orjson

from hashrange.core.errors import (
    ConditionalCheckFailedException,
    DuplicateItemException,
    ResourceNotFoundException,
    ServiceError,
    ValidationException,
)
from hashrange.core.wire import Wire
from hashrange.engine.capacity import ConsumedCapacity, read_units, write_units
from hashrange.engine.operation import operation
from hashrange.engine.write import ItemWrite, load_row, write_item
from hashrange.partiql.literal import check_parameters
from hashrange.partiql.modify import returned_item
from hashrange.partiql.prepared_statement import PreparedStatement, prepare_entries, prepare_statement

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine

MIXED = "Read and write requests together in the same batch is not supported."
TWICE = "Provided list of item keys contains duplicates"
NEEDS_KEY = "Select statements within BatchExecuteStatement must specify the primary key in the where clause."


CODES: dict[type[ServiceError], str] = {
    ConditionalCheckFailedException: "ConditionalCheckFailed",
    DuplicateItemException: "DuplicateItem",
    ResourceNotFoundException: "ResourceNotFound",
}


@operation(writes="items", entries="Statements", prepare=prepare_entries)
def batch_execute_statement(engine: Engine, request: Wire) -> bytes:
    """Run every statement that can be run; responses and errors are in the order of the statements."""
    statements = [_prepare(engine, entry) for entry in request["Statements"]]
    reads_and_writes = {each.prepared.statement.is_read for each in statements if each.prepared}
    if len(reads_and_writes) > 1:
        raise ValidationException(MIXED)
    targets = [each.target for each in statements if not isinstance(each, Failure)]
    if len(set(targets)) != len(targets):
        raise ValidationException(TWICE)
    cost = BatchCost()
    responses = b",".join(each.run(engine, cost) for each in statements)
    mode = request.get("ReturnConsumedCapacity", "NONE")
    costs = cost.report(mode) if mode != "NONE" else []
    tail = b',"ConsumedCapacity":' + orjson.dumps(costs) if costs else b""
    return b'{"Responses":[' + responses + b"]" + tail + b"}"


class BatchCost:
    """What the statements cost, by table; failed writes count only in a table's total, and only beside a success."""

    def __init__(self) -> None:
        self.costs: dict[str, ConsumedCapacity] = {}
        self.failed: dict[str, float] = {}

    def of(self, name: str) -> ConsumedCapacity:
        """Return the cost of what succeeded on a table."""
        return self.costs.setdefault(name, ConsumedCapacity(name))

    def add_failure(self, name: str, units: float) -> None:
        """Add what a failed write on a table cost."""
        self.failed[name] = self.failed.get(name, 0.0) + units

    def report(self, mode: str) -> list[Wire]:
        """Return the ConsumedCapacity of the batch."""
        reports = [cost.report(mode) for cost in self.costs.values()]
        for report in reports:
            report["CapacityUnits"] += self.failed.get(report["TableName"], 0.0)
        return reports


@dataclass(frozen=True, slots=True)
class Failure:
    """A statement that cannot be run; `prepared` is there when it could be read."""

    prepared: PreparedStatement | None
    refusal: ServiceError

    def run(self, _engine: Engine, _cost: BatchCost) -> bytes:
        """Return the error."""
        named = isinstance(self.refusal, ResourceNotFoundException) and self.prepared is not None
        return _explain(self.refusal, self.prepared if named else None)


@dataclass(frozen=True, slots=True)
class StatementRead:
    """A SELECT of one item."""

    prepared: PreparedStatement
    key: bytes

    @property
    def target(self) -> tuple[int, bytes]:
        """Return the item it reads or writes: table and key."""
        return self.prepared.existing_table.n, self.key

    def run(self, engine: Engine, batch_cost: BatchCost) -> bytes:
        """Return the item."""
        row = load_row(engine, self.prepared.existing_table, self.key)
        consistent = bool(self.prepared.request.get("ConsistentRead"))
        cost = batch_cost.of(self.prepared.statement.table)
        cost.add_table(read_units(row.size if row else 0, consistent=consistent))
        return _show(self.prepared, None if row is None else self.prepared.select_columns(row))


@dataclass(frozen=True, slots=True)
class StatementWrite:
    """An INSERT, UPDATE or DELETE."""

    prepared: PreparedStatement
    write: ItemWrite

    @property
    def target(self) -> tuple[int, bytes]:
        """Return the item it reads or writes: table and key."""
        return self.write.table.n, self.write.key

    def run(self, engine: Engine, batch_cost: BatchCost) -> bytes:
        """Write, and return what RETURNING asks for, or the error."""
        name = self.prepared.statement.table
        try:
            change = write_item(engine, self.write)
        except ServiceError as refusal:
            batch_cost.add_failure(name, self._attempted(engine, refusal))
            return _explain(refusal, self.prepared)
        batch_cost.of(name).add_write(change)
        return _show(self.prepared, returned_item(self.prepared.statement.returning, self.write, change))

    def _attempted(self, engine: Engine, refusal: ServiceError) -> float:
        """Return what a failed write costs: as much as the larger of the item there and the item given."""
        row = load_row(engine, self.write.table, self.write.key)
        image = self.write.image if isinstance(refusal, DuplicateItemException) else None
        return write_units(max(row.size if row else 0, image.size if image else 0))


def _prepare(engine: Engine, request: Wire) -> Failure | StatementRead | StatementWrite:
    """Return the read or write of a statement, or its error."""
    prepared: PreparedStatement | None = None
    try:
        prepared = prepare_statement(engine, request, check_parameters(request.get("Parameters") or ()))
        if not prepared.statement.is_read:
            return StatementWrite(prepared, prepared.make_write())
        key = prepared.make_reader().single_key()
        if key is None:
            raise ValidationException(NEEDS_KEY)
        return StatementRead(prepared, prepared.existing_table.key_of(key))
    except ServiceError as refusal:
        return Failure(prepared, refusal)


def _show(prepared: PreparedStatement, item: bytes | None) -> bytes:
    shown = b',"Item":' + item if item else b""
    return b'{"TableName":' + orjson.dumps(prepared.statement.table) + shown + b"}"


def _explain(refusal: ServiceError, prepared: PreparedStatement | None) -> bytes:
    """Return an error; it names the table if the statement got as far as that."""
    code = CODES.get(type(refusal), "ValidationError")
    response: Wire = {"Error": {"Code": code, "Message": refusal.message, **refusal.members}}
    if prepared is not None:
        response["TableName"] = prepared.statement.table
    return orjson.dumps(response)
