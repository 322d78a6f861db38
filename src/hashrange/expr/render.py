"""Renders syntax trees as text.

The caller decides how paths and values are written: as `#name` and `:value` in a request, as themselves for a reader.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hashrange.expr.nodes import (
    And,
    Arithmetic,
    Between,
    Comparison,
    Condition,
    DocumentPath,
    FunctionCall,
    Literal,
    Membership,
    Node,
    Not,
    Or,
    Placeholder,
)

PathText = Callable[[DocumentPath], str]
ValueText = Callable[[Placeholder | Literal], str]


def render(node: Node, path: PathText, value: ValueText) -> str:
    """Return a tree as text."""

    def show(inner: Any) -> str:
        return render(inner, path, value)

    match node:
        case DocumentPath():
            return path(node)
        case Placeholder() | Literal():
            return value(node)
        case FunctionCall():
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
