"""BatchExecuteStatement: up to 25 PartiQL statements on single items, each with its own response or error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import orjson

from hashrange.core.errors import (
    ConditionalCheckFailedException,
    DuplicateItemException,
    ResourceNotFoundException,
    ServiceError,
    ValidationException,
)
from hashrange.core.wire import Wire
from hashrange.engine import transaction
from hashrange.engine.capacity import ConsumedCapacity, read_units, write_units
from hashrange.engine.operation import operation
from hashrange.engine.partial_work import definition_inputs
from hashrange.engine.transaction import CheckedWrite
from hashrange.engine.write import ItemWrite, Row, apply, load_row
from hashrange.partiql.literal import check_parameters
from hashrange.partiql.modify import returned_item
from hashrange.partiql.prepared_statement import PreparedStatement, prepare_statement

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


@operation(writes="items", entries="Statements", pauses=True)
def batch_execute_statement(engine: Engine, request: Wire) -> bytes:
    """Run every statement that can be run; responses and errors are in the order of the statements."""
    entries = [(engine, entry) for entry in request["Statements"]]
    statements = engine.do_parts("statement", definition_inputs, _prepare, entries)
    reads_and_writes = {each.prepared.statement.is_read for each in statements if each.prepared}
    if len(reads_and_writes) > 1:
        raise ValidationException(MIXED)
    targets = [each.target for each in statements if not isinstance(each, Failure)]
    if len(set(targets)) != len(targets):
        raise ValidationException(TWICE)
    found = [(engine, each, each.load(engine)) for each in statements]
    checked = engine.do_parts("row", transaction.row_inputs, _check, found)
    cost = BatchCost()
    responses = b",".join(finish(engine, cost) for finish in checked)
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


Finish: TypeAlias = Callable[["Engine", BatchCost], bytes]  # writes, and returns the response of a statement


@dataclass(frozen=True, slots=True)
class Failure:
    """A statement that cannot be run; `prepared` is there when it could be read."""

    prepared: PreparedStatement | None
    refusal: ServiceError

    def load(self, _engine: Engine) -> None:
        """Return no row."""

    def check(self, _row: Row | None) -> Finish:
        """Return what returns the error."""
        named = isinstance(self.refusal, ResourceNotFoundException) and self.prepared is not None
        return lambda _engine, _cost: _explain(self.refusal, self.prepared if named else None)


@dataclass(frozen=True, slots=True)
class StatementRead:
    """A SELECT of one item."""

    prepared: PreparedStatement
    key: bytes

    @property
    def target(self) -> tuple[int, bytes]:
        """Return the item it reads or writes: table and key."""
        return self.prepared.existing_table.n, self.key

    def load(self, engine: Engine) -> Row | None:
        """Return the stored row."""
        return load_row(engine, self.prepared.existing_table, self.key)

    def check(self, row: Row | None) -> Finish:
        """Return what returns the item."""
        shown = _show(self.prepared, None if row is None else self.prepared.select_columns(row))
        consistent = bool(self.prepared.request.get("ConsistentRead"))
        units = read_units(row.size if row else 0, consistent=consistent)

        def finish(_engine: Engine, cost: BatchCost) -> bytes:
            cost.of(self.prepared.statement.table).add_table(units)
            return shown

        return finish


@dataclass(frozen=True, slots=True)
class StatementWrite:
    """An INSERT, UPDATE or DELETE."""

    prepared: PreparedStatement
    write: ItemWrite

    @property
    def target(self) -> tuple[int, bytes]:
        """Return the item it reads or writes: table and key."""
        return self.write.table.n, self.write.key

    def load(self, engine: Engine) -> Row | None:
        """Return the stored row."""
        return load_row(engine, self.write.table, self.write.key)

    def check(self, row: Row | None) -> Finish:
        """Return what writes and returns what RETURNING asks for, or what returns the error."""
        try:
            outcome = transaction.check_write(self.write, row)
        except ServiceError as refusal:
            outcome = refusal
        if isinstance(outcome, CheckedWrite):
            return partial(self._apply, outcome)
        return partial(self._fail, row, outcome)

    def _apply(self, checked: CheckedWrite, engine: Engine, cost: BatchCost) -> bytes:
        change = apply(engine, self.write.table, self.write.key, checked.row, checked.image)
        cost.of(self.prepared.statement.table).add_write(change)
        return _show(self.prepared, returned_item(self.prepared.statement.returning, self.write, change))

    def _fail(self, row: Row | None, refusal: ServiceError, _engine: Engine, cost: BatchCost) -> bytes:
        """Count what a failed write costs: as much as the larger of the item there and the item given."""
        image = self.write.image if isinstance(refusal, DuplicateItemException) else None
        units = write_units(max(row.size if row else 0, image.size if image else 0))
        cost.add_failure(self.prepared.statement.table, units)
        return _explain(refusal, self.prepared)


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


def _check(_engine: Engine, statement: Failure | StatementRead | StatementWrite, row: Row | None) -> Finish:
    return statement.check(row)


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
