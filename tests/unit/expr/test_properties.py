"""Properties of all expressions: parsing inverts rendering, the compiled form agrees with the oracle."""

import json
from contextlib import suppress
from copy import deepcopy

from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from hashrange.core.errors import ValidationException
from hashrange.expr.condition import compile_condition
from hashrange.expr.errors import ExpressionError
from hashrange.expr.nodes import clauses_of
from hashrange.expr.parameters import GET, PUT, QUERY, SCAN, UPDATE
from hashrange.expr.parser import parse_condition, parse_projection, parse_update
from hashrange.expr.projection import Projection
from hashrange.expr.request_expressions import read_expressions
from hashrange.expr.update import compile_update
from hashrange.expr.validation import ExpressionAttributes, check_clause, resolve_update
from tests.unit.expr import oracle, strategies
from tests.unit.expr.render import render, render_path, render_update

thorough = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)

PARAMETERS = {
    "UpdateExpression": UPDATE,
    "ConditionExpression": PUT,
    "FilterExpression": SCAN,
    "KeyConditionExpression": QUERY,
    "ProjectionExpression": GET,
}
WORDS = ["a", "b.c", "#n", ":v", "size", "contains", "if_not_exists", "AND", "OR", "NOT", "IN", "BETWEEN", "SET", "ADD"]
SIGNS = ["(", ")", "[", "]", "0", "12", ",", ".", "=", "<>", "<", "+", "-", "!", "#", ":", " ", "\n", "é", "😀", '"']


@thorough
@given(strategies.conditions)
def test_a_rendered_condition_parses_back(condition):
    assert parse_condition(render(condition)) == condition


@thorough
@given(strategies.sections)
def test_a_rendered_update_parses_back(sections):
    assert parse_update(render_update(sections)) == sections


@thorough
@given(st.lists(strategies.paths, min_size=1, max_size=4).map(tuple))
def test_a_rendered_projection_parses_back(paths):
    assert parse_projection(" , ".join(map(render_path, paths))) == paths


def accepted(condition, values):
    try:
        for clause in clauses_of(condition):
            check_clause(clause, values)
    except ExpressionError:
        return False
    return True


@thorough
@given(strategies.conditions, strategies.requests, st.lists(strategies.items, min_size=1, max_size=5))
def test_a_compiled_condition_means_what_it_says(condition, values, items):
    assume(accepted(condition, values))
    test = compile_condition(condition).bind(values)
    for item in items:
        assert test(item) == oracle.holds(condition, item, values)


@thorough
@given(strategies.clauses, strategies.requests, strategies.items)
def test_what_a_condition_reads_is_all_it_needs(condition, values, item):
    assume(accepted(condition, values))
    test = compile_condition(condition).bind(values)
    assert test({name: value for name, value in item.items() if name in test.attributes}) == test(item)


@thorough
@given(strategies.sections, strategies.update_requests, strategies.update_items)
def test_an_update_reads_the_item_as_it_was(sections, values, item):
    try:
        actions = resolve_update(sections, ExpressionAttributes({}, values))
    except ExpressionError:
        assume(False)
    update, before = compile_update(actions).bind(values), deepcopy((item, values))
    try:
        expected = oracle.update(actions, item, values)
    except oracle.Refused:
        expected = None
    try:
        assert update(item) == expected
    except ValidationException:
        assert expected is None
    assert (item, values) == before


@thorough
@given(strategies.items, st.lists(strategies.paths, min_size=1, max_size=3).map(tuple))
def test_a_projection_keeps_what_its_paths_find_and_nothing_else(item, paths):
    try:
        projection = Projection(paths)
    except ExpressionError:
        assume(False)
    before = deepcopy(item)
    kept = projection(item)
    assert item == before
    found = [oracle.look_up(item, path.elements) for path in paths]
    assert leaves(kept) == sorted(leaf for value in found if value is not None for leaf in leaves({"": value}))


def leaves(members):
    """All leaves of a map, sorted."""
    found, stack = [], list(members.values())
    while stack:
        value = stack.pop()
        below = value.get("L") or list(value.get("M", {}).values())
        stack.extend(below)
        if not below:
            found.append(json.dumps(value))
    return sorted(found)


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(sorted(PARAMETERS)),
    st.one_of(
        st.text(max_size=40),
        st.lists(st.sampled_from(WORDS + SIGNS), max_size=25).map(" ".join),
        st.lists(st.sampled_from(WORDS + SIGNS), max_size=25).map("".join),
        st.builds(lambda part, times: part * times, st.sampled_from(WORDS + SIGNS), st.integers(1, 4200)),
    ),
)
@example("ConditionExpression", "(" * 4096)
@example("ConditionExpression", "NOT(" * 1000)
@example("ConditionExpression", "size(" * 819)
@example("UpdateExpression", "SET a=" + "f(" * 2000)
@example("ProjectionExpression", "a[" * 2000)
def test_no_text_raises_anything_but_what_the_service_would_answer(parameter, text):
    request = {
        parameter: text,
        "ExpressionAttributeNames": {"#n": "x"},
        "ExpressionAttributeValues": {":v": {"N": "1"}},
    }
    with suppress(ValidationException):
        read_expressions(request, PARAMETERS[parameter])
