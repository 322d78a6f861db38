"""Single-item writes before they happen: what PutItem, UpdateItem, DeleteItem, transactions and statements share.

A Draft is a request checked as far as it can be without a table; `resolve` finds the table and the key and makes it an
Action; `run` loads the row, checks the condition, makes the new image and hands it to the write path.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from msgspec import Struct

from hashrange.core.errors import RequestInvalid, ValidationException
from hashrange.core.values import (
    INVALID_PARAMETER,
    InvalidValue,
    Item,
    check_item,
    check_key,
    measure,
    measure_item,
    utf8_length,
)
from hashrange.core.wire import Wire
from hashrange.engine import write
from hashrange.engine.table import Table, check_index_lengths
from hashrange.engine.write import Image, Row, WriteResult
from hashrange.expr.parameters import UPDATE, ExpressionParameters
from hashrange.expr.request_expressions import NO_EXPRESSIONS, Expressions, check_mixing, read_expressions

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine

Outcome = Callable[[Row | None], Image | None]
EMPTY_UPDATE_KEY = (
    "One or more parameter values are not valid. The update expression attempted to update a secondary index key to a "
    "value that is not supported. The AttributeValue for a key attribute cannot contain an empty string value."
)
WRONG_UPDATE_KEY = "The update expression attempted to update the secondary index key to unsupported type"


class Action(Struct, gc=False):
    """A write that is ready: which item, under which condition, and what becomes of it."""

    table: Table
    key: bytes
    outcome: Outcome | None  # None only checks the condition
    expressions: Expressions
    return_item: bool

    def check(self, row: Row | None) -> None:
        """Raise unless the condition holds for the stored row."""
        condition = self.expressions.condition
        if condition is not None:
            write.check_condition(condition, row, return_item=self.return_item)


class Draft(Struct, gc=False):
    """A request checked on its own; `resolve` needs the tables."""

    expressions: Expressions
    resolve: Callable[[Engine], Action]


def run(engine: Engine, action: Action) -> WriteResult:
    """Load, check, make and store: one item's whole write."""
    row = write.load(engine, action.table, action.key)
    action.check(row)
    image = action.outcome(row) if action.outcome else None
    return write.apply(engine, action.table, action.key, row, image)


def draft_put(request: Wire, spec: ExpressionParameters) -> Draft:
    """Check a put: its item's values, its condition, its size."""
    item, size = check_item(request["Item"], spec.wording)
    expressions = _read(request, spec)
    _check_return_values(request)
    write.check_put_size(size)

    def resolve(engine: Engine) -> Action:
        table = engine.catalog.find(request["TableName"])
        key = table.key_of_item(item)
        image = write.prepare(table, item, size)
        _check_scalar_keys(table, expressions)
        return Action(table, key, lambda _row: image, expressions, _wants_item(request))

    return Draft(expressions, resolve)


def draft_delete(request: Wire, spec: ExpressionParameters) -> Draft:
    """Check a delete: its key's values and its condition."""
    return _draft_keyed(request, spec, lambda _row: None)


def draft_check(request: Wire, spec: ExpressionParameters) -> Draft:
    """Check a transaction's condition check."""
    return _draft_keyed(request, spec, None)


def _draft_keyed(request: Wire, spec: ExpressionParameters, outcome: Outcome | None) -> Draft:
    key_item = check_key(request["Key"], spec.wording)
    expressions = _read(request, spec)
    _check_return_values(request)

    def resolve(engine: Engine) -> Action:
        table = engine.catalog.find(request["TableName"])
        key = table.key_of(key_item)
        _check_scalar_keys(table, expressions)
        return Action(table, key, outcome, expressions, _wants_item(request))

    return Draft(expressions, resolve)


def draft_update(request: Wire, spec: ExpressionParameters) -> Draft:
    """Check an update: its key's values, its expressions, the size of the statement."""
    check_mixing(request, spec)
    key_item = check_key(request["Key"], spec.wording)
    expressions = read_expressions(request, spec)

    def resolve(engine: Engine) -> Action:
        table = engine.catalog.find(request["TableName"])
        key = table.key_of(key_item)
        _check_scalar_keys(table, expressions)
        _check_targets(table, expressions)
        if spec is UPDATE and expressions.update is not None and expressions.update.cost() > write.ITEM_LIMIT:
            raise ValidationException(write.UPDATE_TOO_LARGE)  # UpdateItem alone weighs the statement, too
        return Action(table, key, make_updater(table, key_item, expressions), expressions, _wants_item(request))

    return Draft(expressions, resolve)


def make_updater(table: Table, key_item: Item, expressions: Expressions) -> Outcome:
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
    except InvalidValue as fault:
        raise fault.service_error() from None
    check_changed_index_keys(table, before, item)
    if size > write.ITEM_LIMIT:
        raise ValidationException(write.UPDATE_TOO_LARGE)
    return write.prepare(table, item, size, checked=True)


def measure_changes(before: Item, after: Item) -> int:
    """Return by how much an item grew, looking only at attributes that are not the very same as before."""
    grown = added = 0
    for name, value in after.items():
        old = before.get(name)
        if old is value:
            continue
        grown += measure(value)
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
        for attribute in index.codec.attributes:
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


def _read(request: Wire, spec: ExpressionParameters) -> Expressions:
    check_mixing(request, spec)
    return read_expressions(request, spec)


def _wants_item(request: Wire) -> bool:
    return request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"


def _check_return_values(request: Wire) -> None:
    if request.get("ReturnValues", "NONE") not in ("NONE", "ALL_OLD"):
        raise RequestInvalid("ReturnValues can only be ALL_OLD or NONE")


def _check_targets(table: Table, expressions: Expressions) -> None:
    if expressions.update is None:
        return
    for path in expressions.update.paths:
        if path[0] in table.key_names:
            raise ValidationException(
                f"{INVALID_PARAMETER}Cannot update attribute {path[0]}. This attribute is part of the key"
            )


def _check_scalar_keys(table: Table, expressions: Expressions) -> None:
    if expressions is not NO_EXPRESSIONS:
        for expression in (expressions.condition, expressions.update):
            if expression is not None:
                check_scalars(table, expression.document_attributes)


def check_scalars(table: Table, attributes: Collection[str]) -> None:
    """Raise when a key attribute is used as if it were a list or a map."""
    if not attributes:
        return
    text = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: "
    for name in table.key_names:
        if name in attributes:
            raise ValidationException(f"{text}Key: {name}")
    for index in table.indexes:
        for attribute in index.codec.attributes:
            if attribute.name in attributes:
                raise ValidationException(f"{text}IndexKey: {attribute.name}")
