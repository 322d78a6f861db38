"""The right sides of SET as functions: values, paths, sums, if_not_exists and list_append; and what they cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, cast

from hashrange.core.errors import ValidationException
from hashrange.core.values import Item, Value, utf8_length
from hashrange.expr.clause import Values, fetch_constant
from hashrange.expr.nodes import (
    Arithmetic,
    Assigned,
    DocumentPath,
    Element,
    FunctionCall,
    Literal,
    Node,
    Placeholder,
    walk,
)
from hashrange.expr.path import make_getter
from hashrange.expr.sums import UpdateArithmetic

Assignment: TypeAlias = Callable[[Item], Value]
AssignmentMaker: TypeAlias = Callable[[Values], Assignment]

MISSING = "The provided expression refers to an attribute that does not exist in the item"
WRONG_TYPE = "An operand in the update expression has an incorrect data type"
EXPRESSION_ARITHMETIC = UpdateArithmetic(WRONG_TYPE, lists=False)
CALL_COSTS = {"+": 34, "-": 37, "if_not_exists": 39, "list_append": 37}


def compile_assigned(value: Assigned) -> AssignmentMaker:
    """Return the maker of a right side: given the values and then an item, it gives what is to be assigned."""
    match value:
        case DocumentPath():
            return _compile_read(value)
        case Arithmetic():
            combine = EXPRESSION_ARITHMETIC.plus if value.operator == "+" else EXPRESSION_ARITHMETIC.minus
            return _compile_pair(value.left, value.right, combine)
        case FunctionCall(function="list_append"):
            first, second = value.arguments
            return _compile_pair(first, second, EXPRESSION_ARITHMETIC.append)
        case FunctionCall():
            return _compile_default(value)
        case Placeholder() | Literal():
            return _compile_constant(value)


def _compile_constant(operand: Placeholder | Literal) -> AssignmentMaker:
    fetch = fetch_constant(operand)
    assert fetch is not None

    def make(values: Values) -> Assignment:
        value = fetch(values)
        return lambda _: value

    return make


def _compile_read(path: DocumentPath) -> AssignmentMaker:
    get = make_getter(path.elements)

    def read(item: Item) -> Value:
        value = get(item)
        if value is None:
            raise ValidationException(MISSING)
        return value

    return lambda _: read


def _compile_default(call: FunctionCall) -> AssignmentMaker:
    """Compile if_not_exists and those nested in it, which may be hundreds, as one search."""
    getters = []
    node: Node = call
    while isinstance(node, FunctionCall) and node.function == "if_not_exists":
        getters.append(make_getter(cast("DocumentPath", node.arguments[0]).elements))
        node = node.arguments[1]
    make_fallback = compile_assigned(cast("Assigned", node))

    def make(values: Values) -> Assignment:
        fallback = make_fallback(values)

        def find(item: Item) -> Value:
            for get in getters:
                value = get(item)
                if value is not None:
                    return value
            return fallback(item)

        return find

    return make


def _compile_pair(left: Assigned, right: Assigned, combine: Callable[[Value, Value], Value]) -> AssignmentMaker:
    make_left, make_right = compile_assigned(left), compile_assigned(right)

    def make(values: Values) -> Assignment:
        get, other = make_left(values), make_right(values)
        return lambda item: combine(get(item), other(item))

    return make


def cost_of_element(element: Element) -> int:
    """Return the bytes that an element of a path is charged with: those of its name, or its digits."""
    return utf8_length(str(element))


def cost_of_assigned(value: Assigned) -> int:
    """Return the bytes that a right side is charged with, apart from the values it is given."""
    return sum(map(_cost_of, walk(value)))


def _cost_of(node: Node) -> int:
    match node:
        case DocumentPath():
            return 1 + sum(14 + cost_of_element(element) for element in node.elements)
        case FunctionCall():
            return CALL_COSTS[node.function]
        case Arithmetic():
            return CALL_COSTS[node.operator]
        case _:
            return 0
