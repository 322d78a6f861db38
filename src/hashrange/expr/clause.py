"""Clauses of conditions as functions: comparisons, BETWEEN, IN and the functions that test.

A compiled clause is a maker: given the values it makes the test, so that whatever depends on the values alone (a number
to compare with) is worked out once and not per item. Missing operands make every clause false but `<>`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from hashrange.core.values import Item, Value
from hashrange.expr.match import begins_with, contains, measure
from hashrange.expr.nodes import (
    Between,
    Clause,
    Comparison,
    DocumentPath,
    FunctionCall,
    Literal,
    Membership,
    Node,
    Operand,
    Placeholder,
)
from hashrange.expr.order import COMPARISON_KEYS, MIRRORED, ORDERINGS, are_ordered, tag_of
from hashrange.expr.path import Getter, make_getter

Values: TypeAlias = Mapping[str, Value]
Matcher: TypeAlias = Callable[[Item], bool]
Maker: TypeAlias = Callable[[Values], Matcher]
GetterMaker: TypeAlias = Callable[[Values], Getter]
SCALARS = frozenset({"S", "N", "B", "BOOL", "NULL"})


def compile_clause(clause: Clause) -> Maker:
    """Return the maker of a clause's test."""
    match clause:
        case Comparison():
            return _compile_comparison(clause)
        case Between():
            return _compile_between(clause)
        case Membership():
            return _compile_membership(clause)
        case FunctionCall():
            return FUNCTIONS[clause.function](*clause.arguments)


def fetch_constant(operand: Node) -> Callable[[Values], Value] | None:
    """Return how to get an operand that is a value; None for one that depends on the item."""
    if isinstance(operand, Placeholder):
        name = operand.name
        return lambda values: values[name]
    if isinstance(operand, Literal):
        value = operand.value
        return lambda _: value
    return None


def _compile_operand(operand: Operand) -> GetterMaker:
    if isinstance(operand, DocumentPath):
        getter = make_getter(operand.elements)
        return lambda _: getter
    if isinstance(operand, FunctionCall):
        return _compile_size(operand.arguments[0])
    fetch = fetch_constant(operand)
    assert fetch is not None

    def make(values: Values) -> Getter:
        value = fetch(values)
        return lambda _: value

    return make


def _compile_comparison(condition: Comparison) -> Maker:
    operator, left, right = condition.operator, condition.left, condition.right
    if fetch_constant(right) is None and fetch_constant(left) is not None:
        operator, left, right = MIRRORED[operator], right, left
    if operator in ORDERINGS:
        return _compile_ordering(operator, left, right)
    return _compile_equality(left, right) if operator == "=" else _compile_inequality(left, right)


def _compile_equality(left: Operand, right: Operand) -> Maker:
    fetch, get_left, get_right = fetch_constant(right), _compile_operand(left), _compile_operand(right)

    def make_constant(values: Values) -> Matcher:
        assert fetch is not None
        get, expected = get_left(values), fetch(values)
        return lambda item: get(item) == expected

    def make(values: Values) -> Matcher:
        get, other = get_left(values), get_right(values)

        def test(item: Item) -> bool:
            found = get(item)
            return found is not None and found == other(item)

        return test

    return make if fetch is None else make_constant


def _compile_inequality(left: Operand, right: Operand) -> Maker:
    get_left, get_right = _compile_operand(left), _compile_operand(right)

    def make(values: Values) -> Matcher:
        get, other = get_left(values), get_right(values)

        def test(item: Item) -> bool:
            found = get(item)
            return found is None or found != other(item)

        return test

    return make


def _compile_ordering(operator: str, left: Operand, right: Operand) -> Maker:
    compare = ORDERINGS[operator]
    fetch, get_left, get_right = fetch_constant(right), _compile_operand(left), _compile_operand(right)

    def make_constant(values: Values) -> Matcher:
        assert fetch is not None
        get, bound = get_left(values), fetch(values)
        tag = tag_of(bound)
        to_rank = COMPARISON_KEYS[tag]
        limit = to_rank(bound[tag])

        def test(item: Item) -> bool:
            found = get(item)
            return found is not None and tag in found and compare(to_rank(found[tag]), limit)

        return test

    def make(values: Values) -> Matcher:
        get, other = get_left(values), get_right(values)
        return lambda item: are_ordered(compare, get(item), other(item))

    return make if fetch is None else make_constant


def _compile_between(condition: Between) -> Maker:
    at_least = _compile_ordering(">=", condition.operand, condition.low)
    at_most = _compile_ordering("<=", condition.operand, condition.high)

    def make(values: Values) -> Matcher:
        above, below = at_least(values), at_most(values)
        return lambda item: above(item) and below(item)

    return make


def _compile_membership(condition: Membership) -> Maker:
    get_operand = _compile_operand(condition.operand)
    fetches = [fetch_constant(option) for option in condition.options]
    getters = [_compile_operand(option) for option in condition.options]

    def make_constant(values: Values) -> Matcher:
        get = get_operand(values)
        options = [fetch(values) for fetch in fetches if fetch is not None]
        if not SCALARS.issuperset(map(tag_of, options)):
            return lambda item: get(item) in options
        known = {entry for option in options for entry in option.items()}

        def test(item: Item) -> bool:
            found = get(item)
            return found is not None and tag_of(found) in SCALARS and not known.isdisjoint(found.items())

        return test

    def make(values: Values) -> Matcher:
        get, options = get_operand(values), [getter(values) for getter in getters]

        def test(item: Item) -> bool:
            found = get(item)
            return found is not None and any(found == option(item) for option in options)

        return test

    return make if None in fetches else make_constant


def _compile_exists(operand: Operand) -> Maker:
    if isinstance(operand, DocumentPath) and len(operand.elements) == 1:
        name = operand.elements[0]
        return lambda _: lambda item: name in item
    get_operand = _compile_operand(operand)

    def make(values: Values) -> Matcher:
        get = get_operand(values)
        return lambda item: get(item) is not None

    return make


def _compile_not_exists(operand: Operand) -> Maker:
    if isinstance(operand, DocumentPath) and len(operand.elements) == 1:
        name = operand.elements[0]
        return lambda _: lambda item: name not in item
    get_operand = _compile_operand(operand)

    def make(values: Values) -> Matcher:
        get = get_operand(values)
        return lambda item: get(item) is None

    return make


def _compile_type(operand: Operand, wanted: Operand) -> Maker:
    get_operand, fetch = _compile_operand(operand), fetch_constant(wanted)
    assert fetch is not None

    def make(values: Values) -> Matcher:
        get, tag = get_operand(values), fetch(values)["S"]

        def test(item: Item) -> bool:
            found = get(item)
            return found is not None and tag in found

        return test

    return make


def _compile_pair(holds: Callable[[Value, Value], bool]) -> Callable[[Operand, Operand], Maker]:
    """Return the compiler of a function of two values, false when either is missing."""

    def compile_call(left: Operand, right: Operand) -> Maker:
        get_left, get_right = _compile_operand(left), _compile_operand(right)

        def make(values: Values) -> Matcher:
            get, other = get_left(values), get_right(values)

            def test(item: Item) -> bool:
                found, wanted = get(item), other(item)
                return found is not None and wanted is not None and holds(found, wanted)

            return test

        return make

    return compile_call


def _compile_size(operand: Operand) -> GetterMaker:
    get_operand = _compile_operand(operand)

    def make(values: Values) -> Getter:
        get = get_operand(values)

        def get_size(item: Item) -> Value | None:
            found = get(item)
            size = None if found is None else measure(found)
            return None if size is None else {"N": str(size)}

        return get_size

    return make


FUNCTIONS: dict[str, Callable[..., Maker]] = {
    "attribute_exists": _compile_exists,
    "attribute_not_exists": _compile_not_exists,
    "attribute_type": _compile_type,
    "begins_with": _compile_pair(begins_with),
    "contains": _compile_pair(contains),
}
