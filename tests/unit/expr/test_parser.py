"""The grammar: valid and invalid texts, and how a syntax error quotes its position."""

import pytest

from hashrange.expr.errors import ExpressionError
from hashrange.expr.nodes import (
    And,
    Arithmetic,
    Between,
    Comparison,
    DocumentPath,
    FunctionCall,
    Membership,
    Not,
    Or,
    Placeholder,
    SetAction,
)
from hashrange.expr.parser import parse_condition, parse_projection, parse_update

A_IS_V = Comparison("=", DocumentPath(("a",)), Placeholder(":v"))
B_IS_V = Comparison("=", DocumentPath(("b",)), Placeholder(":v"))
C_IS_V = Comparison("=", DocumentPath(("c",)), Placeholder(":v"))
REDUNDANT = "The expression has redundant parentheses;"


def problem(parse, text):
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    return caught.value.text


def syntax_error(token, near):
    return f'Syntax error; token: "{token}", near: "{near}"'


@pytest.mark.parametrize(
    ("text", "token", "near"),
    [
        ("!!!", "!", "!!"),
        ("a", "<EOF>", "a"),
        ("a b", "b", "a b"),
        ("tenantAgent:abc123- = :x", ":abc123", "tenantAgent:abc123-"),
        ("#articleId attribute_not_exists :ckpst", "attribute_not_exists", "#articleId attribute_not_exists :ckpst"),
        ("a = :v1 AND", "<EOF>", "AND"),
        ("a  =\t:v1  AND \n", "<EOF>", "AND"),
        ("attribute_not_exists(", "<EOF>", "("),
        ("contains([1,2])", "[", "([1"),
        ("contains(a, 0)", "0", ", 0)"),
        ("f()", ")", "()"),
        ("()", ")", "()"),
        ("a IN ()", ")", "()"),
        ("a IN :v", ":v", "IN :v"),
        ("a in (b,c,)", ")", ",)"),
        ("(a", "<EOF>", "a"),
        ("(a = :b", "<EOF>", ":b"),
        ("a = :b)", ")", ":b)"),
        ("a = :b c", "c", ":b c"),
        ("a = :b = :c", "=", ":b = :c"),
        ("(a = :b) = :c", "=", ") = :c"),
        ("a = (b = :c)", "=", "b = :c"),
        ("(a) AND b = :c", "AND", ") AND b"),
        ("(NOT a)", ")", "a)"),
        ("a = NOT b", "NOT", "= NOT b"),
        ("a != :v", "!", "a !="),
        ("a > 4", "4", "> 4"),
        ("a BETWEEN :x OR :y", "OR", ":x OR :y"),
        ("a[:i] = :v", ":i", "[:i]"),
        ("a[#i] = :v", "#i", "[#i]"),
        ("a[01] = :v", "1", "01]"),
        ("a[1.5] = :v", ".", "1.5"),
        ("a.:v = :v", ":v", ".:v ="),
        ("a..b = :v", ".", "..b"),
        (":v.a = :v", ".", ":v.a"),
        ("(a).b = :v", ".", ").b"),
        ("size(a).b = :v", ".", ").b"),
        ("ü = :v", "ü", "ü ="),
        ("_a = :v", "_", "_a"),
        ("# = :v", "#", "# ="),
        ("set = :v", "set", "set ="),
        ("a = between", "between", "= between"),
        (" ", "<EOF>", ""),
    ],
)
def test_a_syntax_error_names_the_token_and_shows_its_neighbours(text, token, near):
    assert problem(parse_condition, text) == syntax_error(token, near)


@pytest.mark.parametrize(
    ("text", "token", "near"),
    [
        ("INVALID SYNTAX HERE", "INVALID", "INVALID SYNTAX"),
        ("SET _123 = :v", "_", "SET _123"),
        ("SET", "<EOF>", "SET"),
        ("SET a", "<EOF>", "a"),
        ("SET a = :v,", "<EOF>", ","),
        ("SET a = :v, SET b = :v", "SET", ", SET b"),
        ("SET a = set", "set", "= set"),
        ("SET :a = b", ":a", "SET :a ="),
        ("SET (a = b)", "(", "SET (a"),
        ("SET a = b / c", "/", "b / c"),
        ("SET a = b + c + d", "+", "c + d"),
        ("SET a = (b + c) - d", "-", ") - d"),
        ("SET a = b + (c + d)", "+", "c + d"),
        ("SET a = (b.c).d", ".", ").d"),
        ("SET a = if_not_exists(a, :b + :c)", "+", ":b + :c"),
        ("SET a = (b", "<EOF>", "b"),
        ("SET f(a) = b", "(", "f(a"),
        ("REMOVE a = b", "=", "a = b"),
        ("REMOVE a b", "b", "a b"),
        ("ADD a b", "b", "a b"),
        ("ADD a = :b", "=", "a = :b"),
        ("DELETE a f(b)", "f", "a f("),
        ("SET a = :v AND", "AND", ":v AND"),
    ],
)
def test_a_syntax_error_in_an_update(text, token, near):
    assert problem(parse_update, text) == syntax_error(token, near)


@pytest.mark.parametrize(
    ("text", "token", "near"),
    [
        ("!!! INVALID !!!", "!", "!!"),
        ("a,", "<EOF>", ","),
        (",a", ",", ",a"),
        ("a,,b", ",", ",,b"),
        ("a b", "b", "a b"),
        (":v", ":v", ":v"),
        ("a = b", "=", "a = b"),
        ("(a)", "(", "(a"),
        ("a[", "<EOF>", "["),
        ("a[-1]", "-", "[-1"),
    ],
)
def test_a_syntax_error_in_a_projection(text, token, near):
    assert problem(parse_projection, text) == syntax_error(token, near)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a=:v", A_IS_V),
        ("\ta\r\n=  :v ", A_IS_V),
        ("(a = :v)", A_IS_V),
        ("(a) = (:v)", A_IS_V),
        ("a = :v OR b = :v AND c = :v", Or((A_IS_V, And((B_IS_V, C_IS_V))))),
        ("(a = :v OR b = :v) AND c = :v", And((Or((A_IS_V, B_IS_V)), C_IS_V))),
        ("((a = :v) AND (b = :v))", And((A_IS_V, B_IS_V))),
        ("(a = :v AND (b = :v))", And((A_IS_V, B_IS_V))),
        ("NOT a = :v AND b = :v", And((Not(A_IS_V), B_IS_V))),
        ("NOT (a = :v AND b = :v)", Not(And((A_IS_V, B_IS_V)))),
        ("not NOT a = :v", Not(Not(A_IS_V))),
        ("NOT (a) = :v", Not(A_IS_V)),
        ("a = :v and b = :v Or c = :v", Or((And((A_IS_V, B_IS_V)), C_IS_V))),
        (
            "a between :x and :y and b = :v",
            And((Between(DocumentPath(("a",)), Placeholder(":x"), Placeholder(":y")), B_IS_V)),
        ),
        ("a IN (:x, b)", Membership(DocumentPath(("a",)), (Placeholder(":x"), DocumentPath(("b",))))),
        ("a.#b[0][12].c <> :v", Comparison("<>", DocumentPath(("a", "#b", 0, 12, "c")), Placeholder(":v"))),
        ("(size(a)) >= :v", Comparison(">=", FunctionCall("size", (DocumentPath(("a",)),)), Placeholder(":v"))),
        ("(contains((a), (b)))", FunctionCall("contains", (DocumentPath(("a",)), DocumentPath(("b",))))),
        ("Size(a) < :v", Comparison("<", FunctionCall("Size", (DocumentPath(("a",)),)), Placeholder(":v"))),
        ("INx = :v", Comparison("=", DocumentPath(("INx",)), Placeholder(":v"))),
    ],
)
def test_a_condition_parses(text, tree):
    assert parse_condition(text) == tree


def test_three_nots_are_one():
    assert parse_condition("NOT NOT NOT a = :v") == parse_condition("NOT (NOT (NOT a = :v))") == Not(A_IS_V)


@pytest.mark.parametrize(
    "text",
    [
        "((a = :v))",
        "(a = :v) AND ((b IN (:y)))",
        "((a)) = :v",
        "a = ((b))",
        "contains(a, ((b)))",
        "a = :v AND ((a = :v AND b = :v)) AND c = :v",
        "a = :v OR ((a = :v OR (b = :v OR c = :v)))",
        "NOT ((a = :v))",
        "(a)between(((b.c)).d)and(c)",  # raised as soon as the outer parenthesis closes, before the dot
    ],
)
def test_redundant_parentheses_are_refused(text):
    assert problem(parse_condition, text) == REDUNDANT


@pytest.mark.parametrize("text", ["SET a = ((b))", "SET a = ((b + c))", "SET a = f(((b)))"])
def test_redundant_parentheses_are_refused_in_updates(text):
    assert problem(parse_update, text) == REDUNDANT


@pytest.mark.parametrize("value", ["b + c", "(b + c)", "(b) + (c)", "((b)+(c))", "(b)+c"])
def test_a_sum_may_be_in_parentheses(value):
    (section,) = parse_update(f"SET a = {value}")
    assert section.actions == (
        SetAction(DocumentPath(("a",)), Arithmetic("+", DocumentPath(("b",)), DocumentPath(("c",)))),
    )


def test_the_sections_of_an_update_come_in_any_order_and_case():
    sections = parse_update("add a :b, c :d Delete e :f REMOVE g[1].h, i SeT j = :k, l = if_not_exists(m, :n) - o")
    assert [section.keyword for section in sections] == ["ADD", "DELETE", "REMOVE", "SET"]
    assert [len(section.actions) for section in sections] == [2, 1, 2, 2]


def test_300_operators_are_accepted_and_301_are_not():
    too_many = "The expression contains too many operators; operator count: 301"
    assert parse_condition(" OR ".join(["a<:v"] * 150))  # 150 comparators and 149 ORs
    assert problem(parse_condition, " OR ".join(["a<:v"] * 151)) == too_many
    assert problem(parse_condition, "NOT " * 301 + "contains(a, :v)") == too_many
    assert parse_condition("NOT " * 300 + "contains(a, :v)")
    assert problem(parse_update, "SET " + ",".join(["a=b+c"] * 301)) == too_many


def test_functions_and_parentheses_are_no_operators():
    assert parse_condition("(contains(a,:v)) OR " * 200 + "contains(a,:v)")


def test_a_syntax_error_comes_before_the_number_of_operators():
    assert problem(parse_condition, "NOT " * 400).startswith("Syntax error; ")


@pytest.mark.parametrize("depth", [500, 2000])
def test_parentheses_and_calls_may_be_nested_to_any_depth(depth):
    assert problem(parse_condition, "(" * depth) == syntax_error("<EOF>", "(")
    assert problem(parse_condition, "(" * depth + "a=:v" + ")" * depth) == REDUNDANT
    assert problem(parse_condition, "size(" * depth) == syntax_error("<EOF>", "(")
    assert parse_condition("size(" * depth + "a" + ")" * depth + "=:v").operator == "="
    assert parse_update("SET a = " + "f(" * depth + "a" + ")" * depth)
