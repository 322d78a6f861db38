"""What a parsed statement is made of: frozen values that know their place in the text and nothing of tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from hashrange.partiql.lexer import Mark


@dataclass(frozen=True, slots=True)
class Name:
    """An attribute name."""

    text: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class Wildcard:
    """`*` as a path step: `a.*` or `a[*]`."""

    bracketed: bool
    mark: Mark


@dataclass(frozen=True, slots=True)
class Path:
    """A document path; a step is a name, a wildcard, or whatever stands between brackets."""

    root: Expression
    steps: tuple[Expression, ...]
    mark: Mark


@dataclass(frozen=True, slots=True)
class String:
    """A text in single quotes."""

    text: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class Number:
    """A number as written, with its sign."""

    text: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class Constant:
    """TRUE, FALSE, NULL or MISSING."""

    word: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class Ion:
    """A literal in backticks, which the service reads but does not take."""

    text: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class Parameter:
    """A `?`; `position` counts from 0."""

    position: int
    mark: Mark


@dataclass(frozen=True, slots=True)
class Array:
    """`[..]`, or several expressions between parentheses."""

    elements: tuple[Expression, ...]
    mark: Mark


@dataclass(frozen=True, slots=True)
class Bag:
    """`<<..>>`: a set."""

    elements: tuple[Expression, ...]
    mark: Mark


@dataclass(frozen=True, slots=True)
class Struct:
    """`{..}`: a map, as pairs of key and value."""

    members: tuple[tuple[Expression, Expression], ...]
    mark: Mark


@dataclass(frozen=True, slots=True)
class Call:
    """A function call; the name in lower case."""

    name: str
    arguments: tuple[Expression, ...]
    mark: Mark


@dataclass(frozen=True, slots=True)
class Operation:
    """Operands around an operator; AND and OR hold as many operands as were written in a row."""

    operator: str
    operands: tuple[Expression, ...]
    mark: Mark


@dataclass(frozen=True, slots=True)
class IsType:
    """`operand IS type`."""

    operand: Expression
    type: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class Source:
    """What FROM (or INTO, or UPDATE) names."""

    expression: Expression
    aliased: bool = False
    joined: bool = False


@dataclass(frozen=True, slots=True)
class Ordering:
    """One term of ORDER BY."""

    key: Expression
    descending: bool


@dataclass(frozen=True, slots=True)
class Select:
    """SELECT; `columns` is None for `*`, `unsupported` the first clause that the service does not have."""

    columns: tuple[Expression, ...] | None
    aliased: bool
    source: Source
    where: Expression | None
    order: tuple[Ordering, ...]
    unsupported: tuple[str, Mark] | None
    mark: Mark


@dataclass(frozen=True, slots=True)
class Insert:
    """INSERT; `single` tells `VALUE item` from anything else."""

    target: Expression
    value: Expression
    single: bool
    returning: str | None
    mark: Mark


@dataclass(frozen=True, slots=True)
class Assignment:
    """`SET target = value`."""

    target: Expression
    value: Expression


@dataclass(frozen=True, slots=True)
class Removal:
    """`REMOVE target`."""

    target: Expression


@dataclass(frozen=True, slots=True)
class Update:
    """UPDATE, in either order of its clauses."""

    source: Source
    changes: tuple[Assignment | Removal | Insert, ...]
    where: Expression | None
    returning: str | None
    mark: Mark


@dataclass(frozen=True, slots=True)
class Delete:
    """DELETE."""

    source: Source
    where: Expression | None
    returning: str | None
    mark: Mark


Statement: TypeAlias = Select | Insert | Update | Delete
Expression: TypeAlias = (
    Name
    | Wildcard
    | Path
    | String
    | Number
    | Constant
    | Ion
    | Parameter
    | Array
    | Bag
    | Struct
    | Call
    | Operation
    | IsType
    | Statement
)
