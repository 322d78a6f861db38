"""BatchWriteItem: up to twenty-five puts and deletes; all are checked before the first is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from hashrange.core.errors import ValidationException
from hashrange.core.limits import MAX_BATCH_WRITES
from hashrange.core.values import SEVERAL_TYPES, ErrorWording, Item, check_item
from hashrange.core.wire import Wire
from hashrange.engine import write
from hashrange.engine.capacity import ConsumedCapacity, report_capacity
from hashrange.engine.operation import operation
from hashrange.engine.partial_work import definition_inputs, no_inputs
from hashrange.engine.shape.constraint_message import ViolationReport, Violations, messages_for_each
from hashrange.engine.table import MISMATCH, SchemaMismatch, Table
from hashrange.engine.transaction import collect_metrics
from hashrange.engine.write import Image, WriteResult

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


class BatchEntry:
    """One put or delete of the batch."""

    __slots__ = ("image", "item", "key", "name", "puts", "size", "table")

    def __init__(self, name: str, entry: Wire) -> None:
        put, delete = entry.get("PutRequest"), entry.get("DeleteRequest")
        if (put is None) == (delete is None):
            raise ValidationException(SEVERAL_TYPES)
        self.name = name
        self.puts = put is not None
        given: Item = put["Item"] if put is not None else delete["Key"]  # type: ignore[index]
        self.item, self.size = check_item(given, ErrorWording.OLDER)
        self.table: Table
        self.key: bytes
        self.image: Image | None = None

    def resolve(self, engine: Engine) -> None:
        """Find the table, the key and, for a put, the image."""
        self.table = engine.catalog.find(self.name)
        try:
            self.key = self.table.key_of_item(self.item) if self.puts else self.table.key_of(self.item)
        except SchemaMismatch:
            raise ValidationException(MISMATCH) from None
        if self.puts:
            self.image = write.make_image(self.table, self.item, self.size)


def _resolve(engine: Engine, entry: BatchEntry) -> None:
    entry.resolve(engine)


def _messages(violations: Violations) -> list[str]:
    if violations[0].found == {} and violations[0].path.upper == "RequestItems":
        raise ValidationException("The requestItems parameter is required for BatchWriteItem")
    return messages_for_each(violations)


VIOLATIONS = ViolationReport(
    first=frozenset({"ReturnConsumedCapacity", "ReturnItemCollectionMetrics"}), messages=_messages
)


@operation(
    writes="items",
    needs_no_copy=True,
    entries="RequestItems",
    unprocessed="UnprocessedItems",
    pauses=True,
    violations=VIOLATIONS,
)
def batch_write_item(engine: Engine, request: Wire) -> bytes:
    """Write every entry, or refuse the whole batch."""
    given = [(name, entry) for name, entries in request["RequestItems"].items() for entry in entries]
    batch = engine.do_parts("entry", no_inputs, BatchEntry, given)
    if len(batch) > MAX_BATCH_WRITES:
        raise ValidationException("Too many items requested for the BatchWriteItem call")
    for entry in batch:
        if entry.puts:
            write.check_put_size(entry.size)
    for name in request["RequestItems"]:
        engine.catalog.find(name)
    engine.do_parts("image", definition_inputs, _resolve, [(engine, entry) for entry in batch])
    if len({(entry.table.n, entry.key) for entry in batch}) != len(batch):
        raise ValidationException("Provided list of item keys contains duplicates")
    changes = [_write(engine, entry) for entry in batch]
    return _build_response(request, batch, changes)


def _write(engine: Engine, entry: BatchEntry) -> WriteResult:
    row = write.load_row(engine, entry.table, entry.key)
    return write.apply(engine, entry.table, entry.key, row, entry.image)


def _build_response(request: Wire, batch: list[BatchEntry], changes: list[WriteResult]) -> bytes:
    response: Wire = {"UnprocessedItems": {}}
    mode = request.get("ReturnConsumedCapacity", "NONE")
    if mode != "NONE":
        costs: dict[str, ConsumedCapacity] = {}
        for entry, change in zip(batch, changes, strict=True):
            costs.setdefault(entry.name, ConsumedCapacity(entry.name)).add_write(change)
        response["ConsumedCapacity"] = report_capacity(costs.values(), mode)
    if request.get("ReturnItemCollectionMetrics") == "SIZE":
        metrics = collect_metrics([entry.name for entry in batch], changes)
        if metrics:
            response["ItemCollectionMetrics"] = metrics
    return orjson.dumps(response)
