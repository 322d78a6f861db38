"""Parsing statements, and the errors for texts that are not statements."""

import contextlib
from cProfile import Profile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange.core.errors import ServiceError, ValidationException
from hashrange.partiql.lexer import MALFORMED
from hashrange.partiql.nodes import (
    CallExpression,
    DeleteStatement,
    Identifier,
    InsertStatement,
    ListLiteral,
    NumberLiteral,
    OperatorExpression,
    PathExpression,
    RemoveClause,
    SelectStatement,
    SetClause,
    StatementParameter,
    TypeTest,
    UpdateStatement,
)
from hashrange.partiql.statement_parser import parse

T = '"table"'
LEFTOVER = "Unexpected token after expression"


def where(condition):
    return parse(f"SELECT * FROM {T} WHERE {condition}")[0].where


def refusal_of(text):
    with pytest.raises(ServiceError) as refusal:
        parse(text)
    return refusal.value.message


def test_a_select_has_columns_a_source_a_condition_and_an_order():
    select = parse(f"SELECT a, b.c[0] FROM {T} WHERE pk = 'x' ORDER BY sk DESC, pk;")[0]
    assert isinstance(select, SelectStatement)
    assert [type(column) for column in select.columns] == [Identifier, PathExpression]
    assert select.source.expression.text == "table"
    assert [(term.key.text, term.descending) for term in select.order] == [("sk", True), ("pk", False)]


def test_a_star_selects_everything():
    assert parse(f"SELECT * FROM {T}")[0].columns is None


def test_an_insert_has_a_target_and_an_item():
    insert = parse(f"INSERT INTO {T} VALUE {{'pk': 'x'}}")[0]
    assert isinstance(insert, InsertStatement)
    assert insert.single


def test_an_update_has_changes_in_any_order():
    update = parse(f"UPDATE {T} SET a = 1, b = 2 REMOVE c SET d = e WHERE pk = 'x' RETURNING ALL NEW *")[0]
    assert isinstance(update, UpdateStatement)
    assert [type(change) for change in update.changes] == [SetClause, SetClause, RemoveClause, SetClause]
    assert update.returning == "ALL NEW"


def test_an_update_may_start_with_from():
    update = parse(f"from {T} where pk = 'x' set a = 1 remove b returning modified old *")[0]
    assert isinstance(update, UpdateStatement)
    assert update.where is not None
    assert update.returning == "MODIFIED OLD"


def test_a_delete_has_a_condition():
    assert isinstance(parse(f"DELETE FROM {T} WHERE pk = 'x'")[0], DeleteStatement)


def test_exists_is_a_call_around_a_select():
    call = parse(f"EXISTS(SELECT * FROM {T} WHERE pk = 'x')")[0]
    assert isinstance(call, CallExpression)
    assert isinstance(call.arguments[0], SelectStatement)


def test_parameters_are_numbered_in_order():
    update, count = parse(f"UPDATE {T} SET a = ? WHERE pk = ? AND b IN [?, ?]")
    assert count == 4
    assert update.changes[0].value.position == 0
    assert update.where.operands[0].operands[1].position == 1


def test_and_binds_tighter_than_or_and_not_tighter_than_and():
    tree = where("NOT a = 1 AND b = 2 OR c = 3")
    assert tree.operator == "or"
    assert tree.operands[0].operator == "and"
    assert tree.operands[0].operands[0].operator == "not"
    assert tree.operands[0].operands[0].operands[0].operator == "="


def test_consecutive_ands_are_one_operator():
    assert len(where(" AND ".join(["a = 1"] * 900)).operands) == 900


def test_parentheses_group():
    tree = where("a = 1 AND (b = 2 OR c = 3)")
    assert [operand.operator for operand in tree.operands] == ["=", "or"]


@pytest.mark.parametrize(("written", "plain"), [("NOT IN", "in"), ("NOT BETWEEN", "between"), ("NOT LIKE", "like")])
def test_a_negated_operator_is_its_negation(written, plain):
    right = "1 AND 2" if plain == "between" else "[1]"
    tree = where(f"a {written} {right}")
    assert tree.operator == "not"
    assert tree.operands[0].operator == plain


def test_is_not_is_a_negated_test():
    tree = where("a IS NOT MISSING")
    assert tree.operator == "not"
    assert tree.operands[0] == TypeTest(tree.operands[0].operand, "MISSING", tree.span)


@pytest.mark.parametrize("choices", ["('x', 'y')", "['x', 'y']"])
def test_in_takes_brackets_and_parentheses(choices):
    listed = where(f"a IN {choices}").operands[1]
    assert isinstance(listed, ListLiteral)
    assert [element.text for element in listed.elements] == ["x", "y"]


def test_in_takes_one_choice_between_parentheses():
    assert [element.text for element in where("a IN ('x')").operands[1].elements] == ["x"]


def test_signs_fold_into_numbers():
    assert where("n = - - 1").operands[1].text == "1"
    assert where("n > -/* c */1").operands[1].text == "-1"
    assert where("n = +5").operands[1].text == "5"


def test_a_sign_before_anything_else_is_an_operation():
    assert isinstance(where("n > -?").operands[1], OperatorExpression)
    assert isinstance(where("n > -?").operands[1].operands[0], StatementParameter)


def test_a_call_keeps_its_name_in_lower_case():
    assert where("ATTRIBUTE_EXISTS(a)").name == "attribute_exists"
    assert where("Size (a) > 3").operands[0].name == "size"


def test_a_path_has_names_and_indexes():
    path = where('a."b c"[2] = 1').operands[0]
    assert isinstance(path, PathExpression)
    assert [type(step) for step in path.steps] == [Identifier, NumberLiteral]


def test_a_statement_is_parsed_once_per_text():
    assert parse(f"SELECT * FROM {T}") is parse(f"SELECT * FROM {T}")


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        (f"SELECT * FROM {T} WHERE pk = 1 foo", LEFTOVER),
        (f"SELECT * FROM {T} WHERE pk = 1 e5", LEFTOVER),
        (f"SELECT * FROM {T} WHERE pk = 1)", LEFTOVER),
        (f"SELECT * FROM {T} ORDER BY pk WHERE pk = 1", LEFTOVER),
        (f"INSERT INTO {T} VALUE {{'pk': 1}} foo", LEFTOVER),
        (f"INSERT INTO {T} t VALUE {{'pk': 1}}", LEFTOVER),
        (f"UPDATE {T} SET a = 9 WHERE pk = 1 foo", LEFTOVER),
        (f"DELETE FROM {T} WHERE pk = 1 foo", LEFTOVER),
        (f"DELETE FROM {T} WHERE pk = 1 ORDER BY pk", LEFTOVER),
        (f"FROM {T} SET c = 1 WHERE pk = 'x'", LEFTOVER),
        ("SELECTT * FROMM t1", LEFTOVER),
        (f"SELECT * FROM {T}; SELECT", "Unexpected token after semicolon. (Only one query is allowed.)"),
        (f"SELECT * FROM {T} WHERE", "Unexpected term"),
        (f"SELECT * FROM {T} WHERE;", "Unexpected term"),
        (f"SELECT * FROM {T} WHERE NOT", "Unexpected term"),
        (f"SELECT * FROM {T} WHERE (", "Unexpected term"),
        (f"UPDATE {T} SET a = 1 WHERE", "Unexpected term"),
        ("SELECT * FROM", "Unexpected term"),
        (f"SELECT * FROM {T} WHERE pk = 'p' AND", "Missing right-hand side expression of infix operator"),
        (f"SELECT * FROM {T} WHERE pk = 'p' OR", "Missing right-hand side expression of infix operator"),
        (f"SELECT * FROM {T} WHERE ORDER BY pk", "Unexpected keyword"),
        ("INSERT INTO urls (key, value) VALUES (?, ?)", "Unexpected keyword"),
        (f"SELECT * FROM {T} WHERE IS NULL", "Unexpected operator"),
        (f"SELECT * FROM {T} WHERE pk = LIKE", "Unexpected operator"),
        (f"SELECT * FROM {T} WHERE pk = 'a' AND x IS FOO", "Expected type name"),
        ("DELETE FROM", "Expected identifier for simple path"),
        ("DELETE FROM;", "Expected identifier for simple path"),
        ("DELETE FROM WHERE pk = 'a'", "Expected identifier for simple path"),
        (f"SLECT * FROM {T} WHERE pk = 'x'", "Expected data manipulation"),
        (f"UPDATE {T} WHERE pk = 'x'", "Expected data manipulation"),
        ("UPDATE my-table SET a = 1 WHERE pk = 1", "Expected data manipulation"),
        (f"SELECT m.inner FROM {T}", "Invalid path dot component"),
        (f"SELECT * FROM {T} WHERE a BETWEEN 1 OR 2", "Expected AND keyword"),
        (f"SELECT * FROM {T} WHERE a = [1", "Expected RIGHT_BRACKET"),
        (f"SELECT a FROM {T} WHERE f(1", "Expected RIGHT_PAREN"),
    ],
)
def test_a_text_that_is_not_a_statement_is_refused_with_the_services_text(text, detail):
    assert refusal_of(text) == MALFORMED + detail


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM t WHERE " + "(" * 8000,
        "SELECT * FROM t WHERE a = " + "[" * 8000,
        "INSERT INTO t VALUE " + "{'a':" * 1600,
        "SELECT * FROM t WHERE " + "NOT " * 2000 + "a",
        "SELECT * FROM t WHERE a = " + "- " * 4000 + "1",
        "SELECT * FROM t WHERE a" + " = a" * 2000,
        "UPDATE t SET a = 1" + " - 1" * 2000 + " WHERE pk = 1",
        "SELECT * FROM t WHERE " + "(" * 50 + "a" + " = a = a = a)" * 50,
        "SELECT a" + "[a" * 3000,
        "SELECT f(" * 1000,
        "EXISTS(SELECT * FROM " * 300,
        "SELECT * FROM t WHERE a = " + "<<" * 4000,
        "SELECT * FROM t WHERE " + "a OR b AND NOT c = d < e + f * (" * 250,
    ],
    ids=lambda text: text[:40],
)
def test_a_text_that_is_nested_too_deep_is_refused(text):
    assert refusal_of(text).startswith(MALFORMED)


WORDS = [
    "SELECT", "*", "FROM", T, "t", "WHERE", "pk", "=", "'x'", "AND", "OR", "NOT", "(", ")", "[", "]", "{", "}", "<<",
    ">>", ",", ":", ";", "?", "1", "-", "+", ".", "a", "IN", "IS", "NULL", "MISSING", "BETWEEN", "SET", "REMOVE",
    "UPDATE", "DELETE", "INSERT INTO", "VALUE", "RETURNING", "ALL OLD", "ORDER", "BY", "DESC", "LIMIT", "GROUP",
    "EXISTS", "size", "contains", "set_add", "true", "COUNT", "JOIN", "AS", "1e5", "`x`", "DISTINCT", "HAVING",
]  # fmt: skip


@given(st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join) | st.text(max_size=60))
def test_any_text_is_a_statement_or_refused(text):
    with contextlib.suppress(ValidationException):
        statement, parameters = parse(text)
        assert statement.span.line >= 1
        assert parameters <= text.count("?")


@pytest.mark.parametrize("element", ["1", "-1", "'a'", "a", "[1]", "1.5e3", "1 + 1", "'a' || 'b'", "null"])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ("<<", ">>")])
def test_an_element_is_parsed_alike_before_a_comma_and_before_the_end(element, opening, closing):
    (first, last) = (
        parse(f"INSERT INTO t VALUE {{'a': {opening}{element}\n,{element}{closing}}}")[0].value.members[0][1].elements
    )
    assert type(first) is type(last)
    assert getattr(first, "text", None) == getattr(last, "text", None)


def test_a_literal_in_a_list_takes_few_calls():
    statement = "INSERT INTO t VALUE {'a': [" + ",".join(["1"] * 4060) + "]}"
    profile = Profile()
    profile.runcall(parse, statement)
    calls = sum(entry.callcount for entry in profile.getstats())
    assert calls < 45 * 4060
