"""The syntax tree of all expressions: frozen values, made by the parser, from legacy parameters or by PartiQL.

The parser's trees contain `#name` references and `:value` placeholders; `validation` replaces the names. Other trees
contain attribute names and `Literal` values instead. The walks use a stack of their own, because a text of 4096 bytes
may be nested deeper than Python's recursion limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from msgspec import Struct

from hashrange.core.values import Value

Element: TypeAlias = str | int
Elements: TypeAlias = tuple[Element, ...]


class DocumentPath(Struct, frozen=True):
    """A document path: an attribute's name, then members of maps (str) and elements of lists (int)."""

    elements: Elements


class Placeholder(Struct, frozen=True):
    """A `:name` whose value the request gives."""

    name: str


class Literal(Struct, frozen=True):
    """A value in the tree itself, in canonical form."""

    value: Value


class FunctionCall(Struct, frozen=True):
    """A function and its arguments; by the function's role an operand or a condition."""

    function: str
    arguments: tuple[Operand, ...]


class Arithmetic(Struct, frozen=True):
    """A sum or difference on the right side of SET."""

    operator: str
    left: Operand
    right: Operand


class Comparison(Struct, frozen=True):
    """Two operands and one of `= <> < <= > >=`."""

    operator: str
    left: Operand
    right: Operand


class Between(Struct, frozen=True):
    """An operand within bounds, both included."""

    operand: Operand
    low: Operand
    high: Operand


class Membership(Struct, frozen=True):
    """`operand IN (options)`."""

    operand: Operand
    options: tuple[Operand, ...]


class Not(Struct, frozen=True):
    """The negation of a condition."""

    operand: Condition


class And(Struct, frozen=True):
    """The conjunction of conditions."""

    operands: tuple[Condition, ...]


class Or(Struct, frozen=True):
    """The disjunction of conditions."""

    operands: tuple[Condition, ...]


class SetAction(Struct, frozen=True):
    """SET path = value."""

    path: DocumentPath
    value: Assigned


class RemoveAction(Struct, frozen=True):
    """REMOVE path."""

    path: DocumentPath


class AddAction(Struct, frozen=True):
    """ADD path value."""

    path: DocumentPath
    value: Placeholder | Literal


class DeleteAction(Struct, frozen=True):
    """DELETE path value."""

    path: DocumentPath
    value: Placeholder | Literal


class Section(Struct, frozen=True):
    """A SET, REMOVE, ADD or DELETE section of an update, and its actions in the order written."""

    keyword: str
    actions: tuple[Action, ...]


Leaf: TypeAlias = DocumentPath | Placeholder | Literal
Operand: TypeAlias = Leaf | FunctionCall
Assigned: TypeAlias = Operand | Arithmetic
Clause: TypeAlias = Comparison | Between | Membership | FunctionCall
Condition: TypeAlias = Clause | Not | And | Or
Action: TypeAlias = SetAction | RemoveAction | AddAction | DeleteAction
Node: TypeAlias = Condition | Assigned


def negate(condition: Condition) -> Condition:
    """Return the negation of a condition; three NOTs become one."""
    if isinstance(condition, Not) and isinstance(condition.operand, Not):
        return condition.operand
    return Not(condition)


def children_of(node: Node) -> tuple[Node, ...]:
    """Return the children of a node, in the order written."""
    match node:
        case FunctionCall():
            return node.arguments
        case And() | Or():
            return node.operands
        case Comparison() | Arithmetic():
            return (node.left, node.right)
        case Not():
            return (node.operand,)
        case Between():
            return (node.operand, node.low, node.high)
        case Membership():
            return (node.operand, *node.options)
        case _:
            return ()


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and everything below it, each before its children, in the order written."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(children_of(current)))


def walk_postorder(node: Node) -> Iterator[Node]:
    """Yield a node and everything below it, each after its children."""
    stack, order = [node], []
    while stack:
        current = stack.pop()
        order.append(current)
        stack.extend(children_of(current))
    return reversed(order)


def replace_leaves(node: Node, replace: Callable[[Leaf], Operand]) -> Any:
    """Return a tree of the same form with each path, placeholder and literal replaced."""
    done: list[Any] = []
    for current in walk_postorder(node):
        count = len(children_of(current))
        parts = done[len(done) - count :]
        del done[len(done) - count :]
        done.append(
            replace(current) if isinstance(current, DocumentPath | Placeholder | Literal) else _rebuild(current, parts)
        )
    return done[0]


def replace_paths(node: Node, replace: Callable[[DocumentPath], DocumentPath]) -> Any:
    """Return a tree of the same form with each of its paths replaced."""
    return replace_leaves(node, lambda leaf: replace(leaf) if isinstance(leaf, DocumentPath) else leaf)


def _rebuild(node: Node, parts: list[Any]) -> Node:
    match node:
        case FunctionCall():
            return FunctionCall(node.function, tuple(parts))
        case And() | Or():
            return type(node)(tuple(parts))
        case Comparison() | Arithmetic():
            return type(node)(node.operator, *parts)
        case Not():
            return Not(*parts)
        case Between():
            return Between(*parts)
        case Membership():
            return Membership(parts[0], tuple(parts[1:]))
        case _:
            return node


def conditions_postorder(condition: Condition) -> Iterator[Condition]:
    """Yield all conditions that AND, OR and NOT combine, each after its parts, left to right; the whole one last."""
    stack, order = [condition], []
    while stack:
        current = stack.pop()
        order.append(current)
        match current:
            case And() | Or():
                stack.extend(current.operands)
            case Not():
                stack.append(current.operand)
    return reversed(order)


def clauses_of(condition: Condition) -> Iterator[Clause]:
    """Yield the comparisons and function calls of a condition, left to right."""
    for found in conditions_postorder(condition):
        if not isinstance(found, And | Or | Not):
            yield found


def replace_clauses(condition: Condition, replace: Callable[[Clause], Condition]) -> Condition:
    """Return a condition with each of its comparisons and function calls replaced."""
    done: list[Any] = []
    for found in conditions_postorder(condition):
        if isinstance(found, And | Or | Not):
            count = len(children_of(found))
            parts = done[len(done) - count :]
            del done[len(done) - count :]
            done.append(_rebuild(found, parts))
        else:
            done.append(replace(found))
    replaced: Condition = done[0]
    return replaced


def paths_of(node: Node) -> Iterator[DocumentPath]:
    """Yield the document paths in a tree, in the order written."""
    return (found for found in walk(node) if isinstance(found, DocumentPath))


def calls_of(node: Node) -> Iterator[FunctionCall]:
    """Yield the function calls in a tree, outer ones first."""
    return (found for found in walk(node) if isinstance(found, FunctionCall))


def path_of(name: str) -> DocumentPath:
    """Return the path of a top-level attribute; a dot in its name has no meaning."""
    return DocumentPath((name,))


def format_path(path: DocumentPath) -> str:
    """Return a path as in error texts: `[a, b, [1]]`."""
    return f"[{', '.join(f'[{element}]' if isinstance(element, int) else element for element in path.elements)}]"


def join_all(conditions: list[Condition]) -> Condition | None:
    """Return the conjunction of conditions; None if there are none."""
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return And(tuple(conditions))


def join_any(conditions: list[Condition]) -> Condition:
    """Return the disjunction of at least one condition."""
    return conditions[0] if len(conditions) == 1 else Or(tuple(conditions))


def without_repeats(conditions: list[Condition]) -> list[Condition]:
    """Return conditions without duplicates, in order; nodes that contain values cannot be hashed."""
    return [condition for at, condition in enumerate(conditions) if condition not in conditions[:at]]
