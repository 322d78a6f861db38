"""Conditions as functions: compiled once per text, bound to a request's values, then asked about items.

The clauses are `clause`'s; here they are joined by AND, OR and NOT.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hashrange.core.values import Item
from hashrange.expr.clause import Maker, Matcher, Values, compile_clause
from hashrange.expr.nodes import And, Condition, Not, Or, conditions_inner_first, paths_of
from hashrange.expr.path import document_attributes, top_level_attributes


@dataclass(slots=True)
class Predicate:
    """A condition bound to its values: calling it with an item ({} for a missing one) says whether it holds."""

    attributes: frozenset[str]
    """The top-level attributes that it reads."""
    document_attributes: tuple[str, ...]
    """Those of them that it goes into as documents, in order of appearance."""
    run: Matcher
    """The test itself, for loops that save the call."""

    __test__ = False  # not a test class, whatever its name says to pytest

    def __call__(self, item: Item) -> bool:
        """Whether the condition holds for an item."""
        return self.run(item)


@dataclass(frozen=True, slots=True)
class CompiledPredicate:
    """A condition that lacks only the values of its placeholders."""

    attributes: frozenset[str]
    document_attributes: tuple[str, ...]
    make: Maker

    def bind(self, values: Values) -> Predicate:
        """Return the test for a request's values."""
        return Predicate(self.attributes, self.document_attributes, self.make(values))


def compile_condition(condition: Condition) -> CompiledPredicate:
    """Return a resolved (or hand-made) condition ready to be bound; one without placeholders is bound to {}."""
    paths = tuple(paths_of(condition))
    makers: list[Maker] = []
    for part in conditions_inner_first(condition):
        match part:
            case And() | Or():
                joined = makers[-len(part.operands) :]
                del makers[-len(part.operands) :]
                makers.append(_join(joined, _join_all if isinstance(part, And) else _join_any))
            case Not():
                makers.append(_join([makers.pop()], _invert))
            case _:
                makers.append(compile_clause(part))
    return CompiledPredicate(top_level_attributes(paths), document_attributes(paths), makers[0])


def bind_condition(condition: Condition) -> Predicate:
    """Return the test of a condition that holds its values itself."""
    return compile_condition(condition).bind({})


def _join(makers: list[Maker], join: Callable[[list[Matcher]], Matcher]) -> Maker:
    def make(values: Values) -> Matcher:
        tests = []
        for maker in makers:  # a comprehension would need a second frame for each level of nesting
            tests.append(maker(values))  # noqa: PERF401
        return join(tests)

    return make


def _join_all(tests: list[Matcher]) -> Matcher:
    if len(tests) == 2:
        first, second = tests
        return lambda item: first(item) and second(item)

    def test_all(item: Item) -> bool:
        for test in tests:  # noqa: SIM110 - a generator would cost more than the tests
            if not test(item):
                return False
        return True

    return test_all


def _join_any(tests: list[Matcher]) -> Matcher:
    def test_any(item: Item) -> bool:
        for test in tests:  # noqa: SIM110 - a generator would cost more than the tests
            if test(item):
                return True
        return False

    return test_any


def _invert(tests: list[Matcher]) -> Matcher:
    test = tests[0]
    return lambda item: not test(item)
