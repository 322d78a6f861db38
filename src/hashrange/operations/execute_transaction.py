"""ExecuteTransaction: up to a hundred PartiQL statements: reads of one point in time, or writes, all or none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from hashrange.core.errors import ValidationException
from hashrange.core.values import Item, Value
from hashrange.core.wire import Wire
from hashrange.engine import transaction
from hashrange.engine.capacity import ConsumedCapacity, read_units, report_capacity
from hashrange.engine.operation import operation
from hashrange.engine.partial_work import definition_inputs
from hashrange.engine.table import KeyTooLong, SchemaMismatch, Table
from hashrange.engine.write import ItemWrite, Row, WriteRequest, load_row
from hashrange.partiql.literal import check_parameters
from hashrange.partiql.prepared_statement import PreparedStatement, prepare_statement

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine

NAME = "ExecuteTransaction"
MIXED = "ExecuteTransaction API does not support both read and write operations in the same request."
NEEDS_KEY = "Select statements within ExecuteTransaction must specify the primary key in the where clause."
NO_RETURNING = "RETURNING clause is not supported in ExecuteTransaction."
NO_INDEX_READS = "Reads on indices are not supported within transactions."
NO_INDEX_CHECKS = "Operations on indices are not supported in transactions"
NOT_FOUND = {"Code": "ResourceNotFound", "Message": "Requested resource not found"}


@operation(writes="items", entries="TransactStatements", transactional=True, pauses=True)
def execute_transaction(engine: Engine, request: Wire) -> bytes:
    """Run every statement, or cancel with a reason for each that failed."""
    digest = transaction.digest_request(request) if "ClientRequestToken" in request else b""
    entries = request["TransactStatements"]
    given = [check_parameters(entry.get("Parameters") or ()) for entry in entries]
    transaction.check_payload(entries)
    asked = [(engine, entry, given[position], position) for position, entry in enumerate(entries)]
    statements = engine.do_parts("statement", definition_inputs, _prepare, asked)
    if len({prepared.statement.is_read for prepared in statements}) > 1:
        raise ValidationException(MIXED)
    if statements[0].statement.is_read:
        return _read(engine, request, statements)
    return _write(engine, request, statements, digest)


def _prepare(engine: Engine, entry: Wire, parameters: list[Value], position: int) -> PreparedStatement:
    try:
        prepared = prepare_statement(engine, entry, parameters, in_transaction=True)
        if prepared.table is not None:
            _check_statement(prepared)
    except ValidationException as refusal:
        raise _locate(refusal, position) from None
    return prepared


def _check_statement(prepared: PreparedStatement) -> None:
    """Raise if a statement needs what a transaction does not support; its table is known here."""
    if prepared.statement.returning is not None:
        raise ValidationException(NO_RETURNING)
    if prepared.statement.index is not None:
        raise ValidationException(NO_INDEX_CHECKS if prepared.statement.is_check else NO_INDEX_READS)


def _locate(refusal: ValidationException, position: int) -> ValidationException:
    return ValidationException(f"Validation failed in TransactStatements[{position}]: {refusal.message}")


def _check_tables(statements: list[PreparedStatement]) -> None:
    missing = {position: NOT_FOUND for position, prepared in enumerate(statements) if prepared.table is None}
    if missing:
        raise transaction.cancel(len(statements), missing)


# -- writes -----------------------------------------------------------------------------------------------------------


def _write(engine: Engine, request: Wire, statements: list[PreparedStatement], digest: bytes) -> bytes:
    names = [prepared.statement.table for prepared in statements]
    replayed = transaction.find_replay(engine, NAME, request, digest)
    if replayed is not None:
        return _build_response(request, b"", transaction.replay_costs(replayed))
    requests = [_request_of(write) for write in _make_writes(engine, statements)]
    changes = transaction.run_transaction(engine, requests)
    touched = [[name, transaction.image_size(change)] for name, change in zip(names, changes, strict=True)]
    transaction.keep_token(engine, NAME, request, digest, touched)
    checks = [prepared.statement.is_check for prepared in statements]
    return _build_response(request, b"", transaction.write_costs(names, changes, checks))


def _request_of(write: ItemWrite) -> WriteRequest:
    return WriteRequest(write.expressions, lambda _engine: write)


def _make_writes(engine: Engine, statements: list[PreparedStatement]) -> list[ItemWrite]:
    """Return all writes; keys that do not match their table's schema cancel the transaction, each with a reason."""
    writes: list[ItemWrite] = []
    mismatches: dict[int, Wire] = {}
    entries = [(engine, prepared, position) for position, prepared in enumerate(statements)]
    for position, made in enumerate(engine.do_parts("write", definition_inputs, _make_write, entries)):
        if isinstance(made, ItemWrite):
            writes.append(made)
        elif made is not None:
            mismatches[position] = transaction.reason_for(made)
    _check_tables(statements)
    if mismatches:
        raise transaction.cancel(len(statements), mismatches)
    return writes


def _make_write(
    _engine: Engine, prepared: PreparedStatement, position: int
) -> ItemWrite | SchemaMismatch | KeyTooLong | None:
    """Return a write, why its key does not match, or None where there is no table."""
    if prepared.table is None:
        return None
    try:
        return prepared.make_write(in_transaction=True)
    except (SchemaMismatch, KeyTooLong) as refusal:
        return refusal
    except ValidationException as refusal:
        raise _locate(refusal, position) from None


# -- reads ------------------------------------------------------------------------------------------------------------


def _read(engine: Engine, request: Wire, statements: list[PreparedStatement]) -> bytes:
    entries = [(engine, prepared, position) for position, prepared in enumerate(statements)]
    keys = engine.do_parts("key", definition_inputs, _find_key, entries)
    _check_tables(statements)
    tables = [prepared.existing_table for prepared in statements]
    encoded = _encode(tables, keys)
    rows = [load_row(engine, table, key) for table, key in zip(tables, encoded, strict=True)]
    found = [(engine, prepared, row) for prepared, row in zip(statements, rows, strict=True)]
    shown = b",".join(engine.do_parts("shown", transaction.row_inputs, _show, found))
    costs: dict[str, ConsumedCapacity] = {}
    for prepared, row in zip(statements, rows, strict=True):
        cost = costs.setdefault(prepared.statement.table, ConsumedCapacity(prepared.statement.table, "Read"))
        cost.add_table(read_units(row.size if row else 0, consistent=True, transactional=True))
    return _build_response(request, shown, list(costs.values()))


def _find_key(_engine: Engine, prepared: PreparedStatement, position: int) -> Item:
    if prepared.table is None:
        return {}
    try:
        key = prepared.make_reader().single_key()
        if key is None:
            raise ValidationException(NEEDS_KEY)
    except ValidationException as refusal:
        raise _locate(refusal, position) from None
    return key


def _encode(tables: list[Table], keys: list[Item]) -> list[bytes]:
    encoded: list[bytes] = []
    mismatches: dict[int, Wire] = {}
    for position, (table, key) in enumerate(zip(tables, keys, strict=True)):
        try:
            encoded.append(table.key_of(key))
        except (SchemaMismatch, KeyTooLong) as refusal:
            mismatches[position] = transaction.reason_for(refusal)
    if mismatches:
        raise transaction.cancel(len(keys), mismatches)
    if len({(table.n, key) for table, key in zip(tables, encoded, strict=True)}) != len(encoded):
        raise ValidationException(transaction.TWICE)
    return encoded


def _show(_engine: Engine, prepared: PreparedStatement, row: Row | None) -> bytes:
    shown = None if row is None else prepared.select_columns(row)
    return b"{}" if shown is None else b'{"Item":' + shown + b"}"


def _build_response(request: Wire, responses: bytes, costs: list[ConsumedCapacity]) -> bytes:
    mode = request.get("ReturnConsumedCapacity", "NONE")
    tail = b',"ConsumedCapacity":' + orjson.dumps(report_capacity(costs, mode)) if mode != "NONE" else b""
    return b'{"Responses":[' + responses + b"]" + tail + b"}"
