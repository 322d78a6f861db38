"""Statements to plans: what a statement asks for, in terms that the engine's read and write paths take.

A plan knows no table: names are as written, conditions and updates are the expression layer's. Everything that the
service refuses without looking at a table is refused here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from hashrange.core.errors import ValidationException
from hashrange.core.values import Item, Value
from hashrange.expr import nodes as expr
from hashrange.expr.fault import Fault
from hashrange.expr.nodes import Action, Condition, SetAction, clauses_of, conditions_inner_first, paths_of
from hashrange.expr.operand import check_clause, check_functions
from hashrange.expr.path import make_tree
from hashrange.partiql.convert import Converter
from hashrange.partiql.nodes import (
    Assignment,
    Call,
    Delete,
    Expression,
    Insert,
    IsType,
    Name,
    Ordering,
    Path,
    Removal,
    Select,
    Source,
    Struct,
    Update,
)
from hashrange.partiql.parser import parse

MOST_OPERATORS = 300
DEEPEST_PATH = 32
ALIASED = "Aliasing is not supported"
ON_INDEX = "This operation is not supported on an index"
ONE_SOURCE = "Only select from a single table or index is supported."
ONE_TABLE = "FROM clause may only contain a single table name in data manipulation statements"
TWO_COMPONENTS = "A path may contain at most 2 components in the FROM clause"
EMPTY_COMPONENT = "Path component cannot be an empty string"
COUNT_MISMATCH = "Number of parameters in request and statement don't match."
EXISTS_ALONE = "EXISTS can only be used in ExecuteTransaction write requests."
ONE_ITEM = (
    "Unsupported operation: Inserting multiple items in a single statement is not supported, "
    'use "INSERT INTO tableName VALUE item" instead'
)
ITEM_FORM = (
    "Unsupported format in item expression. Please use struct format {...} to express item values for insert statement."
)
INSERT_FROM = "Unsupported FROM ... WHERE ... clause in INSERT statement."


@dataclass(frozen=True, slots=True)
class Column:
    """A selected path and the name under which it is shown."""

    label: str
    path: expr.Path


@dataclass(frozen=True, slots=True)
class SelectPlan:
    """What to read: `columns` is None for everything, `order` names key attributes and whether they descend."""

    columns: tuple[Column, ...] | None
    where: Condition | None
    order: tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class InsertPlan:
    """An item to be put where there is none."""

    item: Item


@dataclass(frozen=True, slots=True)
class UpdatePlan:
    """Changes to the item that a clause names."""

    actions: tuple[Action, ...]
    where: Condition | None
    returning: str | None


@dataclass(frozen=True, slots=True)
class DeletePlan:
    """The removal of the item that a clause names."""

    where: Condition | None
    returning: str | None


Plan: TypeAlias = SelectPlan | InsertPlan | UpdatePlan | DeletePlan
Planned: TypeAlias = Select | Insert | Update | Delete


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that was read: what it is about; `plan` says what it asks for."""

    node: Planned
    parameters: Sequence[Value]
    table: str
    index: str | None
    is_check: bool  # EXISTS(SELECT ..)

    @property
    def is_read(self) -> bool:
        """Tell whether it only reads."""
        return isinstance(self.node, Select) and not self.is_check

    @property
    def returning(self) -> str | None:
        """Return its RETURNING clause."""
        return None if isinstance(self.node, Select) else self.node.returning

    def plan(self) -> Plan:
        """Return what it asks for, or raise what the service refuses without looking at the table."""
        converter = Converter(self.parameters)
        match self.node:
            case Select():
                return _plan_select(self.node, converter)
            case Insert():
                return _plan_insert(self.node, converter)
            case Update():
                return _plan_update(self.node, converter)
            case Delete():
                return _plan_delete(self.node, converter)


def read_statement(text: str, parameters: Sequence[Value], *, in_transaction: bool = False) -> Statement:
    """Return the statement of a text; its parameters must have been checked."""
    node, count = parse(text)
    is_check = isinstance(node, Call) and node.name == "exists"
    if isinstance(node, Call) and is_check:
        node = node.arguments[0] if len(node.arguments) == 1 else node
    if not isinstance(node, Select | Insert | Update | Delete):
        raise ValidationException(f"Unsupported operation: {_call_operation(node)}")
    if is_check and not in_transaction:
        raise ValidationException(EXISTS_ALONE)
    table, index = _find_source(node)
    if count != len(parameters):
        raise ValidationException(COUNT_MISMATCH)
    return Statement(node, parameters, table, index, is_check)


def _call_operation(node: Expression) -> str:
    return "IsType" if isinstance(node, IsType) else type(node).__name__


# -- sources ----------------------------------------------------------------------------------------------------------


def _find_source(node: Planned) -> tuple[str, str | None]:
    if isinstance(node, Insert):
        if not isinstance(node.target, Name):
            raise ValidationException(f"{ONE_TABLE} at {node.target.mark}")
        return _check_components(node.target), None
    if isinstance(node, Update) and any(isinstance(change, Insert) for change in node.changes):
        raise ValidationException(INSERT_FROM)
    table, index = _read_source(node.source)
    if index is not None and not isinstance(node, Select):
        raise ValidationException(ON_INDEX)
    return table, index


def _read_source(source: Source) -> tuple[str, str | None]:
    if source.joined:
        raise ValidationException(ONE_SOURCE)
    if source.aliased:
        raise ValidationException(ALIASED)
    match source.expression:
        case Name():
            return _check_components(source.expression), None
        case Path(Name() as root, (Name() as step,)):
            return _check_components(root), _check_components(step)
        case Path(Name(), steps) if all(isinstance(step, Name) for step in steps):
            raise ValidationException(TWO_COMPONENTS)
    raise ValidationException("Unexpected from source")


def _check_components(name: Name) -> str:
    if not name.text:
        raise ValidationException(EMPTY_COMPONENT)
    return name.text


# -- plans ------------------------------------------------------------------------------------------------------------


def _plan_select(node: Select, converter: Converter) -> SelectPlan:
    if node.unsupported is not None:
        raise ValidationException("Unsupported clause: {} at {}".format(*node.unsupported))
    if node.aliased:
        raise ValidationException(ALIASED)
    columns = None if node.columns is None else tuple(_column(converter.path(column)) for column in node.columns)
    _check_labels(columns or ())
    order = tuple((_order_name(term), term.descending) for term in node.order)
    return SelectPlan(columns, _plan_where(node.where, converter), order)


def _column(path: expr.Path) -> Column:
    """Return a column named after the last name of its path, with the indexes that follow it."""
    label = ""
    for element in path.elements:
        label = element if isinstance(element, str) else f"{label}[{element}]"
    _check_path(path)
    return Column(label, path)


def _check_labels(columns: Sequence[Column]) -> None:
    seen: set[str] = set()
    for column in columns:
        if column.label in seen:
            raise ValidationException(f"Duplicate identifiers in select clause: {column.label}")
        seen.add(column.label)


def _order_name(term: Ordering) -> str:
    if not isinstance(term.key, Name):
        kind = type(term.key).__name__
        raise ValidationException(f"Argument to ORDER BY must be of type VariableReference. Type: {kind}")
    return term.key.text


def _plan_insert(node: Insert, converter: Converter) -> InsertPlan:
    if not node.single:
        raise ValidationException(ONE_ITEM)
    if not isinstance(node.value, Struct):
        raise ValidationException(ITEM_FORM)
    if node.returning is not None:
        raise ValidationException("RETURNING is not supported in INSERT")
    return InsertPlan(converter.binder.item(node.value))


def _plan_update(node: Update, converter: Converter) -> UpdatePlan:
    changes = [change for change in node.changes if isinstance(change, Assignment | Removal)]
    actions = tuple(converter.change(change) for change in changes)
    where = _plan_where(node.where, converter)
    try:
        make_tree(tuple(action.path for action in actions))
        for action in actions:
            _check_path(action.path)
            if isinstance(action, SetAction):
                check_functions(action.value, {})
    except Fault as fault:
        raise ValidationException(fault.text) from None
    return UpdatePlan(actions, where, node.returning)


def _plan_delete(node: Delete, converter: Converter) -> DeletePlan:
    if node.returning not in (None, "ALL OLD"):
        raise ValidationException(
            f"Invalid returning clause: RETURNING {node.returning} *. "
            "Only RETURNING ALL OLD * is allowed in DELETE statements."
        )
    return DeletePlan(_plan_where(node.where, converter), node.returning)


def _plan_where(node: Expression | None, converter: Converter) -> Condition | None:
    if node is None:
        return None
    condition = converter.condition(node)
    _count_operators(condition)
    for path in paths_of(condition):
        _check_path(path)
    try:
        for clause in clauses_of(condition):
            check_clause(clause, {})
    except Fault as fault:
        raise ValidationException(fault.text) from None
    return condition


def _check_path(path: expr.Path) -> None:
    if len(path.elements) > DEEPEST_PATH:
        text = "The document path has too many nesting levels; nesting levels: "
        raise ValidationException(text + str(len(path.elements)))


def _count_operators(condition: Condition) -> None:
    count = 0
    for part in conditions_inner_first(condition):
        if isinstance(part, expr.And | expr.Or):
            count += len(part.operands) - 1
        elif not isinstance(part, expr.Call):
            count += 1
    if count > MOST_OPERATORS:
        raise ValidationException(f"The expression contains too many operators; operator count: {count}")
