"""INSERT, UPDATE, DELETE and EXISTS: make an ItemWrite of the engine's write path from a plan and its table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from hashrange.core.errors import DuplicateItemException, ValidationException
from hashrange.core.values import INVALID_PARAMETER, TOO_DEEP, Item, check_item
from hashrange.engine.table import MISMATCH, SchemaMismatch, Table, check_scalars
from hashrange.engine.write import ItemWrite, check_put_size, make_image, make_updater
from hashrange.expr.condition import Predicate, bind_condition
from hashrange.expr.nodes import And, Comparison, Condition, Literal, path_of
from hashrange.expr.request_expressions import NO_EXPRESSIONS, Expressions
from hashrange.expr.update import bind_update
from hashrange.partiql.key_ranges import split_equalities
from hashrange.partiql.statement_plan import DeletePlan, InsertPlan, Plan, SelectPlan, UpdatePlan

if TYPE_CHECKING:
    from hashrange.engine.write import Image, Row, WriteResult

INCOMPLETE_KEY = "Where clause does not contain a mandatory equality on all key attributes"
SEVERAL_VALUES = "Multiple conditions on same key {}. Only single item Update/Insert/Delete are supported"
NOT_A_CHECK = "EXISTS() must contain a single item read with additional condition"
ITEM_TOO_DEEP = "Nesting Levels have exceeded supported limits"
DUPLICATE_KEY = "Duplicate primary key exists in table"


class InsertWrite(ItemWrite):
    """A put that fails if the item exists."""

    def check(self, row: Row | None) -> None:
        """Raise if the item exists."""
        if row is not None:
            raise DuplicateItemException(DUPLICATE_KEY)


def make_write(plan: Plan, table: Table, *, return_item: bool, in_transaction: bool) -> ItemWrite:
    """Return the action of a write, or for a SELECT the action that checks its condition."""
    match plan:
        case InsertPlan():
            return _make_insertion(plan, table)
        case UpdatePlan():
            return _make_update(plan, table, return_item=return_item, in_transaction=in_transaction)
        case DeletePlan():
            return _make_deletion(plan, table, return_item=return_item, in_transaction=in_transaction)
        case SelectPlan():
            return _make_check(plan, table, return_item=return_item)


def _make_insertion(plan: InsertPlan, table: Table) -> ItemWrite:
    item, size = check_item(plan.item)
    check_put_size(size)
    key = table.key_of_item(item)
    return InsertWrite(table, key, NO_EXPRESSIONS, return_item=False, image=make_image(table, item, size))


def _make_update(plan: UpdatePlan, table: Table, *, return_item: bool, in_transaction: bool) -> ItemWrite:
    key, rest = _find_key(plan.where, table, in_transaction=in_transaction)
    for action in plan.actions:
        name = action.path.elements[0]
        if name in table.key_names:
            raise ValidationException(
                f"{INVALID_PARAMETER}Cannot update attribute {name}. This attribute is part of the key"
            )
    update = bind_update(plan.actions)
    condition = _bind_conditions(rest, table)
    check_scalars(table, frozenset(update.document_attributes))
    expressions = Expressions(condition=_require_item(condition), update=update)
    updater = make_updater(table, key, expressions)

    def updated(row: Row | None) -> Image | None:
        try:
            return updater(row)
        except ValidationException as error:
            if error.message == TOO_DEEP:
                raise ValidationException(ITEM_TOO_DEEP) from None
            raise

    return ItemWrite(table, table.key_of(key), expressions, return_item, make_image=updated)


def _make_deletion(plan: DeletePlan, table: Table, *, return_item: bool, in_transaction: bool) -> ItemWrite:
    key, rest = _find_key(plan.where, table, in_transaction=in_transaction)
    condition = _bind_conditions(rest, table)
    expressions = Expressions(condition=_allow_missing_item(condition))
    return ItemWrite(table, table.key_of(key), expressions, return_item)


def _make_check(plan: SelectPlan, table: Table, *, return_item: bool) -> ItemWrite:
    equal, rest = split_equalities(plan.where, table.key_names)
    key = dict(reversed(equal))  # the first of several values for one attribute
    if len(key) != len(table.key_names):
        raise ValidationException(NOT_A_CHECK)
    others = [Comparison("=", path_of(name), Literal(value)) for name, value in equal if key[name] != value]
    if not rest and not others:
        raise ValidationException(NOT_A_CHECK)
    condition = _bind_conditions([*others, *rest], table)
    return ItemWrite(table, table.key_of(key), Expressions(condition=condition), return_item, only_checks=True)


def _find_key(where: Condition | None, table: Table, *, in_transaction: bool) -> tuple[Item, list[Condition]]:
    """Return the key of the item to write, and the conditions on it; errors have other texts in a transaction."""
    equal, rest = split_equalities(where, table.key_names)
    key: Item = {}
    for name, value in equal:
        if key.setdefault(name, value) != value:
            raise SchemaMismatch(MISMATCH) if in_transaction else ValidationException(SEVERAL_VALUES.format(name))
    if len(key) != len(table.key_names):
        raise SchemaMismatch(MISMATCH) if in_transaction else ValidationException(INCOMPLETE_KEY)
    return key, rest


def _bind_conditions(conditions: list[Condition], table: Table) -> Predicate | None:
    if not conditions:
        return None
    predicate = bind_condition(conditions[0] if len(conditions) == 1 else And(tuple(conditions)))
    check_scalars(table, frozenset(predicate.document_attributes))
    return predicate


def _require_item(predicate: Predicate | None) -> Predicate:
    """Return the condition of an UPDATE, which never creates an item."""
    if predicate is None:
        return Predicate(frozenset(), (), bool)
    run = predicate.run
    return Predicate(predicate.attributes, predicate.document_attributes, lambda item: bool(item) and run(item))


def _allow_missing_item(predicate: Predicate | None) -> Predicate | None:
    """Return the condition of a DELETE, which holds if there is no item."""
    if predicate is None:
        return None
    run = predicate.run
    return Predicate(predicate.attributes, predicate.document_attributes, lambda item: not item or run(item))


def returned_item(returning: str | None, write: ItemWrite, result: WriteResult) -> bytes | None:
    """Return the item that a RETURNING clause selects; None if there is none, or nothing of it is selected."""
    side = result.new if returning in ("ALL NEW", "MODIFIED NEW") else result.old
    if returning is None or side is None:
        return None
    if returning.startswith("ALL"):
        return side.body
    update = write.expressions.update
    updated = update.updated_attributes(side.item) if update else {}
    return orjson.dumps(updated) if updated else None
