"""Conditions and filters: what holds for a stored item, and what is refused before any item is looked at."""

import pytest

from tests.conformance.refusal import ENVELOPE, invalid
from tests.conformance.wire import item

STORED = {
    "pk": "a",
    "s": "hello",
    "n": 5,
    "b": b"\x01\x02\x03",
    "yes": True,
    "nil": None,
    "ss": {"x", "y"},
    "ns": {1, 2},
    "l": [1, "two", {"k": "v"}],
    "m": {"x": 1, "y": ["z"]},
    "emoji": "𝄞é",
}


def with_values(values):
    return {"ExpressionAttributeValues": item(**{f":{name}": v for name, v in values.items()})} if values else {}


def check(table, expression, values):
    table.update_item(Key=item(pk="a"), ConditionExpression=expression, **with_values(values))


def holds(table, expression, /, **values):
    try:
        check(table, expression, values)
    except table.client.exceptions.ConditionalCheckFailedException:
        return False
    return True


@pytest.fixture
def stored(table):
    table.put(**STORED)
    return table


TRUE = [
    ("n = :v", {"v": {"N": "5.0"}}),
    ("n <> :v", {"v": "5"}),
    ("absent <> :v", {"v": 1}),
    ("absent <> vanished", {}),
    ("NOT absent = :v", {"v": 1}),
    ("n BETWEEN :a AND :b", {"a": 5, "b": 6}),
    ("n IN (:a, :b)", {"a": "5", "b": 5}),
    ("n > :v AND n < :w OR absent = :v", {"v": 4, "w": 6}),
    ("absent = :v OR n = :w AND s = :x", {"v": 1, "w": 5, "x": "hello"}),
    ("NOT (n = :v AND s = :v)", {"v": 5}),
    ("NOT NOT n = :v", {"v": 5}),
    ("n=:v and not s=:v", {"v": 5}),
    ("attribute_exists(nil)", {}),
    ("attribute_exists(m.y[0])", {}),
    ("attribute_not_exists(m.y[1])", {}),
    ("attribute_type(ss, :t)", {"t": "SS"}),
    ("attribute_type(nil, :t)", {"t": "NULL"}),
    ("begins_with(s, :v)", {"v": "he"}),
    ("begins_with(b, :v)", {"v": b"\x01"}),
    ("contains(s, :v)", {"v": "ell"}),
    ("contains(ss, :v)", {"v": "x"}),
    ("contains(ns, :v)", {"v": {"N": "2.0"}}),
    ("contains(l, :v)", {"v": {"k": "v"}}),
    ("ss = :v", {"v": {"SS": ["y", "x"]}}),
    ("l = :v", {"v": [1, "two", {"k": "v"}]}),
    ("m = :v", {"v": {"y": ["z"], "x": {"N": "1.0"}}}),
    ("l[2].k = :v", {"v": "v"}),
    ("size(s) = :v", {"v": 5}),
    ("size(emoji) = :v", {"v": 3}),
    ("size(b) = :v", {"v": 3}),
    ("size(ss) = :v AND size(l) > :v AND size(m) = :v", {"v": 2}),
    ("m.x < n", {}),
    ("(n = :v)", {"v": 5}),
    ("((n = :v) AND (s <> :v))", {"v": 5}),
]
FALSE = [
    ("n = :v", {"v": "5"}),
    ("n > :v", {"v": "4"}),
    ("yes > s", {}),
    ("absent = :v", {"v": 1}),
    ("absent < :v", {"v": 1}),
    ("l = :v", {"v": ["two", 1]}),
    ("attribute_not_exists(nil)", {}),
    ("contains(s, :v)", {"v": 5}),
    ("contains(m, :v)", {"v": "x"}),
    ("begins_with(n, :v)", {"v": "5"}),
    ("size(n) > :v", {"v": 0}),
    ("size(absent) >= :v", {"v": 0}),
    ("s.x = :v", {"v": 1}),
    ("NOT absent <> :v", {"v": 1}),
]


@pytest.mark.parametrize(("expression", "values"), TRUE)
def test_what_is_so_holds(stored, expression, values):
    assert holds(stored, expression, **values)


@pytest.mark.parametrize(("expression", "values"), FALSE)
def test_what_is_not_so_does_not_hold(stored, expression, values):
    assert not holds(stored, expression, **values)


@pytest.mark.parametrize(("expression", "values"), TRUE)
def test_a_filter_judges_as_a_condition_does(stored, expression, values):
    assert stored.scan(FilterExpression=expression, **with_values(values))["Count"] == 1


OPERAND = "Incorrect operand type for operator or function; operator or function: "


@pytest.mark.parametrize(
    ("expression", "values", "problem"),
    [
        ("n < :v", {"v": True}, OPERAND + "<, operand type: BOOL"),
        ("n < :v", {"v": {"x"}}, OPERAND + "<, operand type: SS"),
        ("begins_with(s, :v)", {"v": 5}, OPERAND + "begins_with, operand type: N"),
        ("size(:v) > :v", {"v": 5}, OPERAND + "size, operand type: N"),
        ("attribute_type(s, :v)", {"v": 5}, OPERAND + "attribute_type, operand type: N"),
        (
            "n BETWEEN :a AND :b",
            {"a": 2, "b": 1},
            (
                "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; "
                "lower bound operand: AttributeValue: {N:2}, upper bound operand: AttributeValue: {N:1}"
            ),
        ),
        (
            "n BETWEEN :a AND :b",
            {"a": "a", "b": 1},
            (
                "The BETWEEN operator requires same data type for lower and upper bounds; "
                "lower bound operand: AttributeValue: {S:a}, upper bound operand: AttributeValue: {N:1}"
            ),
        ),
        (
            "attribute_exists(:v)",
            {"v": 1},
            "Operator or function requires a document path; operator or function: attribute_exists",
        ),
        (
            "size(s, n) > :v",
            {"v": 1},
            (
                "Incorrect number of operands for operator or function; "
                "operator or function: size, number of operands: 2"
            ),
        ),
        ("size(s)", {}, "The function is not allowed to be used this way in an expression; function: size"),
        ("Size(s) > :v", {"v": 1}, "Invalid function name; function: Size"),
        ("s != :v", {"v": 1}, 'Syntax error; token: "!", near: "s !="'),
        ("s = :v =", {"v": 1}, 'Syntax error; token: "=", near: ":v ="'),
        ("(" * 4096, {}, "Syntax error; token"),
        ("(" * 100_000, {}, "Expression size has exceeded the maximum allowed size; expression size: 100000"),
    ],
)
def test_what_makes_no_sense_is_refused_before_the_item_is_looked_at(table, expression, values, problem):
    with invalid(containing=f"{ENVELOPE}Invalid ConditionExpression: {problem}"):
        check(table, expression, values)


def test_an_expression_has_at_most_300_operators(table):
    joined = " OR ".join(["a<:v"] * 150)
    assert not holds(table, joined, v=1)
    with invalid(
        containing="Invalid ConditionExpression: The expression contains too many operators; operator count: 301"
    ):
        check(table, f"NOT NOT {joined}", {"v": 1})


def test_a_list_of_alternatives_has_at_most_100_members(table):
    names = {f"v{number}": number for number in range(101)}
    hundred = list(names)[:100]
    assert not holds(table, f"a IN ({', '.join(f':{name}' for name in hundred)})", **{n: names[n] for n in hundred})
    with invalid():
        check(table, f"a IN ({', '.join(f':{name}' for name in names)})", names)


def test_names_and_values_have_at_most_2_mb_together(table):
    assert not holds(table, "a = :v OR a = :w", v="x" * 2**20, w="x" * 2**20)
    with invalid():  # AWS's text is not known
        check(table, "a = :v OR a = :w", {"v": "x" * 2**20, "w": "x" * (2**20 + 1)})


@pytest.mark.parametrize(
    ("member", "content", "text"),
    [
        (
            "ExpressionAttributeNames",
            {"x": "a"},
            'ExpressionAttributeNames contains invalid key: Syntax error; key: "x"',
        ),
        (
            "ExpressionAttributeValues",
            {"v": {"S": "a"}},
            'ExpressionAttributeValues contains invalid key: Syntax error; key: "v"',
        ),
        ("ExpressionAttributeNames", {}, "ExpressionAttributeNames must not be empty"),
        ("ExpressionAttributeValues", {}, "ExpressionAttributeValues must not be empty"),
    ],
)
def test_placeholders_have_their_own_rules(table, member, content, text):
    with invalid(ENVELOPE + text):
        table.update_item(Key=item(pk="a"), ConditionExpression="attribute_exists(a)", **{member: content})


def test_every_unused_placeholder_is_named(table):
    values = item(**{":x": 1, ":y": 2, ":used": 3})
    with invalid(ENVELOPE + "Value provided in ExpressionAttributeValues unused in expressions: keys: {:x, :y}"):
        table.update_item(Key=item(pk="a"), ConditionExpression="a = :used", ExpressionAttributeValues=values)


def test_a_placeholder_in_a_branch_that_is_never_reached_is_used(stored):
    assert holds(stored, "n = :n OR s = :s", n=5, s="whatever")
