"""Conditions as predicates on items: compiled once per expression text, then bound to a request's values.

Comparisons, BETWEEN, IN, AND, OR and NOT are compiled here, functions in `functions`. A compiled part is a factory:
given the values it makes the predicate, so that whatever depends on the values alone (a number to compare with) is
computed once per request and not per item. A missing operand makes every comparison false, except `<>`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from hashrange.core.values import Item
from hashrange.expr.functions import (
    Matcher,
    MatcherFactory,
    Role,
    Values,
    compile_call,
    compile_operand,
    constant_getter,
    find_function,
)
from hashrange.expr.large_values import LARGE_VALUES, is_document
from hashrange.expr.nodes import (
    And,
    Between,
    Clause,
    Comparison,
    Condition,
    DocumentPath,
    FunctionCall,
    Membership,
    Node,
    Not,
    Operand,
    Or,
    conditions_postorder,
    paths_of,
    walk,
)
from hashrange.expr.operators import COMPARISON_KEYS, MIRRORED, ORDERINGS, are_ordered, tag_of
from hashrange.expr.path import document_attributes, top_level_attributes

SCALARS = frozenset({"S", "N", "B", "BOOL", "NULL"})
are_equal = LARGE_VALUES.are_equal


@dataclass(slots=True)
class Predicate:
    """A condition bound to its values: called with an item ({} for a missing one), it returns whether it holds."""

    attributes: frozenset[str]
    """The top-level attributes that it reads."""
    document_attributes: tuple[str, ...]
    """Those of them that it reads as documents (a map's member, a list's element), in order of appearance."""
    run: Matcher
    """The function itself, for loops that avoid a second call."""
    weight: int = 1
    """How many comparisons and function calls it evaluates for an item, at most."""
    searches: int = 0
    """How many of them look at each element of an attribute."""

    def __call__(self, item: Item) -> bool:
        """Return whether the condition holds for an item."""
        return self.run(item)


@dataclass(frozen=True, slots=True)
class CompiledPredicate:
    """A condition without the values of its placeholders."""

    attributes: frozenset[str]
    document_attributes: tuple[str, ...]
    make: MatcherFactory
    weight: int
    searches: int

    def bind(self, values: Values) -> Predicate:
        """Return the predicate for a request's values."""
        return Predicate(self.attributes, self.document_attributes, self.make(values), self.weight, self.searches)


def compile_condition(condition: Condition) -> CompiledPredicate:
    """Return a resolved (or hand-made) condition ready to be bound; one without placeholders is bound to {}."""
    paths = tuple(paths_of(condition))
    factories: list[MatcherFactory] = []
    for part in conditions_postorder(condition):
        match part:
            case And() | Or():
                joined = factories[-len(part.operands) :]
                del factories[-len(part.operands) :]
                factories.append(_join(joined, _join_all if isinstance(part, And) else _join_any))
            case Not():
                factories.append(_join([factories.pop()], _invert))
            case _:
                factories.append(_compile_clause(part))
    nodes = list(walk(condition))
    weight, searches = sum(map(_count_evaluations, nodes)), sum(map(_is_search, nodes))
    return CompiledPredicate(top_level_attributes(paths), document_attributes(paths), factories[0], weight, searches)


def _count_evaluations(node: Node) -> int:
    """Return how many comparisons, calls or steps of a path the evaluation of a node takes, without its parts."""
    match node:
        case DocumentPath():
            return len(node.elements) // 4
        case Membership():
            return 1 if all(map(constant_getter, node.options)) else len(node.options)
        case Comparison() | Between() | FunctionCall() | Not():
            return 1
    return 0


def _is_search(node: Node) -> bool:
    """Return whether the time to evaluate a node grows with an attribute of the item."""
    match node:
        case Comparison():
            return constant_getter(node.left) is constant_getter(node.right) is None
        case FunctionCall():
            return find_function(node.function).is_search
    return False


def bind_condition(condition: Condition) -> Predicate:
    """Return the predicate of a condition that has literals instead of placeholders."""
    return compile_condition(condition).bind({})


def _join(factories: list[MatcherFactory], join: Callable[[list[Matcher]], Matcher]) -> MatcherFactory:
    def make(values: Values) -> Matcher:
        tests = []
        for factory in factories:  # a comprehension would need a second frame for each level of nesting
            tests.append(factory(values))  # noqa: PERF401
        return join(tests)

    return make


def _join_all(tests: list[Matcher]) -> Matcher:
    if len(tests) == 2:
        first, second = tests
        return lambda item: first(item) and second(item)

    def holds_all(item: Item) -> bool:
        for test in tests:  # noqa: SIM110 - a generator would cost more than the tests
            if not test(item):
                return False
        return True

    return holds_all


def _join_any(tests: list[Matcher]) -> Matcher:
    def holds_any(item: Item) -> bool:
        for test in tests:  # noqa: SIM110 - a generator would cost more than the tests
            if test(item):
                return True
        return False

    return holds_any


def _invert(tests: list[Matcher]) -> Matcher:
    test = tests[0]
    return lambda item: not test(item)


# -- clauses ----------------------------------------------------------------------------------------------------------


def _compile_clause(clause: Clause) -> MatcherFactory:
    match clause:
        case Comparison():
            return _compile_comparison(clause)
        case Between():
            return _compile_between(clause)
        case Membership():
            return _compile_membership(clause)
        case FunctionCall():
            return cast("MatcherFactory", compile_call(clause, Role.CONDITION))


def _compile_comparison(condition: Comparison) -> MatcherFactory:
    operator, left, right = condition.operator, condition.left, condition.right
    if constant_getter(right) is None and constant_getter(left) is not None:
        operator, left, right = MIRRORED[operator], right, left
    if operator in ORDERINGS:
        return _compile_ordering(operator, left, right)
    return _compile_equality(left, right) if operator == "=" else _compile_inequality(left, right)


def _compile_equality(left: Operand, right: Operand) -> MatcherFactory:
    fetch, get_left, get_right = constant_getter(right), compile_operand(left), compile_operand(right)

    def make_constant(values: Values) -> Matcher:
        assert fetch is not None
        get, expected = get_left(values), fetch(values)
        if is_document(expected):
            return lambda item: (found := get(item)) is not None and are_equal(item, found, expected)
        return lambda item: get(item) == expected

    def make(values: Values) -> Matcher:
        get, other = get_left(values), get_right(values)

        def test(item: Item) -> bool:
            found = get(item)
            return found is not None and are_equal(item, found, other(item))

        return test

    return make if fetch is None else make_constant


def _compile_inequality(left: Operand, right: Operand) -> MatcherFactory:
    get_left, get_right = compile_operand(left), compile_operand(right)

    def make(values: Values) -> Matcher:
        get, other = get_left(values), get_right(values)

        def test(item: Item) -> bool:
            found = get(item)
            return found is None or not are_equal(item, found, other(item))

        return test

    return make


def _compile_ordering(operator: str, left: Operand, right: Operand) -> MatcherFactory:
    compare = ORDERINGS[operator]
    fetch, get_left, get_right = constant_getter(right), compile_operand(left), compile_operand(right)

    def make_constant(values: Values) -> Matcher:
        assert fetch is not None
        get, bound = get_left(values), fetch(values)
        tag = tag_of(bound)
        key_of = COMPARISON_KEYS[tag]
        limit = key_of(bound[tag])

        def test(item: Item) -> bool:
            found = get(item)
            return found is not None and tag in found and compare(key_of(found[tag]), limit)

        return test

    def make(values: Values) -> Matcher:
        get, other = get_left(values), get_right(values)
        return lambda item: are_ordered(compare, get(item), other(item))

    return make if fetch is None else make_constant


def _compile_between(condition: Between) -> MatcherFactory:
    at_least = _compile_ordering(">=", condition.operand, condition.low)
    at_most = _compile_ordering("<=", condition.operand, condition.high)

    def make(values: Values) -> Matcher:
        above, below = at_least(values), at_most(values)
        return lambda item: above(item) and below(item)

    return make


def _compile_membership(condition: Membership) -> MatcherFactory:
    get_operand = compile_operand(condition.operand)
    fetches = [constant_getter(option) for option in condition.options]
    getters = [compile_operand(option) for option in condition.options]

    def make_constant(values: Values) -> Matcher:
        get = get_operand(values)
        options = [fetch(values) for fetch in fetches if fetch is not None]
        if not SCALARS.issuperset(map(tag_of, options)):
            return lambda item: (
                (found := get(item)) is not None and any(are_equal(item, found, each) for each in options)
            )
        known = {entry for option in options for entry in option.items()}

        def test(item: Item) -> bool:
            found = get(item)
            return found is not None and tag_of(found) in SCALARS and not known.isdisjoint(found.items())

        return test

    def make(values: Values) -> Matcher:
        get, options = get_operand(values), [getter(values) for getter in getters]

        def test(item: Item) -> bool:
            found = get(item)
            return found is not None and any(are_equal(item, found, option(item)) for option in options)

        return test

    return make if None in fetches else make_constant
