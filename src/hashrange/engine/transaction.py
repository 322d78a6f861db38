"""All-or-nothing writes: what TransactWriteItems and ExecuteTransaction share.

Writes are resolved and checked one by one in request order; nothing is written unless every condition holds.
A client token makes a repeated request return without being executed again, for ten minutes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import orjson
from msgspec import Struct

from hashrange.core.errors import (
    ConditionalCheckFailedException,
    DuplicateItemException,
    IdempotentParameterMismatchException,
    ServiceError,
    TransactionCanceledException,
    ValidationException,
)
from hashrange.core.wire import Wire
from hashrange.engine import sql
from hashrange.engine.capacity import ConsumedCapacity, collection_metrics, read_units, write_units
from hashrange.engine.partial_work import Inputs, definition_inputs
from hashrange.engine.table import KeyTooLong, SchemaMismatch
from hashrange.engine.write import (
    MAX_DECODED_VALUES,
    Image,
    ItemWrite,
    Row,
    WriteRequest,
    WriteResult,
    apply,
    load_row,
)

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine

TOKEN_LIFE = 10 * 60 * 1000
TOKENS_PER_SLICE = 100  # expired tokens that a request with a token deletes; a million at once took 2.4 seconds
MAX_TRANSACTION_BYTES = 4 * 1024 * 1024
TOO_LARGE = "Transaction request exceeds the maximum allowed size of 4 MB"  # of reads; the service's text is unknown
PAYLOAD = "Transaction payload size cannot exceed 4MB. Payload Size: "
TWICE = "Transaction request cannot include multiple operations on one item"
TOO_MANY_VALUES = (
    "The stored items that this transaction checks or writes have more than 1,000,000 values (elements and attributes) "
    "together, which hashrange does not evaluate in one request; use smaller transactions"
)
NO_REASON = {"Code": "None"}
MISMATCHED_TOKEN = (
    "The provided idempotency token is already in use, and the parameters of this request differ from the first one's"  # noqa: S105
)


def check_payload(entries: list[Wire]) -> None:
    """Raise when the entries of a transaction are too large together."""
    size = len(orjson.dumps(entries))
    if size > MAX_TRANSACTION_BYTES:
        raise ValidationException(f"{PAYLOAD}: {PAYLOAD}{size}")  # the service says it twice


class CheckedWrite(Struct, gc=False):
    """An entry of a transaction whose condition holds: its row, and what it will store."""

    write: ItemWrite
    row: Row | None
    image: Image | None


def run_transaction(engine: Engine, requests: Sequence[WriteRequest]) -> list[WriteResult]:
    """Execute all writes or none; returns what each changed, in request order."""
    writes = resolve_all(engine, requests)
    return [_apply(engine, checked) for checked in check_all(engine, writes)]


def resolve_all(engine: Engine, requests: Sequence[WriteRequest]) -> list[ItemWrite]:
    """Find the table and key of every write; a key that does not match the schema cancels the transaction."""
    writes: list[ItemWrite] = []
    mismatch: tuple[int, SchemaMismatch | KeyTooLong] | None = None
    resolved = engine.do_parts("key", definition_inputs, _resolve, [(engine, request) for request in requests])
    for position, outcome in enumerate(resolved):
        if isinstance(outcome, ItemWrite):
            writes.append(outcome)
        else:
            mismatch = mismatch or (position, outcome)
    seen = {(write.table.n, write.key) for write in writes}
    if len(seen) != len(writes):
        raise ValidationException(TWICE)
    if mismatch is not None:
        raise cancel(len(requests), {mismatch[0]: reason_for(mismatch[1])})
    return writes


def check_all(engine: Engine, writes: Sequence[ItemWrite]) -> list[CheckedWrite]:
    """Check every condition and make every image; cancel with a reason per write otherwise."""
    checked: list[CheckedWrite] = []
    reasons: dict[int, Wire] = {}
    rows = [load_row(engine, write.table, write.key) for write in writes]
    if sum(row.estimate_values() for row in rows if row is not None) > MAX_DECODED_VALUES:
        raise ValidationException(TOO_MANY_VALUES)
    entries = [(engine, write, row) for write, row in zip(writes, rows, strict=True)]
    for position, outcome in enumerate(engine.do_parts("row", row_inputs, _check, entries)):
        if isinstance(outcome, CheckedWrite):
            checked.append(outcome)
        elif isinstance(outcome, ValidationException):
            raise cancel(len(writes), {position: reason_for(outcome)})
        else:
            reasons[position] = reason_for(outcome)
    if reasons:
        raise cancel(len(writes), reasons)
    return checked


def row_inputs(engine: Engine, _work: object, row: Row | None) -> Inputs:
    """Return what the work on a row depends on: its contents, and the definitions of the tables.

    Jobs change the index keys of a row and its expiry, not its body.
    """
    return (engine.catalog.version, None) if row is None else (engine.catalog.version, row.id, row.body, row.columns)


def _resolve(engine: Engine, request: WriteRequest) -> ItemWrite | SchemaMismatch | KeyTooLong:
    try:
        return request.resolve(engine)
    except (SchemaMismatch, KeyTooLong) as refusal:
        return refusal


def _check(_engine: Engine, write: ItemWrite, row: Row | None) -> CheckedWrite | ServiceError:
    try:
        return check_write(write, row)
    except ValidationException as refusal:
        return refusal


def check_write(write: ItemWrite, row: Row | None) -> CheckedWrite | ServiceError:
    """Return what a write will store, or why it does not."""
    try:
        write.check(row)
    except (ConditionalCheckFailedException, DuplicateItemException) as refusal:
        return refusal
    return CheckedWrite(write, row, write.image if write.make_image is None else write.make_image(row))


def _apply(engine: Engine, checked: CheckedWrite) -> WriteResult:
    write = checked.write
    if write.only_checks:
        return WriteResult(write.table, write.key, checked.row, None)
    return apply(engine, write.table, write.key, checked.row, checked.image)


def reason_for(refusal: ServiceError) -> Wire:
    """Return a refusal as the reason for cancelling a transaction."""
    codes: dict[type[ServiceError], str] = {
        ConditionalCheckFailedException: "ConditionalCheckFailed",
        DuplicateItemException: "DuplicateItem",
    }
    code = codes.get(type(refusal), "ValidationError")
    return {"Code": code, "Message": refusal.message, **refusal.members}


def cancel(count: int, reasons: dict[int, Wire]) -> TransactionCanceledException:
    """Return the cancellation of a transaction with so many entries."""
    return TransactionCanceledException([reasons.get(position, NO_REASON) for position in range(count)])


# -- tokens -----------------------------------------------------------------------------------------------------------


def digest_request(request: Wire) -> bytes:
    """Return the digest of a request with a token: of all members but the token and ReturnConsumedCapacity."""
    members = {k: v for k, v in request.items() if k not in ("ClientRequestToken", "ReturnConsumedCapacity")}
    return hashlib.sha256(orjson.dumps(members, option=orjson.OPT_SORT_KEYS)).digest()


def find_replay(engine: Engine, operation: str, request: Wire, digest: bytes) -> list[list[Any]] | None:
    """Return what an earlier request with this token wrote, or None when there was none."""
    token = request.get("ClientRequestToken")
    if token is None:
        return None
    oldest = engine.now() - TOKEN_LIFE
    engine.store.execute(sql.EXPIRE_TOKENS, (oldest, TOKENS_PER_SLICE))
    found = engine.store.execute(sql.FIND_TOKEN, (f"{operation}:{token}", oldest)).fetchone()
    if found is None:
        return None
    if found[0] != digest:
        raise IdempotentParameterMismatchException(MISMATCHED_TOKEN)
    touched: list[list[Any]] = orjson.loads(found[1])
    return touched


def keep_token(engine: Engine, operation: str, request: Wire, digest: bytes, touched: list[list[Any]]) -> None:
    """Store that a token was used, the digest of its request, and which items that wrote."""
    token = request.get("ClientRequestToken")
    if token is not None:
        engine.written += 1
        engine.store.execute(
            sql.ADD_TOKEN,
            (f"{operation}:{token}", digest, engine.now(), orjson.dumps(touched)),
        )


# -- what it cost -----------------------------------------------------------------------------------------------------


def image_size(change: WriteResult) -> int:
    """Return the larger of the sizes of an item before and after a change."""
    return max(change.old.size if change.old else 0, change.new.size if change.new else 0)


def write_costs(names: Sequence[str], changes: Sequence[WriteResult], checks: Sequence[bool]) -> list[ConsumedCapacity]:
    """Return what a transaction consumed, a cost per table; condition checks cost as much as a write."""
    costs: dict[str, ConsumedCapacity] = {}
    for name, change, is_check in zip(names, changes, checks, strict=True):
        cost = costs.setdefault(name, ConsumedCapacity(name, "Write"))
        if is_check:
            cost.add_table(2 * write_units(change.old.size if change.old else 0))
        else:
            cost.add_write(change, factor=2)
    return list(costs.values())


def replay_costs(touched: Sequence[Sequence[Any]]) -> list[ConsumedCapacity]:
    """Return what a repeated transaction consumes: a read of everything it had written."""
    costs: dict[str, ConsumedCapacity] = {}
    for name, size in touched:
        costs.setdefault(name, ConsumedCapacity(name, "Read")).add_table(
            read_units(size, consistent=True, transactional=True)
        )
    return list(costs.values())


def collect_metrics(names: Sequence[str], changes: Sequence[WriteResult]) -> dict[str, list[Wire]]:
    """Return the ItemCollectionMetrics of several writes, by table."""
    collected: dict[str, list[Wire]] = {}
    for name, change in zip(names, changes, strict=True):
        metrics = collection_metrics(change.table, change)
        if metrics is not None and metrics not in collected.setdefault(name, []):
            collected[name].append(metrics)
    return collected
