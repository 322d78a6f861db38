"""Planning statements, without a table."""

import pytest

from hashrange.core.errors import ValidationException
from hashrange.expr.nodes import (
    AddAction,
    And,
    Between,
    Comparison,
    DeleteAction,
    DocumentPath,
    FunctionCall,
    Literal,
    Membership,
    Not,
    RemoveAction,
    SetAction,
)
from hashrange.partiql.statement_plan import (
    DeletePlan,
    InsertPlan,
    SelectColumn,
    SelectPlan,
    UpdatePlan,
    parse_statement,
)


def plan(text, *parameters):
    return parse_statement(text, parameters).plan()


def where(condition, *parameters):
    return plan(f"SELECT * FROM t WHERE {condition}", *parameters).where


def test_a_statement_names_its_table_and_index():
    statement = parse_statement('SELECT * FROM "my.table"."idx-1"', ())
    assert (statement.table, statement.index, statement.is_read, statement.is_check) == (
        "my.table",
        "idx-1",
        True,
        False,
    )
    statement = parse_statement("UPDATE t SET a = 1 WHERE pk = 1 RETURNING ALL OLD *", ())
    assert (statement.table, statement.index, statement.is_read) == ("t", None, False)
    assert statement.returning == "ALL OLD"


def test_exists_is_a_check_and_not_a_read():
    statement = parse_statement("EXISTS(SELECT * FROM t WHERE pk = 1)", (), in_transaction=True)
    assert (statement.is_read, statement.is_check) == (False, True)


def test_a_select_is_columns_a_condition_and_an_order():
    assert plan("SELECT a, b.c[1] FROM t WHERE n > 1 ORDER BY sk DESC, pk") == SelectPlan(
        columns=(SelectColumn("a", DocumentPath(("a",))), SelectColumn("c[1]", DocumentPath(("b", "c", 1)))),
        where=Comparison(">", DocumentPath(("n",)), Literal({"N": "1"})),
        order=(("sk", True), ("pk", False)),
    )


def test_an_insert_is_an_item():
    assert plan("INSERT INTO t VALUE {'pk': ?, 'n': 1.0}", {"S": "a"}) == InsertPlan(
        {"pk": {"S": "a"}, "n": {"N": "1"}}
    )


def test_an_update_is_actions_and_a_condition():
    update = plan("UPDATE t SET a = ?, s = set_add(s, <<'x'>>) REMOVE b SET d = set_delete(d, ?) WHERE pk = 'k'", *SETS)
    assert update == UpdatePlan(
        actions=(
            SetAction(DocumentPath(("a",)), Literal({"BOOL": True})),
            AddAction(DocumentPath(("s",)), Literal({"SS": ["x"]})),
            RemoveAction(DocumentPath(("b",))),
            DeleteAction(DocumentPath(("d",)), Literal({"NS": ["1"]})),
        ),
        where=Comparison("=", DocumentPath(("pk",)), Literal({"S": "k"})),
        returning=None,
    )


SETS = ({"BOOL": True}, {"NS": ["1"]})


def test_a_delete_is_a_condition():
    assert plan("DELETE FROM t RETURNING ALL OLD *") == DeletePlan(None, "ALL OLD")


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("a IN [1, b]", Membership(DocumentPath(("a",)), (Literal({"N": "1"}), DocumentPath(("b",))))),
        ("a BETWEEN 1 AND 2", Between(DocumentPath(("a",)), Literal({"N": "1"}), Literal({"N": "2"}))),
        ("a IS MISSING", FunctionCall("attribute_not_exists", (DocumentPath(("a",)),))),
        ("a IS NOT NULL", Not(FunctionCall("attribute_type", (DocumentPath(("a",)), Literal({"S": "NULL"}))))),
        ("a IS STRUCT", FunctionCall("attribute_type", (DocumentPath(("a",)), Literal({"S": "M"})))),
        ("CONTAINS(a, 'x')", FunctionCall("contains", (DocumentPath(("a",)), Literal({"S": "x"})))),
        ("size(a) > 1", Comparison(">", FunctionCall("size", (DocumentPath(("a",)),)), Literal({"N": "1"}))),
        (
            "a = 1 AND (b = 2 AND c = 3)",
            And(
                (
                    Comparison("=", DocumentPath(("a",)), Literal({"N": "1"})),
                    And(
                        (
                            Comparison("=", DocumentPath(("b",)), Literal({"N": "2"})),
                            Comparison("=", DocumentPath(("c",)), Literal({"N": "3"})),
                        )
                    ),
                )
            ),
        ),
        ("attribute_exists(a) = true", FunctionCall("attribute_exists", (DocumentPath(("a",)),))),
        ("attribute_exists(a) <> true", Not(FunctionCall("attribute_exists", (DocumentPath(("a",)),)))),
    ],
)
def test_conditions_are_those_of_expressions(text, condition):
    assert where(text) == condition


def test_a_name_may_be_one_that_expressions_reserve():
    assert where("data = 'x' AND name = 'y'") is not None


def test_a_statement_planned_again_with_other_parameters_has_their_values():
    text = "SELECT * FROM t WHERE pk = ?"
    first, second = (parse_statement(text, ({"S": value},)).plan() for value in "ab")
    assert (first.where.right.value, second.where.right.value) == ({"S": "a"}, {"S": "b"})


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("SELECT * FROM (SELECT * FROM t)", "Unexpected from source"),
        ("SELECT * FROM my-tab", "Unexpected from source"),
        ("SELECT DISTINCT a FROM t", "Unsupported clause: DISTINCT at 1:8:8"),
        (
            "SELECT * FROM t WHERE pk = 1 ORDER BY a.b",
            "Argument to ORDER BY must be of type VariableReference. Type: Path",
        ),
        ("SELECT VALUE a FROM t", "Select projection doesn't support value or pivot keywords"),
        ("FROM t INSERT INTO u VALUE {'a': 1}", "Unsupported FROM ... WHERE ... clause in INSERT statement."),
        ("INSERT INTO t VALUE {'a': 1, 'a': 2}", "Duplicate keys in tuple. Key: a under root at 1:30:3"),
        ("INSERT INTO t VALUE {'a': {'b': 1, 'b': 2}}", "Duplicate keys in tuple. Key: b under root at 1:27:1"),
        ("INSERT INTO t VALUE {a: 1}", "Tuple keys must be of type String. Actual type: a under root at 1:22:1"),
        ("INSERT INTO t VALUE {'': 1}", "Path component cannot be an empty string"),
        ("INSERT INTO t VALUE {'a': `1`}", "Ion Literals are not supported: 1 under key root at 1:27:3"),
        ("INSERT INTO t VALUE {'a': MISSING}", "Unsupported data type: MISSING under key root at 1:27:7"),
        ("INSERT INTO t VALUE {'a': b.c}", "Unsupported data type: Path under key root at 1:27:1"),
        (
            "SELECT * FROM t WHERE a IS FLOAT",
            (
                "Unsupported data type for IS operator: FLOAT. Supported data types are "
                "[MISSING, NULL, BOOLEAN, BLOB, STRING, NUMERIC, STRUCT, TUPLE, LIST] at 1:25:2"
            ),
        ),
        (
            "SELECT * FROM t WHERE size(a) IS NULL",
            ("The left hand side argument to IS must be a Variable Reference, Literal, or Path"),
        ),
        (
            "SELECT * FROM t WHERE a IN b",
            (
                "IN operator must have a left hand argument of type Variable Reference and "
                "right hand argument of type Seq with at least one member"
            ),
        ),
        ("SELECT * FROM t WHERE a[1.5] = 1", "Unexpected path component at 1:25:3"),
        ("SELECT * FROM t WHERE (1).b = 1", "Unexpected path component at 1:24:1"),
        ("UPDATE t SET a = nope(b)", "Unrecognized function: nope at 1:18:4"),
        (
            "UPDATE t SET a = -b",
            ("Incorrect number of operands for operator or function; operator or function: -, number of operands: 1"),
        ),
        ("UPDATE t SET a = list_append(b + 1, c)", "Unsupported operator in Update Expression. Operator: +"),
        ("UPDATE t SET a = SELECT * FROM u", "Unsupported token in expression: Select"),
        (
            "UPDATE t SET a = if_not_exists()",
            (
                "Incorrect number of operands for operator or function; "
                "operator or function: if_not_exists, number of operands: 0"
            ),
        ),
        ("1 + 1", "Unsupported operation: Operation"),
    ],
)
def test_errors_that_need_no_table_are_raised_by_the_plan(text, refusal):
    with pytest.raises(ValidationException) as caught:
        plan(text)
    assert caught.value.message == refusal


def test_thirty_one_levels_of_a_literal_fit():
    assert plan(f"INSERT INTO t VALUE {{'a': {'[' * 31}1{']' * 31}}}").item["a"]
