"""The write path: every put, update, delete, batch, transaction, statement, TTL deletion and restore ends in `apply`.

A write has three steps, and a transaction takes each for all its entries before the next. `check_put` (`check_update`,
`check_delete` ...) checks a request on its own and returns a WriteRequest; its `resolve` finds the table and the key
and returns an ItemWrite; `write_item` loads the row, checks the condition and applies the new image. Nothing is checked
after the first row is written. `apply` changes the row, its index columns, the counters and the change log together.
msgspec's structs are created in half the time of a class with an `__init__`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import orjson
from msgspec import Struct

from hashrange.core.errors import ConditionalCheckFailedException, RequestInvalid, ValidationException
from hashrange.core.keys import rowid_of
from hashrange.core.values import (
    INVALID_PARAMETER,
    ITEM_TOO_LARGE,
    MAX_ITEM_BYTES,
    InvalidValue,
    Item,
    check_item,
    check_key,
    measure,
    measure_item,
    utf8_length,
)
from hashrange.core.wire import Wire
from hashrange.engine.store import NotUnique
from hashrange.engine.table import Table, check_index_lengths, check_index_type, check_scalars
from hashrange.expr.parameters import UPDATE, ExpressionParameters
from hashrange.expr.request_expressions import NO_EXPRESSIONS, Expressions, check_mixing, read_expressions
from hashrange.expr.update import UPDATE_TOO_LARGE

if TYPE_CHECKING:
    from hashrange.engine.catalog import CatalogContext

EMPTY_UPDATE_KEY = (
    "One or more parameter values are not valid. The update expression attempted to update a secondary index key to a "
    "value that is not supported. The AttributeValue for a key attribute cannot contain an empty string value."
)
WRONG_UPDATE_KEY = "The update expression attempted to update the secondary index key to unsupported type"
WRONG_RETURN_VALUES = "ReturnValues can only be ALL_OLD or NONE"
CALLER, TTL_SERVICE = 0, 1
JSON_BYTES_PER_VALUE = 8
MAX_DECODED_VALUES = 1_000_000  # of stored items, for one request: about half a second with a costly condition


class Row(Struct, gc=False):
    """An item as it is stored; decoded only when its attributes are needed."""

    id: int
    size: int
    body: bytes
    columns: tuple[object, ...]  # its expiry and index keys, in the order of `Statements.columns`
    _item: Item | None = None

    @property
    def item(self) -> Item:
        """Return the item; not to be changed."""
        if self._item is None:
            self._item = orjson.loads(self.body)
        return self._item

    def estimate_values(self) -> int:
        """Return about how many values the item has, without decoding it: JSON adds eight bytes or more to each."""
        return max(1, (len(self.body) - self.size) // JSON_BYTES_PER_VALUE)


class Image(Struct, gc=False):
    """An item about to be stored: checked, measured, with its index keys."""

    item: Item
    size: int
    body: bytes
    columns: tuple[object, ...]


class WriteResult(Struct, gc=False):
    """What a write did to one item: the source of capacity, responses and stream records."""

    table: Table
    key: bytes
    old: Row | None
    new: Image | None


MakeImage = Callable[[Row | None], Image | None]


class ItemWrite(Struct, gc=False):
    """A write that is ready: which item, under which condition, and what it becomes.

    What it becomes is an image, or made from the stored row; neither deletes the item.
    """

    table: Table
    key: bytes
    expressions: Expressions
    return_item: bool  # in the error of a condition that does not hold
    image: Image | None = None
    make_image: MakeImage | None = None
    only_checks: bool = False

    def check(self, row: Row | None) -> None:
        """Raise ConditionalCheckFailedException, with the item when asked for, unless the condition holds."""
        condition = self.expressions.condition
        if condition is not None and not condition({} if row is None else row.item):
            if self.return_item and row is not None:
                raise ConditionalCheckFailedException(Item=row.item)
            raise ConditionalCheckFailedException


class WriteRequest(Struct, gc=False):
    """A request that was checked on its own; `resolve` needs the tables."""

    expressions: Expressions
    resolve: Callable[[CatalogContext], ItemWrite]


# -- a request, checked on its own, then with its table ---------------------------------------------------------------


def check_put(request: Wire, parameters: ExpressionParameters) -> WriteRequest:
    """Check a put: its item's values, its condition, its size."""
    item, size = check_item(request["Item"], parameters.wording)
    check_mixing(request, parameters)
    expressions = read_expressions(request, parameters)
    if request.get("ReturnValues", "NONE") not in ("NONE", "ALL_OLD"):
        raise RequestInvalid(WRONG_RETURN_VALUES)
    check_put_size(size)

    def resolve(engine: CatalogContext) -> ItemWrite:
        table = engine.catalog.find(request["TableName"])
        key = table.key_of_item(item)
        image = make_image(table, item, size)
        if expressions is not NO_EXPRESSIONS:
            _check_scalar_keys(table, expressions)
        return ItemWrite(table, key, expressions, wants_item(request), image)

    return WriteRequest(expressions, resolve)


def check_delete(request: Wire, parameters: ExpressionParameters) -> WriteRequest:
    """Check a delete: its key's values and its condition."""
    return _check_keyed(request, parameters, only_checks=False)


def check_condition_check(request: Wire, parameters: ExpressionParameters) -> WriteRequest:
    """Check a transaction's condition check."""
    return _check_keyed(request, parameters, only_checks=True)


def _check_keyed(request: Wire, parameters: ExpressionParameters, *, only_checks: bool) -> WriteRequest:
    key_item = check_key(request["Key"], parameters.wording)
    check_mixing(request, parameters)
    expressions = read_expressions(request, parameters)
    if request.get("ReturnValues", "NONE") not in ("NONE", "ALL_OLD"):
        raise RequestInvalid(WRONG_RETURN_VALUES)

    def resolve(engine: CatalogContext) -> ItemWrite:
        table = engine.catalog.find(request["TableName"])
        key = table.key_of(key_item)
        _check_scalar_keys(table, expressions)
        return ItemWrite(table, key, expressions, wants_item(request), only_checks=only_checks)

    return WriteRequest(expressions, resolve)


def check_update(request: Wire, parameters: ExpressionParameters) -> WriteRequest:
    """Check an update: its key's values, its expressions, the size of the statement."""
    check_mixing(request, parameters)
    key_item = check_key(request["Key"], parameters.wording)
    expressions = read_expressions(request, parameters)

    def resolve(engine: CatalogContext) -> ItemWrite:
        table = engine.catalog.find(request["TableName"])
        key = table.key_of(key_item)
        _check_scalar_keys(table, expressions)
        _check_targets(table, expressions)
        update = expressions.update
        if parameters is UPDATE and update is not None and update.cost() > MAX_ITEM_BYTES:
            raise ValidationException(UPDATE_TOO_LARGE)  # only UpdateItem measures the statement, too
        updater = make_updater(table, key_item, expressions)
        return ItemWrite(table, key, expressions, wants_item(request), make_image=updater)

    return WriteRequest(expressions, resolve)


def wants_item(request: Wire) -> bool:
    """Return whether a request asks for the item when its condition does not hold."""
    return request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"


def check_put_size(size: int) -> None:
    """Raise when an item is too large to be put."""
    if size > MAX_ITEM_BYTES:
        raise ValidationException(ITEM_TOO_LARGE)


def make_image(table: Table, item: Item, size: int, *, checked: bool = False) -> Image:
    """Return an item ready to be stored; unless `checked`, raise for index keys that no index can hold."""
    columns: tuple[object, ...] = (table.expiry_of(item),) if table.ttl_attribute else ()
    if table.encoders:
        keys = [encode(item) for encode in table.encoders]
        if not checked and None in keys:
            table.check_index_keys(item, keys)
        columns = (*columns, *keys)
    return Image(item, size, orjson.dumps(item), columns)


# -- the write itself -------------------------------------------------------------------------------------------------


def write_item(engine: CatalogContext, write: ItemWrite) -> WriteResult:
    """Load the row, check the condition, make the new image and apply it."""
    row = load_row(engine, write.table, write.key)
    write.check(row)
    image = write.image if write.make_image is None else write.make_image(row)
    return apply(engine, write.table, write.key, row, image)


def load_row(engine: CatalogContext, table: Table, key: bytes) -> Row | None:
    """Return the stored row of a key."""
    found = engine.store.run(table.sql.select, (key, rowid_of(key))).get
    if found is None and table.has_collisions:
        found = engine.store.run(table.sql.select_by_key, (key,)).get
    return None if found is None else Row(found[0], found[1], found[2], found[3:])


def apply(
    engine: CatalogContext, table: Table, key: bytes, old: Row | None, new: Image | None, actor: int = CALLER
) -> WriteResult:
    """Store (or, with no image, remove) the item of a key; a write that changes nothing leaves no trace."""
    change = WriteResult(table, key, old, new)
    if new is None:
        if old is not None:
            _remove(engine, table, key, old, actor)
        return change
    if old is None:
        _insert(engine, table, key, new, actor)
    elif old.body != new.body:
        _replace(engine, table, key, old, new, actor)
    return change


def _insert(engine: CatalogContext, table: Table, key: bytes, new: Image, actor: int) -> None:
    engine.written += 1
    try:
        engine.store.run(table.sql.insert, (key, new.size, new.body, *new.columns, rowid_of(key)))
    except NotUnique:  # a rowid collision: another key has it; that this one has no row yet is known
        table.has_collisions = True
        engine.store.run(table.sql.insert_collided, (key, new.size, new.body, *new.columns))
    _count(engine, table, None, new)
    if table.logged:
        _log(engine, table, key, None, new.body, actor)


def _replace(engine: CatalogContext, table: Table, key: bytes, old: Row, new: Image, actor: int) -> None:
    if table.logged and old.size == new.size and old.item == new.item:
        return  # the same attributes in another order
    engine.written += 1
    changed, values = 0, [new.size, new.body]
    if old.columns != new.columns:
        for at, value in enumerate(new.columns):
            if value != old.columns[at]:
                changed |= 1 << at
                values.append(value)
    engine.store.run(table.sql.update(changed), (*values, old.id))
    _count(engine, table, old, new)
    if table.logged:
        _log(engine, table, key, old.body, new.body, actor)


def _remove(engine: CatalogContext, table: Table, key: bytes, old: Row, actor: int) -> None:
    engine.written += 1
    engine.store.run(table.sql.delete, (old.id,))
    _count(engine, table, old, None)
    if table.logged:
        _log(engine, table, key, old.body, None, actor)


def _log(engine: CatalogContext, table: Table, key: bytes, old: bytes | None, new: bytes | None, actor: int) -> None:
    sequence = engine.next_sequence()
    engine.store.run(table.sql.log, (sequence, engine.last_wall_time, key, old, new, actor))


def _count(engine: CatalogContext, table: Table, old: Row | None, new: Image | None) -> None:
    """Keep the counters of the table and its indexes exact."""
    table.item_count += (new is not None) - (old is not None)
    table.size_bytes += (new.size if new else 0) - (old.size if old else 0)
    engine.catalog.touch(table)
    for at, index in enumerate(table.indexes, 1 if table.ttl_attribute else 0):
        before = old.columns[at] if old else None
        after = new.columns[at] if new else None
        if before == after and (before is None or index.keys_only):
            continue  # not in the index, or an entry of keys alone that stays the same
        index.item_count += (after is not None) - (before is not None)
        if after is not None and new is not None:
            index.size_bytes += new.size if index.keeps_all else index.measure_entry(new.item)
        if before is not None and old is not None:
            index.size_bytes -= old.size if index.keeps_all else index.measure_entry(old.item)


# -- updates ----------------------------------------------------------------------------------------------------------


def make_updater(table: Table, key_item: Item, expressions: Expressions) -> MakeImage:
    """Return what turns a stored row into the updated image."""
    update = expressions.update

    def updated(row: Row | None) -> Image | None:
        if row is None and update is not None and update.removes_only:
            return None
        before = key_item if row is None else row.item
        item = dict(before) if update is None else update(before, fresh=row is None)
        return finish_update(table, before, row.size if row else measure_item(key_item), item)

    return updated


def finish_update(table: Table, before: Item, size: int, item: Item) -> Image:
    """Check the item that an update made of one of that size: changed values, changed index keys, the new size."""
    try:
        size += measure_changes(before, item)
    except InvalidValue as error:
        raise error.service_error() from None
    check_changed_index_keys(table, before, item)
    if size > MAX_ITEM_BYTES:
        raise ValidationException(UPDATE_TOO_LARGE)
    return make_image(table, item, size, checked=True)


def measure_changes(before: Item, after: Item) -> int:
    """Return by how much an item grew, looking only at attributes that are not the very same as before.

    It stops when the item is certainly too large: what was there before cannot make up for it.
    """
    grown = added = 0
    for name, value in after.items():
        old = before.get(name)
        if old is value:
            continue
        grown += measure(value)
        if grown > MAX_ITEM_BYTES:
            return grown + MAX_ITEM_BYTES
        if old is None:
            added += 1
            grown += utf8_length(name)
        else:
            grown -= measure(old)
    if len(before) + added > len(after):
        grown -= sum(utf8_length(name) + measure(before[name]) for name in before.keys() - after.keys())
    return grown


def check_changed_index_keys(table: Table, before: Item, item: Item) -> None:
    """Raise when an update gave an index key a value that no index key can have."""
    for index in table.indexes:
        changed = False
        for attribute in index.key_encoder.attributes:
            value = item.get(attribute.name)
            if value is None or value is before.get(attribute.name):
                continue
            changed = True
            if attribute.tag not in value:
                raise ValidationException(WRONG_UPDATE_KEY)
            if not value[attribute.tag]:
                raise ValidationException(EMPTY_UPDATE_KEY)
        if changed:
            check_index_lengths(index, item)


def _check_targets(table: Table, expressions: Expressions) -> None:
    if expressions.update is None:
        return
    for path in expressions.update.paths:
        if path[0] in table.key_names:
            raise ValidationException(
                f"{INVALID_PARAMETER}Cannot update attribute {path[0]}. This attribute is part of the key"
            )
    for index in table.indexes:
        for attribute in index.key_encoder.attributes:
            if attribute.name in expressions.update.attributes:
                check_index_type(index, attribute, expressions.update.result_type(attribute.name))


def _check_scalar_keys(table: Table, expressions: Expressions) -> None:
    for expression in (expressions.condition, expressions.update):
        if expression is not None and expression.document_attributes:
            check_scalars(table, expression.document_attributes)
