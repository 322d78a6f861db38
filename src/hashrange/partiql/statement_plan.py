"""Plans statements: converts them to conditions, updates and items for the engine's read and write paths.

A plan knows no table: names are as written, conditions and updates are those of `expr`. All errors that do not depend
on a table are raised here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from hashrange.core.errors import ValidationException
from hashrange.core.values import Item, Value
from hashrange.expr import nodes as expr
from hashrange.expr.errors import ExpressionError
from hashrange.expr.nodes import Action, Condition, SetAction, clauses_of, conditions_postorder, paths_of
from hashrange.expr.parser import MAX_OPERATORS
from hashrange.expr.path import make_path_tree
from hashrange.expr.validation import MAX_PATH_DEPTH, check_assigned, check_clause
from hashrange.partiql.expression_conversion import ExpressionConverter
from hashrange.partiql.nodes import (
    CallExpression,
    DeleteStatement,
    Expression,
    FromSource,
    Identifier,
    InsertStatement,
    MapLiteral,
    OrderTerm,
    PathExpression,
    RemoveClause,
    SelectStatement,
    SetClause,
    UpdateStatement,
    service_name,
)
from hashrange.partiql.statement_parser import parse

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
class SelectColumn:
    """A selected path and the name of its column."""

    label: str
    path: expr.DocumentPath


@dataclass(frozen=True, slots=True)
class SelectPlan:
    """A read; `columns` is None for `*`, `order` lists key attributes and whether they descend."""

    columns: tuple[SelectColumn, ...] | None
    where: Condition | None
    order: tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class InsertPlan:
    """The item to insert."""

    item: Item


@dataclass(frozen=True, slots=True)
class UpdatePlan:
    """The update of the item whose key WHERE contains."""

    actions: tuple[Action, ...]
    where: Condition | None
    returning: str | None


@dataclass(frozen=True, slots=True)
class DeletePlan:
    """The deletion of the item whose key WHERE contains."""

    where: Condition | None
    returning: str | None


Plan: TypeAlias = SelectPlan | InsertPlan | UpdatePlan | DeletePlan
Plannable: TypeAlias = SelectStatement | InsertStatement | UpdateStatement | DeleteStatement


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    """A parsed statement and the table and index that it names."""

    node: Plannable
    parameters: Sequence[Value]
    table: str
    index: str | None
    is_check: bool  # EXISTS(SELECT ..)

    @property
    def is_read(self) -> bool:
        """Whether it is a SELECT outside of EXISTS."""
        return isinstance(self.node, SelectStatement) and not self.is_check

    @property
    def returning(self) -> str | None:
        """Return its RETURNING clause."""
        return None if isinstance(self.node, SelectStatement) else self.node.returning

    def plan(self) -> Plan:
        """Return its plan, or raise the errors that do not depend on the table."""
        converter = ExpressionConverter(self.parameters)
        match self.node:
            case SelectStatement():
                return _plan_select(self.node, converter)
            case InsertStatement():
                return _plan_insert(self.node, converter)
            case UpdateStatement():
                return _plan_update(self.node, converter)
            case DeleteStatement():
                return _plan_delete(self.node, converter)


def parse_statement(text: str, parameters: Sequence[Value], *, in_transaction: bool = False) -> ParsedStatement:
    """Return the statement of a text; the parameters must have been checked before."""
    node, count = parse(text)
    is_check = isinstance(node, CallExpression) and node.name == "exists"
    if isinstance(node, CallExpression) and is_check:
        node = node.arguments[0] if len(node.arguments) == 1 else node
    if not isinstance(node, SelectStatement | InsertStatement | UpdateStatement | DeleteStatement):
        raise ValidationException(f"Unsupported operation: {service_name(node)}")
    if is_check and not in_transaction:
        raise ValidationException(EXISTS_ALONE)
    table, index = _find_source(node)
    if count != len(parameters):
        raise ValidationException(COUNT_MISMATCH)
    return ParsedStatement(node, parameters, table, index, is_check)


# -- sources ----------------------------------------------------------------------------------------------------------


def _find_source(node: Plannable) -> tuple[str, str | None]:
    if isinstance(node, InsertStatement):
        if not isinstance(node.target, Identifier):
            raise ValidationException(f"{ONE_TABLE} at {node.target.span}")
        return _check_components(node.target), None
    if isinstance(node, UpdateStatement) and any(isinstance(change, InsertStatement) for change in node.changes):
        raise ValidationException(INSERT_FROM)
    table, index = _read_source(node.source)
    if index is not None and not isinstance(node, SelectStatement):
        raise ValidationException(ON_INDEX)
    return table, index


def _read_source(source: FromSource) -> tuple[str, str | None]:
    if source.joined:
        raise ValidationException(ONE_SOURCE)
    if source.aliased:
        raise ValidationException(ALIASED)
    match source.expression:
        case Identifier():
            return _check_components(source.expression), None
        case PathExpression(Identifier() as root, (Identifier() as step,)):
            return _check_components(root), _check_components(step)
        case PathExpression(Identifier(), steps) if all(isinstance(step, Identifier) for step in steps):
            raise ValidationException(TWO_COMPONENTS)
    raise ValidationException("Unexpected from source")


def _check_components(name: Identifier) -> str:
    if not name.text:
        raise ValidationException(EMPTY_COMPONENT)
    return name.text


# -- plans ------------------------------------------------------------------------------------------------------------


def _plan_select(node: SelectStatement, converter: ExpressionConverter) -> SelectPlan:
    if node.unsupported is not None:
        raise ValidationException("Unsupported clause: {} at {}".format(*node.unsupported))
    if node.aliased:
        raise ValidationException(ALIASED)
    columns = (
        None if node.columns is None else tuple(_make_column(converter.convert_path(column)) for column in node.columns)
    )
    _check_labels(columns or ())
    order = tuple((_name_of_order_term(term), term.descending) for term in node.order)
    return SelectPlan(columns, _plan_where(node.where, converter), order)


def _make_column(path: expr.DocumentPath) -> SelectColumn:
    """Return a column named after the last name of its path, with the indices that follow it."""
    label = ""
    for element in path.elements:
        label = element if isinstance(element, str) else f"{label}[{element}]"
    _check_path(path)
    return SelectColumn(label, path)


def _check_labels(columns: Sequence[SelectColumn]) -> None:
    seen: set[str] = set()
    for column in columns:
        if column.label in seen:
            raise ValidationException(f"Duplicate identifiers in select clause: {column.label}")
        seen.add(column.label)


def _name_of_order_term(term: OrderTerm) -> str:
    if not isinstance(term.key, Identifier):
        expression_name = service_name(term.key)
        raise ValidationException(f"Argument to ORDER BY must be of type VariableReference. Type: {expression_name}")
    return term.key.text


def _plan_insert(node: InsertStatement, converter: ExpressionConverter) -> InsertPlan:
    if not node.single:
        raise ValidationException(ONE_ITEM)
    if not isinstance(node.value, MapLiteral):
        raise ValidationException(ITEM_FORM)
    if node.returning is not None:
        raise ValidationException("RETURNING is not supported in INSERT")
    return InsertPlan(converter.literals.convert_item(node.value))


def _plan_update(node: UpdateStatement, converter: ExpressionConverter) -> UpdatePlan:
    changes = [change for change in node.changes if isinstance(change, SetClause | RemoveClause)]
    actions = tuple(converter.convert_change(change) for change in changes)
    where = _plan_where(node.where, converter)
    try:
        make_path_tree(tuple(action.path for action in actions))
        for action in actions:
            _check_path(action.path)
            if isinstance(action, SetAction):
                check_assigned(action.value, {})
    except ExpressionError as error:
        raise ValidationException(error.text) from None
    return UpdatePlan(actions, where, node.returning)


def _plan_delete(node: DeleteStatement, converter: ExpressionConverter) -> DeletePlan:
    if node.returning not in (None, "ALL OLD"):
        raise ValidationException(
            f"Invalid returning clause: RETURNING {node.returning} *. "
            "Only RETURNING ALL OLD * is allowed in DELETE statements."
        )
    return DeletePlan(_plan_where(node.where, converter), node.returning)


def _plan_where(node: Expression | None, converter: ExpressionConverter) -> Condition | None:
    if node is None:
        return None
    condition = converter.convert_condition(node)
    _count_operators(condition)
    for path in paths_of(condition):
        _check_path(path)
    try:
        for clause in clauses_of(condition):
            check_clause(clause, {})
    except ExpressionError as error:
        raise ValidationException(error.text) from None
    return condition


def _check_path(path: expr.DocumentPath) -> None:
    if len(path.elements) > MAX_PATH_DEPTH:
        text = "The document path has too many nesting levels; nesting levels: "
        raise ValidationException(text + str(len(path.elements)))


def _count_operators(condition: Condition) -> None:
    count = 0
    for part in conditions_postorder(condition):
        if isinstance(part, expr.And | expr.Or):
            count += len(part.operands) - 1
        elif not isinstance(part, expr.FunctionCall):
            count += 1
    if count > MAX_OPERATORS:
        raise ValidationException(f"The expression contains too many operators; operator count: {count}")
