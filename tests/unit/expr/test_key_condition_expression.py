"""Key conditions: the allowed forms, and the checks against the key of a table or index."""

import pytest

from hashrange.core.errors import ValidationException
from hashrange.expr.key_condition_expression import KeyClause, KeyCondition, check_key_condition
from tests.unit.expr.request_reader import key_condition_of, key_condition_problem

P, A, B = {"S": "p"}, {"S": "a"}, {"S": "b"}
VALUES = {":p": P, ":a": A, ":b": B, ":n": {"N": "1"}, ":t": {"BOOL": True}}
PK, SK, NK = ("pk", "S"), ("sk", "S"), ("sk", "N")
UNPREFIXED = "Invalid condition in KeyConditionExpression: "


def given(text, **more):
    return {name: value for name, value in {**VALUES, **more}.items() if name in text} or None


def clauses(text):
    return key_condition_of(text, values=given(text)).clauses


def problem(text):
    return key_condition_problem(text, values=given(text))


def schema_problem(condition, hashes, ranges):
    with pytest.raises(ValidationException) as caught:
        check_key_condition(condition, hashes, ranges)
    assert type(caught.value) is ValidationException
    return caught.value.message


def schema_problem_of(text, hashes=(PK,), ranges=(SK,), **more):
    return schema_problem(key_condition_of(text, values=given(text, **more)), hashes, ranges)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pk = :p", [("pk", "=", (P,))]),
        (":p = pk", [("pk", "=", (P,))]),
        ("sk < :a AND pk = :p", [("sk", "<", (A,)), ("pk", "=", (P,))]),
        ("pk = :p AND :a <= sk", [("pk", "=", (P,)), ("sk", ">=", (A,))]),
        ("pk = :p AND :a > sk", [("pk", "=", (P,)), ("sk", "<", (A,))]),
        ("(pk = :p) AND (sk BETWEEN :a AND :b)", [("pk", "=", (P,)), ("sk", "BETWEEN", (A, B))]),
        ("(pk = :p AND (begins_with(sk, :a)))", [("pk", "=", (P,)), ("sk", "begins_with", (A,))]),
        ("a = :a AND (b = :b AND c = :p)", [("a", "=", (A,)), ("b", "=", (B,)), ("c", "=", (P,))]),
    ],
)
def test_a_key_condition_is_its_clauses_with_the_attribute_on_the_left(text, expected):
    assert clauses(text) == tuple(KeyClause(*clause) for clause in expected)


@pytest.mark.parametrize(
    ("text", "operator"),
    [
        ("a > b AND size(b) > c OR a > c", "OR"),
        ("pk = :p AND NOT sk = :a", "NOT"),
        ("a IN (b, size(c), d)", "IN"),
        ("a <> :a", "<>"),
        ("attribute_exists(a)", "attribute_exists"),
        ("attribute_not_exists(a)", "attribute_not_exists"),
        ("contains(a.d, b)", "contains"),
        ("pk = :p AND attribute_type(a, :s)", "attribute_type"),
    ],
)
def test_other_operators_are_refused(text, operator):
    expected = f"Invalid operator used in KeyConditionExpression: {operator}"
    assert key_condition_problem(text, values=given(text, **{":s": {"S": "S"}})) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            ":a BETWEEN size(b) AND size(a)",
            f"{UNPREFIXED}BETWEEN operator must have the key attribute as its first operand",
        ),
        ("begins_with(:a, b)", f"{UNPREFIXED}begins_with operator must have the key attribute as its first operand"),
        ("size(b) > a AND a.b > b", "KeyConditionExpressions cannot contain nested operations"),
        ("a > size(b.d)", "KeyConditionExpressions cannot contain nested operations"),
        ("a BETWEEN size(b) AND size(a)", "KeyConditionExpressions cannot contain nested operations"),
        ("b > a.b", f"{UNPREFIXED}Multiple attribute names used in one condition"),
        ("b BETWEEN c[1] AND d", f"{UNPREFIXED}Multiple attribute names used in one condition"),
        ("begins_with(a, b)", f"{UNPREFIXED}Multiple attribute names used in one condition"),
        ("a.d > c", "KeyConditionExpressions cannot have conditions on nested attributes"),
        ("pk = :p AND sk[0] = :a", "KeyConditionExpressions cannot have conditions on nested attributes"),
        (":a > :b AND a < :b", f"{UNPREFIXED}No key attribute specified"),
        ("pk = :p AND sk > :a AND sk < :b", "KeyConditionExpressions must only contain one condition per key"),
        ("pk = :p AND pk = :p", "KeyConditionExpressions must only contain one condition per key"),
    ],
)
def test_other_forms_are_refused(text, expected):
    assert problem(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pk = :missing AND begins_with(sk, :n)", "is not defined; attribute value: :missing"),
        ("begins_with(sk, :n) AND pk = :missing", "operator or function: begins_with, operand type: N"),
        ("pk = :p AND begins_with(sk, :n) AND sk = :missing", "operator or function: begins_with, operand type: N"),
        ("pk = :p AND begins_with(sk, :n) AND sk > :a", "operator or function: begins_with, operand type: N"),
        ("pk = :p AND sk < :t", "operator or function: <, operand type: BOOL"),
        ("pk = :p AND :t >= sk", "operator or function: >=, operand type: BOOL"),
        ("pk = :p AND sk BETWEEN :t AND :t", "operator or function: BETWEEN, operand type: BOOL"),
        ("pk = :p AND ((sk = :a))", "The expression has redundant parentheses;"),
        ("", "The expression can not be empty;"),
        ("a" * 4097, "Expression size has exceeded the maximum allowed size;"),
    ],
)
def test_errors_of_any_condition_come_before_those_of_key_conditions(text, expected):
    assert problem(text).endswith(expected)


def test_bounds_in_the_wrong_order_are_refused():
    assert problem("pk = :p AND sk BETWEEN :b AND :a").startswith("The BETWEEN operator requires upper bound to be")


def test_the_key_gives_the_values_and_clauses_their_order():
    condition = key_condition_of("sk > :a AND pk = :p", values={":a": A, ":p": P})
    assert check_key_condition(condition, [PK], [SK]) == ([P], [KeyClause("sk", ">", (A,))])
    assert check_key_condition(key_condition_of("pk = :p", values={":p": P}), [PK], [SK]) == ([P], [])
    assert check_key_condition(key_condition_of("pk = :p", values={":p": P}), [PK], []) == ([P], [])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sk = :a", "Query condition missed key schema element: pk"),
        ("extra = :a", "Query condition missed key schema element: pk"),
        ("pk = :p AND extra = :a", "Query condition missed key schema element: sk"),
        ("pk < :p", "Query key condition not supported"),
        ("begins_with(pk, :p)", "Query key condition not supported"),
        ("pk = :n", "One or more parameter values were invalid: Condition parameter type does not match schema type"),
        ("pk < :n", "One or more parameter values were invalid: Condition parameter type does not match schema type"),
        (
            "pk = :p AND sk = :t",
            "One or more parameter values were invalid: Condition parameter type does not match schema type",
        ),
        (
            "pk = :p AND sk > :a AND extra = :b",
            "The number of query conditions (3) exceeds the number of key attributes defined in the schema (2)",
        ),
    ],
)
def test_a_condition_that_does_not_fit_the_key_is_refused(text, expected):
    assert schema_problem_of(text) == expected


def test_begins_with_does_not_fit_a_number():
    expected = "One or more parameter values were invalid: Condition parameter type does not match schema type"
    assert schema_problem_of("pk = :p AND begins_with(sk, :a)", ranges=(NK,)) == expected


def test_a_second_condition_does_not_fit_a_key_of_one():
    expected = "The number of query conditions (2) exceeds the number of key attributes defined in the schema (1)"
    assert schema_problem_of("pk = :p AND sk = :a", ranges=()) == expected


@pytest.mark.parametrize(
    ("text", "name", "empty", "kind", "tag"),
    [
        ("pk = :e", "pk", {"S": ""}, "string", "S"),
        ("pk = :p AND sk > :e", "sk", {"S": ""}, "string", "S"),
        ("pk = :p AND begins_with(sk, :e)", "sk", {"S": ""}, "string", "S"),
        ("pk = :p AND sk BETWEEN :e AND :a", "sk", {"S": ""}, "string", "S"),
        ("pk = :p AND sk = :e", "sk", {"B": ""}, "binary", "B"),
    ],
)
def test_an_empty_key_value_is_refused(text, name, empty, kind, tag):
    assert schema_problem_of(text, ranges=(("sk", tag),), **{":e": empty}) == (
        "One or more parameter values are not valid. The AttributeValue for a key attribute "
        f"cannot contain an empty {kind} value. Key: {name}"
    )


def test_a_key_value_that_is_too_long_is_refused():
    long = {":l": {"S": "é" * 512}, ":m": {"S": "é" * 1024}}
    assert check_key_condition(key_condition_of("pk = :m AND sk = :l", values=long), [PK], [SK]) == (
        [long[":m"]],
        [KeyClause("sk", "=", (long[":l"],))],
    )
    assert schema_problem_of("pk = :l", **{":l": {"S": "x" * 2049}}) == (
        "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes"
    )
    expected = (
        "One or more parameter values were invalid: "
        "Aggregated size of all range keys has exceeded the size limit of 1024 bytes"
    )
    assert schema_problem_of("pk = :p AND sk > :l", **{":l": {"S": "x" * 1025}}) == expected
    assert schema_problem_of("pk = :p AND sk BETWEEN :a AND :l", **{":l": {"S": "x" * 1025}}) == expected
    binary = {":l": {"B": "AAAA" * 342}}
    assert schema_problem_of("pk = :p AND sk > :l", ranges=(("sk", "B"),), **binary) == expected


HASHES = (("h1", "S"), ("h2", "S"))
RANGES = (("r1", "S"), ("r2", "N"), ("r3", "S"))


def test_a_key_of_many_attributes_takes_them_in_any_order():
    text = "r2 > :n AND h2 = :b AND r1 = :a AND h1 = :p"
    condition = key_condition_of(text, values=given(text))
    assert check_key_condition(condition, HASHES, RANGES) == (
        [P, B],
        [KeyClause("r1", "=", (A,)), KeyClause("r2", ">", ({"N": "1"},))],
    )


@pytest.mark.parametrize(
    ("text", "first", "then"),
    [
        ("r2 = :n", "r1", "r2"),
        ("r1 > :a AND r2 = :n", "r1", "r2"),
        ("r1 = :a AND r3 = :a", "r2", "r3"),
        ("r1 = :a AND r2 > :n AND r3 = :a", "r2", "r3"),
        ("r3 = :a", "r1, r2", "r3"),
    ],
)
def test_sort_key_attributes_come_without_gaps_and_with_equality_but_for_the_last(text, first, then):
    assert schema_problem_of(f"h1 = :p AND h2 = :p AND {text}", HASHES, RANGES) == (
        f"RANGE key attributes {first} must have equality conditions specified in the query "
        f"because a condition is present on key attribute {then}"
    )


@pytest.mark.parametrize("text", ["h1 = :p", "h1 = :p AND h2 > :a", "h1 = :p AND r1 = :a"])
def test_every_partition_key_attribute_needs_an_equality(text):
    expected = "HASH key attributes h2 must have equality conditions specified in the query"
    assert schema_problem_of(text, HASHES, RANGES) == expected


def test_an_attribute_outside_the_key_is_refused():
    text = "h1 = :p AND h2 = :p AND r1 = :a AND x = :a"
    assert schema_problem_of(text, HASHES, RANGES) == "Query condition missed key schema element: r2"


def test_a_key_condition_can_be_built_without_parsing():
    condition = KeyCondition((KeyClause("pk", "=", (P,)),))
    assert check_key_condition(condition, [PK], [SK]) == ([P], [])
