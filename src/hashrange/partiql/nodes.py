"""The syntax tree of PartiQL statements: frozen values with their position in the text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from hashrange.partiql.lexer import Span


@dataclass(frozen=True, slots=True)
class Identifier:
    """An attribute name."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Wildcard:
    """`*` as a path step: `a.*` or `a[*]`."""

    bracketed: bool
    span: Span


@dataclass(frozen=True, slots=True)
class PathExpression:
    """A document path; a step is a name, a wildcard, or an expression in brackets."""

    root: Expression
    steps: tuple[Expression, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class StringLiteral:
    """A string in single quotes."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class NumberLiteral:
    """A number as written, with its sign."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class ConstantLiteral:
    """TRUE, FALSE, NULL or MISSING."""

    word: str
    span: Span


@dataclass(frozen=True, slots=True)
class IonLiteral:
    """An Ion literal in backticks; the service parses and refuses it."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class StatementParameter:
    """A `?`; `position` counts from 0."""

    position: int
    span: Span


@dataclass(frozen=True, slots=True)
class ListLiteral:
    """`[..]`, or several expressions in parentheses."""

    elements: tuple[Expression, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class SetLiteral:
    """`<<..>>`: a set."""

    elements: tuple[Expression, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class MapLiteral:
    """`{..}`: a map, as pairs of key and value."""

    members: tuple[tuple[Expression, Expression], ...]
    span: Span


@dataclass(frozen=True, slots=True)
class CallExpression:
    """A function call; the name in lower case."""

    name: str
    arguments: tuple[Expression, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class OperatorExpression:
    """An operator and its operands; AND and OR may have more than two."""

    operator: str
    operands: tuple[Expression, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class TypeTest:
    """`operand IS type`."""

    operand: Expression
    type: str
    span: Span


@dataclass(frozen=True, slots=True)
class FromSource:
    """The table or index that FROM or UPDATE names."""

    expression: Expression
    aliased: bool = False
    joined: bool = False


@dataclass(frozen=True, slots=True)
class OrderTerm:
    """One term of ORDER BY."""

    key: Expression
    descending: bool


@dataclass(frozen=True, slots=True)
class SelectStatement:
    """SELECT; `columns` is None for `*`, `unsupported` is the first clause that the service does not support."""

    columns: tuple[Expression, ...] | None
    aliased: bool
    source: FromSource
    where: Expression | None
    order: tuple[OrderTerm, ...]
    unsupported: tuple[str, Span] | None
    span: Span


@dataclass(frozen=True, slots=True)
class InsertStatement:
    """INSERT; `single` means that it is `VALUE item`."""

    target: Expression
    value: Expression
    single: bool
    returning: str | None
    span: Span


@dataclass(frozen=True, slots=True)
class SetClause:
    """`SET target = value`."""

    target: Expression
    value: Expression


@dataclass(frozen=True, slots=True)
class RemoveClause:
    """`REMOVE target`."""

    target: Expression


@dataclass(frozen=True, slots=True)
class UpdateStatement:
    """UPDATE, with its clauses in either order."""

    source: FromSource
    changes: tuple[SetClause | RemoveClause | InsertStatement, ...]
    where: Expression | None
    returning: str | None
    span: Span


@dataclass(frozen=True, slots=True)
class DeleteStatement:
    """DELETE."""

    source: FromSource
    where: Expression | None
    returning: str | None
    span: Span


Statement: TypeAlias = SelectStatement | InsertStatement | UpdateStatement | DeleteStatement
Expression: TypeAlias = (
    Identifier
    | Wildcard
    | PathExpression
    | StringLiteral
    | NumberLiteral
    | ConstantLiteral
    | IonLiteral
    | StatementParameter
    | ListLiteral
    | SetLiteral
    | MapLiteral
    | CallExpression
    | OperatorExpression
    | TypeTest
    | Statement
)

# The names of the kinds of expressions in the service's error texts.
SERVICE_NAMES: dict[type, str] = {
    Identifier: "Name",
    Wildcard: "Wildcard",
    PathExpression: "Path",
    StringLiteral: "String",
    NumberLiteral: "Number",
    ConstantLiteral: "Constant",
    IonLiteral: "Ion",
    StatementParameter: "Parameter",
    ListLiteral: "Array",
    SetLiteral: "Bag",
    MapLiteral: "Struct",
    CallExpression: "Call",
    OperatorExpression: "Operation",
    TypeTest: "IsType",
    SelectStatement: "Select",
    InsertStatement: "Insert",
    UpdateStatement: "Update",
    DeleteStatement: "Delete",
}


def service_name(node: Expression) -> str:
    """Return the name of this kind of expression in the service's error texts."""
    return SERVICE_NAMES[type(node)]
