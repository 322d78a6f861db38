"""BatchExecuteStatement: statements on single items, each with its own answer or error."""

import pytest

from tests.conformance.refusal import invalid
from tests.conformance.statement import member
from tests.conformance.table import new_name
from tests.conformance.wire import item, nest, value

NEEDS_KEY = "Select statements within BatchExecuteStatement must specify the primary key in the where clause."
MALFORMED = "Statement wasn't well formed, can't be processed: "


@pytest.fixture
def batch(client):
    """`batch(statement, (statement, [parameters]), {member}, ...)` is the list of responses."""

    def execute(*members, **options):
        return client.batch_execute_statement(Statements=[member(each) for each in members], **options)

    return execute


def failed(code, message, **more):
    return {"Error": {"Code": code, "Message": message}} | more


def test_reads_come_in_the_order_asked(batch, table):
    table.put(pk="a", n=1)
    table.put(pk="b", m={"x": 2})
    response = batch(
        f"SELECT m.x FROM \"{table.name}\" WHERE pk = 'b'",
        f"SELECT * FROM \"{table.name}\" WHERE pk = 'none'",
        (f'SELECT * FROM "{table.name}" WHERE pk = ?', ["a"]),
    )
    assert response["Responses"] == [
        {"TableName": table.name, "Item": item(x=2)},
        {"TableName": table.name},
        {"TableName": table.name, "Item": item(pk="a", n=1)},
    ]


def test_writes_are_done_one_by_one(batch, table):
    table.put(pk="b", n=1)
    table.put(pk="c")
    response = batch(
        f"INSERT INTO \"{table.name}\" VALUE {{'pk': 'a', 'n': 1}}",
        f"UPDATE \"{table.name}\" SET n = 2 WHERE pk = 'b'",
        f"DELETE FROM \"{table.name}\" WHERE pk = 'c'",
    )
    assert response["Responses"] == [{"TableName": table.name}] * 3
    assert [table.get(pk=pk) for pk in "abc"] == [item(pk="a", n=1), item(pk="b", n=2), None]


def test_returning_is_honoured(batch, table):
    table.put(pk="a", n=1)
    table.put(pk="b", n=1)
    table.put(pk="c", n=1)
    response = batch(
        f"DELETE FROM \"{table.name}\" WHERE pk = 'a' RETURNING ALL OLD *",
        f"UPDATE \"{table.name}\" SET n = 2 WHERE pk = 'b' RETURNING MODIFIED NEW *",
        f"UPDATE \"{table.name}\" REMOVE n WHERE pk = 'c' RETURNING MODIFIED NEW *",
        f"DELETE FROM \"{table.name}\" WHERE pk = 'd' RETURNING MODIFIED OLD *",
    )
    text = (
        "Invalid returning clause: RETURNING MODIFIED OLD *. Only RETURNING ALL OLD * is allowed in DELETE statements."
    )
    assert response["Responses"] == [
        {"TableName": table.name, "Item": item(pk="a", n=1)},
        {"TableName": table.name, "Item": item(n=2)},
        {"TableName": table.name},
        failed("ValidationError", text),
    ]


def test_a_failure_leaves_the_others_alone(batch, table):
    table.put(pk="a", n=1)
    table.put(pk="m", m={"M": {}})
    missing = new_name()
    response = batch(
        f"SLECT * FROM \"{table.name}\" WHERE pk = 'a'",
        f"INSERT INTO \"{table.name}\" VALUE {{'pk': 'a'}}",
        f"UPDATE \"{table.name}\" SET n = 2 WHERE pk = 'b'",
        f"DELETE FROM \"{missing}\" WHERE pk = 'x'",
        (f"UPDATE \"{table.name}\" SET m.deep = ? WHERE pk = 'm'", [nest(31, value("x"))]),
        f'UPDATE "{table.name}" SET n = 2 WHERE n = 1',
        (f"UPDATE \"{table.name}\" SET n = ? WHERE pk = 'c'", [{"SS": []}]),
        f"INSERT INTO \"{table.name}\" VALUE {{'pk': 'z'}}",
    )
    assert response["Responses"] == [
        failed("ValidationError", f"{MALFORMED}Expected data manipulation"),
        failed("DuplicateItem", "Duplicate primary key exists in table", TableName=table.name),
        failed("ConditionalCheckFailed", "The conditional request failed", TableName=table.name),
        failed("ResourceNotFound", "Requested resource not found", TableName=missing),
        failed("ValidationError", "Nesting Levels have exceeded supported limits", TableName=table.name),
        failed("ValidationError", "Where clause does not contain a mandatory equality on all key attributes"),
        failed("ValidationError", "One or more parameter values were invalid: An string set  may not be empty"),
        {"TableName": table.name},
    ]
    assert table.get(pk="z") == item(pk="z")


@pytest.mark.parametrize(
    "clause",
    [
        "",
        "WHERE pk = 'a'",
        "WHERE pk = 'a' AND sk = 1 AND flag = 'x'",
        "WHERE pk = 'a' AND sk = 1 AND pk = 'b'",
        "WHERE pk = 'a' AND sk > 0",
        "WHERE pk = 'a' AND sk = 1 AND attribute_exists(flag)",
        "WHERE pk IN ['a', 'b'] AND sk = 1",
    ],
)
def test_a_read_names_its_item_by_nothing_but_the_key(batch, sorted_table, clause):
    sorted_table.put(pk="a", sk=1, flag="x")
    (response,) = batch(f'SELECT * FROM "{sorted_table.name}" {clause}')["Responses"]
    assert response == failed("ValidationError", NEEDS_KEY)


def test_a_key_may_be_given_by_in_and_twice(batch, sorted_table):
    sorted_table.put(pk="a", sk=1)
    (response,) = batch(f"SELECT * FROM \"{sorted_table.name}\" WHERE (pk IN ['a']) AND 1 = sk AND pk = 'a'")[
        "Responses"
    ]
    assert response["Item"] == item(pk="a", sk=1)


def test_too_many_reads_are_told_before_a_missing_key(batch, sorted_table):
    many = ", ".join(f"'v{at}'" for at in range(51))
    (response,) = batch(f'SELECT * FROM "{sorted_table.name}" WHERE pk IN [{many}] AND sk = 1')["Responses"]
    assert response == failed("ValidationError", "Too many decomposed read operations for a given query.")


def test_an_index_cannot_be_read(batch, make_table):
    table = make_table("pk:S", gsi={"plain": "a:S", "several": "a:S,b:S"})
    table.put(pk="x", a="y")
    response = batch(
        f"SELECT * FROM \"{table.name}\".plain WHERE a = 'y'",
        f"SELECT * FROM \"{table.name}\".several WHERE a = 'y' AND b = 'z'",
        f"SELECT * FROM \"{table.name}\" WHERE pk = 'x'",
    )
    plain, several, base = response["Responses"]
    assert plain == failed("ValidationError", NEEDS_KEY)
    assert several["Error"]["Message"].startswith(
        "PartiQL statements cannot be executed on tables with multi-attribute"
    )
    assert base["Item"] == item(pk="x", a="y")


def test_exists_is_for_transactions(batch, table):
    (response,) = batch(f"EXISTS(SELECT * FROM \"{table.name}\" WHERE pk = 'a' AND n = 1)")["Responses"]
    assert response == failed("ValidationError", "EXISTS can only be used in ExecuteTransaction write requests.")


def test_a_batch_reads_or_writes(batch, table):
    with invalid("Read and write requests together in the same batch is not supported."):
        batch(f"SELECT * FROM \"{table.name}\" WHERE pk = 'a'", f"DELETE FROM \"{table.name}\" WHERE pk = 'b'")


def test_an_item_may_be_named_once(batch, sorted_table):
    name = f'"{sorted_table.name}"'
    twice = "Provided list of item keys contains duplicates"
    with invalid(twice):
        batch(f"SELECT * FROM {name} WHERE pk = 'a' AND sk = 1", f"SELECT sk FROM {name} WHERE sk = 1.0 AND pk = 'a'")
    with invalid(twice):
        batch(f"DELETE FROM {name} WHERE pk = 'a' AND sk = 1", f"INSERT INTO {name} VALUE {{'pk': 'a', 'sk': 1e0}}")
    assert sorted_table.get(pk="a", sk=1) is None


def test_a_batch_has_one_to_twenty_five_statements(batch):
    statement = "SELECT * FROM t WHERE pk = 'a'"
    with invalid(containing="Member must have length greater than or equal to 1"):
        batch()
    with invalid(containing="Member must have length less than or equal to 25"):
        batch(*[statement] * 26)


def test_the_item_of_a_failed_condition_is_returned_when_asked_for(batch, table):
    table.put(pk="a", n=1)
    statement = {"Statement": f"UPDATE \"{table.name}\" SET n = 2 WHERE pk = 'a' AND n = 5"}
    (response,) = batch(statement | {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"})["Responses"]
    assert response["Error"]["Item"] == item(pk="a", n=1)


# -- capacity ---------------------------------------------------------------------------------------------------------


def test_reads_are_charged_by_their_own_consistency(batch, table):
    table.put(pk="a")
    weak = {"Statement": f"SELECT * FROM \"{table.name}\" WHERE pk = 'a'"}
    strong = {"Statement": f"SELECT * FROM \"{table.name}\" WHERE pk = 'b'", "ConsistentRead": True}
    response = batch(weak, strong, ReturnConsumedCapacity="TOTAL")
    assert response["ConsumedCapacity"] == [{"TableName": table.name, "CapacityUnits": 1.5}]


def test_failed_writes_count_only_in_the_total_and_beside_a_success(batch, make_table):
    table, other = make_table("pk:S", gsi={"gsi1": "g:S"}), make_table("pk:S")
    table.put(pk="large", fill="x" * 2500)
    insert = f"INSERT INTO \"{table.name}\" VALUE {{'pk': '%s', 'g': 'x'}}"
    response = batch(
        insert % "new",
        insert % "large",
        f"UPDATE \"{table.name}\" SET n = 1 WHERE pk = 'missing'",
        f"UPDATE \"{other.name}\" SET n = 1 WHERE pk = 'missing'",
        ReturnConsumedCapacity="INDEXES",
    )
    assert response["ConsumedCapacity"] == [
        {
            "TableName": table.name,
            "CapacityUnits": 6.0,
            "Table": {"CapacityUnits": 1.0},
            "GlobalSecondaryIndexes": {"gsi1": {"CapacityUnits": 1.0}},
        }
    ]


def test_a_batch_in_which_all_fail_reports_no_capacity(batch, table):
    response = batch(f"UPDATE \"{table.name}\" SET n = 1 WHERE pk = 'x'", ReturnConsumedCapacity="TOTAL")
    assert "ConsumedCapacity" not in response
