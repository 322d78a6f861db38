"""The syntax tree of PartiQL statements: frozen values with their position in the text.

Structs, because a statement may have thousands of nodes, and a frozen dataclass takes six times as long to make.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from hashrange.partiql.lexer import Span


class Identifier(Struct, frozen=True, gc=False):
    """An attribute name."""

    text: str
    span: Span


class Wildcard(Struct, frozen=True, gc=False):
    """`*` as a path step: `a.*` or `a[*]`."""

    bracketed: bool
    span: Span


class PathExpression(Struct, frozen=True, gc=False):
    """A document path; a step is a name, a wildcard, or an expression in brackets."""

    root: Expression
    steps: tuple[Expression, ...]
    span: Span


class StringLiteral(Struct, frozen=True, gc=False):
    """A string in single quotes."""

    text: str
    span: Span


class NumberLiteral(Struct, frozen=True, gc=False):
    """A number as written, with its sign."""

    text: str
    span: Span


class ConstantLiteral(Struct, frozen=True, gc=False):
    """TRUE, FALSE, NULL or MISSING."""

    word: str
    span: Span


class IonLiteral(Struct, frozen=True, gc=False):
    """An Ion literal in backticks; the service parses and refuses it."""

    text: str
    span: Span


class StatementParameter(Struct, frozen=True, gc=False):
    """A `?`; `position` counts from 0."""

    position: int
    span: Span


class ListLiteral(Struct, frozen=True, gc=False):
    """`[..]`, or several expressions in parentheses."""

    elements: tuple[Expression, ...]
    span: Span


class SetLiteral(Struct, frozen=True, gc=False):
    """`<<..>>`: a set."""

    elements: tuple[Expression, ...]
    span: Span


class MapLiteral(Struct, frozen=True, gc=False):
    """`{..}`: a map, as pairs of key and value."""

    members: tuple[tuple[Expression, Expression], ...]
    span: Span


class CallExpression(Struct, frozen=True, gc=False):
    """A function call; the name in lower case."""

    name: str
    arguments: tuple[Expression, ...]
    span: Span


class OperatorExpression(Struct, frozen=True, gc=False):
    """An operator and its operands; AND and OR may have more than two."""

    operator: str
    operands: tuple[Expression, ...]
    span: Span


class TypeTest(Struct, frozen=True, gc=False):
    """`operand IS type`."""

    operand: Expression
    type: str
    span: Span


class FromSource(Struct, frozen=True, gc=False):
    """The table or index that FROM or UPDATE names."""

    expression: Expression
    aliased: bool = False
    joined: bool = False


class OrderTerm(Struct, frozen=True, gc=False):
    """One term of ORDER BY."""

    key: Expression
    descending: bool


class SelectStatement(Struct, frozen=True, gc=False):
    """SELECT; `columns` is None for `*`, `unsupported` is the first clause that the service does not support."""

    columns: tuple[Expression, ...] | None
    aliased: bool
    source: FromSource
    where: Expression | None
    order: tuple[OrderTerm, ...]
    unsupported: tuple[str, Span] | None
    span: Span


class InsertStatement(Struct, frozen=True, gc=False):
    """INSERT; `single` means that it is `VALUE item`."""

    target: Expression
    value: Expression
    single: bool
    returning: str | None
    span: Span


class SetClause(Struct, frozen=True, gc=False):
    """`SET target = value`."""

    target: Expression
    value: Expression


class RemoveClause(Struct, frozen=True, gc=False):
    """`REMOVE target`."""

    target: Expression


class UpdateStatement(Struct, frozen=True, gc=False):
    """UPDATE, with its clauses in either order."""

    source: FromSource
    changes: tuple[SetClause | RemoveClause | InsertStatement, ...]
    where: Expression | None
    returning: str | None
    span: Span


class DeleteStatement(Struct, frozen=True, gc=False):
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
