"""Syntax trees back into text.

How a path and a value are written is the caller's: aliases for a request, real names for a reader.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hashrange.expr.nodes import (
    And,
    Arithmetic,
    Between,
    Call,
    Comparison,
    Condition,
    Literal,
    Membership,
    Node,
    Not,
    Or,
    Path,
    Placeholder,
)

PathText = Callable[[Path], str]
ValueText = Callable[[Placeholder | Literal], str]


def render(node: Node, path: PathText, value: ValueText) -> str:
    """Return a tree as text."""

    def show(inner: Any) -> str:
        return render(inner, path, value)

    match node:
        case Path():
            return path(node)
        case Placeholder() | Literal():
            return value(node)
        case Call():
            return f"{node.function}({', '.join(map(show, node.arguments))})"
        case Comparison() | Arithmetic():
            return f"{show(node.left)} {node.operator} {show(node.right)}"
        case Between():
            return f"{show(node.operand)} BETWEEN {show(node.low)} AND {show(node.high)}"
        case Membership():
            return f"{show(node.operand)} IN ({', '.join(map(show, node.options))})"
        case Not():
            return f"NOT ({show(node.operand)})"
        case And() | Or():
            return _join(node, show)


def _join(node: And | Or, show: Callable[[Condition], str]) -> str:
    word = " AND " if isinstance(node, And) else " OR "
    return word.join(f"({show(part)})" if isinstance(part, And | Or) else show(part) for part in node.operands)


def join_all(conditions: list[Condition]) -> Condition | None:
    """Return the conjunction of conditions; None of none."""
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return And(tuple(conditions))


def join_any(conditions: list[Condition]) -> Condition:
    """Return the disjunction of conditions, of which there is at least one."""
    return conditions[0] if len(conditions) == 1 else Or(tuple(conditions))


def without_repeats(conditions: list[Condition]) -> list[Condition]:
    """Return conditions each once, in order; trees that hold values cannot be hashed."""
    return [condition for at, condition in enumerate(conditions) if condition not in conditions[:at]]
