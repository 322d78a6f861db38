"""ExecuteTransaction: statements that all happen or none, or read as of one moment."""

import secrets

import pytest

from tests.conformance.refusal import invalid, refused
from tests.conformance.statement import member
from tests.conformance.table import new_name
from tests.conformance.wire import item, nest, value

NEEDS_KEY = "Select statements within ExecuteTransaction must specify the primary key in the where clause."
NOT_A_CHECK = "EXISTS() must contain a single item read with additional condition"
MISMATCH = "The provided key element does not match the schema"
TWICE = "Transaction request cannot include multiple operations on one item"
FINE = {"Code": "None"}
FAILED = {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}
NOT_FOUND = {"Code": "ResourceNotFound", "Message": "Requested resource not found"}


@pytest.fixture
def transact(client):
    """`transact(statement, (statement, [parameters]), {member}, ...)`."""

    def execute(*members, **options):
        return client.execute_transaction(TransactStatements=[member(each) for each in members], **options)

    return execute


def cancelled(*codes):
    text = f"Transaction cancelled, please refer cancellation reasons for specific reasons [{', '.join(codes)}]"
    return refused("TransactionCanceledException", text)


def reasons(caught):
    return caught.value.response["CancellationReasons"]


def failed(text, position=0):
    return invalid(f"Validation failed in TransactStatements[{position}]: {text}")


@pytest.fixture
def name(sorted_table):
    """The quoted name of a table with the item (a, 1)."""
    sorted_table.put(pk="a", sk=1, flag="x")
    return f'"{sorted_table.name}"'


# -- writes -----------------------------------------------------------------------------------------------------------


def test_writes_happen_together_and_answer_nothing(transact, sorted_table, name):
    sorted_table.put(pk="b", sk=1)
    response = transact(
        f"INSERT INTO {name} VALUE {{'pk': 'n', 'sk': 1}}",
        (f"UPDATE {name} SET n = ? WHERE pk = 'a' AND sk = 1", [5]),
        f"FROM {name} WHERE pk = 'b' AND sk = 1 SET s = set_add(s, <<'x'>>)",
        f"DELETE FROM {name} WHERE pk = 'none' AND sk = 1 AND x = 'y'",
    )
    assert response["Responses"] == []
    assert sorted_table.get(pk="n", sk=1) == item(pk="n", sk=1)
    assert sorted_table.get(pk="a", sk=1)["n"] == {"N": "5"}
    assert sorted_table.get(pk="b", sk=1)["s"] == {"SS": ["x"]}


def test_every_failed_condition_is_a_reason(transact, sorted_table, name):
    update = f"UPDATE {name} SET n = 1 WHERE pk = 'a' AND sk = 1 AND flag = 'y'"
    with cancelled("DuplicateItem", "None", "ConditionalCheckFailed") as caught:
        transact(
            f"INSERT INTO {name} VALUE {{'pk': 'a', 'sk': 1}}",
            f"INSERT INTO {name} VALUE {{'pk': 'n', 'sk': 1}}",
            {"Statement": update.replace("'a'", "'b'"), "ReturnValuesOnConditionCheckFailure": "ALL_OLD"},
        )
    duplicate = {"Code": "DuplicateItem", "Message": "Duplicate primary key exists in table"}
    assert reasons(caught) == [duplicate, FINE, FAILED]
    assert sorted_table.get(pk="n", sk=1) is None
    with cancelled("ConditionalCheckFailed") as caught:
        transact({"Statement": update, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"})
    assert reasons(caught) == [FAILED | {"Item": item(pk="a", sk=1, flag="x")}]


def test_exists_checks_a_condition_on_another_item(transact, sorted_table, name):
    sorted_table.put(pk="b", sk=1)
    write = f"UPDATE {name} SET n = 1 WHERE pk = 'b' AND sk = 1"
    transact(f"EXISTS(SELECT * FROM {name} WHERE (pk = 'a' AND sk = 1) AND nope IS MISSING)", write)
    assert sorted_table.get(pk="b", sk=1)["n"] == {"N": "1"}
    for condition in ("flag IS MISSING", "pk = 'b' AND flag = 'x'"):
        with cancelled("ConditionalCheckFailed", "None") as caught:
            transact(f"EXISTS(SELECT * FROM {name} WHERE pk = 'a' AND sk = 1 AND {condition})", write)
        assert reasons(caught) == [FAILED, FINE]


def test_exists_on_a_missing_item_sees_nothing(transact, name):
    write = f"UPDATE {name} SET n = 1 WHERE pk = 'a' AND sk = 1"
    transact(f"EXISTS(SELECT * FROM {name} WHERE pk = 'none' AND sk = 1 AND x IS MISSING)", write)
    with cancelled("ConditionalCheckFailed", "None"):
        transact(f"EXISTS(SELECT * FROM {name} WHERE pk = 'none' AND sk = 1 AND x = 1)", write)


@pytest.mark.parametrize(
    "clause", ["pk = 'b' AND sk = 1", "pk = 'b' AND x = 1", "pk IN ['b'] AND sk = 1 AND x = 1", "x = 1"]
)
def test_exists_needs_a_key_and_a_condition(transact, name, clause):
    with failed(NOT_A_CHECK):
        transact(f"EXISTS(SELECT * FROM {name} WHERE {clause})", f"DELETE FROM {name} WHERE pk = 'a' AND sk = 1")


def test_a_write_that_does_not_name_its_item_cancels(transact, name):
    update = f"UPDATE {name} SET n = 1 WHERE "
    with cancelled("ValidationError", "ValidationError", "ValidationError", "ValidationError", "None") as caught:
        transact(
            update + "pk = 'a'",
            update + "pk IN ['a'] AND sk = 1",
            update + "pk = 'a' AND sk = 1 AND pk = 'b'",
            update + "pk = 'a' AND sk = '1'",
            update + "pk = 'a' AND sk = 1",
        )
    assert [reason.get("Message") for reason in reasons(caught)] == [MISMATCH] * 4 + [None]
    with cancelled("ValidationError", "ValidationError") as caught:
        transact(f"INSERT INTO {name} VALUE {{'pk': 'a'}}", f"DELETE FROM {name} WHERE sk = 1")
    assert reasons(caught)[0]["Message"] == "One or more parameter values were invalid: Missing the key sk in the item"


def test_an_update_that_cannot_be_applied_cancels(transact, table):
    table.put(pk="a", m={"M": {}}, s="x")
    deep = (f"UPDATE \"{table.name}\" SET m.deep = ? WHERE pk = 'a'", [nest(31, value("x"))])
    with cancelled("ValidationError") as caught:
        transact(deep)
    assert reasons(caught)[0]["Message"] == "Nesting Levels have exceeded supported limits"


def test_an_item_may_be_written_once(transact, name):
    with invalid(TWICE):
        transact(
            f"UPDATE {name} SET n = 1 WHERE pk = 'a' AND sk = 1",
            f"EXISTS(SELECT * FROM {name} WHERE sk = 1.0 AND pk = 'a' AND flag = 'x')",
        )


# -- reads ------------------------------------------------------------------------------------------------------------


def test_reads_come_in_the_order_asked(transact, sorted_table, name):
    sorted_table.put(pk="b", sk=1, m={"x": 1})
    response = transact(
        f"SELECT m.x FROM {name} WHERE pk = 'b' AND sk = 1",
        f"SELECT * FROM {name} WHERE pk = 'none' AND sk = 1",
        (f"SELECT * FROM {name} WHERE pk = ? AND sk IN [1]", ["a"]),
    )
    assert response["Responses"] == [{"Item": item(x=1)}, {}, {"Item": item(pk="a", sk=1, flag="x")}]


@pytest.mark.parametrize(
    "clause",
    [
        "pk = 'a'",
        "pk = 'a' AND sk = 1 AND flag = 'x'",
        "pk = 'a' AND sk = 1 AND pk = 'b'",
        "pk IN ['b'] AND pk = 'a' AND sk = 1",
        "pk = 'a' AND sk = 1 AND attribute_exists(flag)",
    ],
)
def test_a_read_names_its_item_by_nothing_but_the_key(transact, name, clause):
    with failed(NEEDS_KEY):
        transact(f"SELECT * FROM {name} WHERE {clause}")


def test_a_key_of_another_type_cancels_before_an_item_read_twice(transact, name):
    select = f"SELECT * FROM {name} WHERE pk = 'a' AND sk = 1"
    with cancelled("None", "None", "ValidationError") as caught:
        transact(select, select, f"SELECT * FROM {name} WHERE pk = 1 AND sk = 1")
    assert reasons(caught)[2]["Message"] == MISMATCH
    with invalid(TWICE):
        transact(select, f"SELECT flag FROM {name} WHERE sk = 1 AND pk = 'a'")


def test_reads_are_charged_double(transact, sorted_table, name):
    response = transact(
        f"SELECT * FROM {name} WHERE pk = 'a' AND sk = 1",
        f"SELECT * FROM {name} WHERE pk = 'none' AND sk = 1",
        ReturnConsumedCapacity="TOTAL",
    )
    units = {"CapacityUnits": 4.0, "ReadCapacityUnits": 4.0}
    assert response["ConsumedCapacity"] == [{"TableName": sorted_table.name} | units]


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("SELECT * FROM {} WHERE", "Statement wasn't well formed, can't be processed: Unexpected term"),
        (
            "UPDATE {} SET n = 1 WHERE pk = 'a' AND sk = 1 RETURNING ALL NEW *",
            "RETURNING clause is not supported in ExecuteTransaction.",
        ),
        ("SELECT * FROM {}.idx WHERE pk = 'a' AND sk = 1", "Reads on indices are not supported within transactions."),
        ("UPDATE {}.idx SET n = 1 WHERE pk = 'a' AND sk = 1", "This operation is not supported on an index"),
        (
            "UPDATE {} SET n = n + [1] WHERE pk = 'a' AND sk = 1",
            "Incorrect operand type for operator or function; operator or function: +, operand type: L",
        ),
        (
            "SELECT * FROM {} WHERE pk IN ['a', 'a'] AND sk = 1",
            "Overlapping conditions with range keys are not supported in where clause",
        ),
        (
            "INSERT INTO {} VALUE {{'pk': 'x', 'sk': 1, 'x': [<<'a', 'a'>>]}}",
            "One or more parameter values were invalid: Input collection [a, a] contains duplicates.",
        ),
    ],
)
def test_a_refused_statement_is_numbered(transact, name, statement, text):
    with failed(text):
        transact(statement.format(name))


def test_the_number_is_that_of_the_statement(transact, name):
    with failed("RETURNING clause is not supported in ExecuteTransaction.", position=1):
        transact(
            f"DELETE FROM {name} WHERE pk = 'b' AND sk = 1", f"DELETE FROM {name} WHERE pk = 'a' RETURNING ALL OLD *"
        )


def test_parameters_are_checked_first_and_not_numbered(transact, name):
    with invalid("One or more parameter values were invalid: Input collection [a, a] contains duplicates."):
        transact(f"SELECT * FROM {name} WHERE", (f"INSERT INTO {name} VALUE {{'pk': ?}}", [{"SS": ["a", "a"]}]))


def test_a_transaction_reads_or_writes(transact, name):
    with invalid("ExecuteTransaction API does not support both read and write operations in the same request."):
        transact(f"SELECT * FROM {name} WHERE pk = 'a' AND sk = 1", f"DELETE FROM {name} WHERE pk = 'b' AND sk = 1")


def test_a_missing_table_cancels(transact, sorted_table, name):
    missing = f'"{new_name()}"'
    update = f"UPDATE {missing} SET a = 1 WHERE pk = 'x'"
    with cancelled("ResourceNotFound", "ResourceNotFound") as caught:
        transact(f"{update} RETURNING ALL NEW *", f"DELETE FROM {missing} WHERE pk = 'x'")
    assert reasons(caught) == [NOT_FOUND] * 2
    with cancelled("None", "ResourceNotFound") as caught:
        transact(f"SELECT * FROM {name} WHERE pk = 'a' AND sk = 1", f"SELECT * FROM {missing}.idx WHERE pk = 'x'")
    assert reasons(caught) == [FINE, NOT_FOUND]
    with failed("RETURNING clause is not supported in ExecuteTransaction.", position=1):
        transact(update, f"UPDATE {name} SET a = 1 WHERE pk = 'a' AND sk = 1 RETURNING ALL NEW *")
    assert sorted_table.get(pk="a", sk=1) == item(pk="a", sk=1, flag="x")


def test_a_transaction_has_one_to_a_hundred_statements(transact):
    with invalid(containing="Member must have length greater than or equal to 1"):
        transact()
    with invalid(containing="Member must have length less than or equal to 100"):
        transact(*["SELECT * FROM t WHERE pk = 'a'"] * 101)


# -- tokens and capacity ----------------------------------------------------------------------------------------------


def test_a_token_makes_a_repetition_harmless(transact, table):
    table.put(pk="a", n=0)
    token = {"ClientRequestToken": secrets.token_hex(8)}
    statement = f"UPDATE \"{table.name}\" SET n = n + 1 WHERE pk = 'a'"
    first = transact(statement, **token, ReturnConsumedCapacity="TOTAL")
    again = transact(statement, **token, ReturnConsumedCapacity="TOTAL")
    assert table.get(pk="a") == item(pk="a", n=1)
    assert (first["Responses"], again["Responses"]) == ([], [])
    assert first["ConsumedCapacity"][0]["WriteCapacityUnits"] == 2.0
    assert again["ConsumedCapacity"][0]["ReadCapacityUnits"] == 2.0
    with refused("IdempotentParameterMismatchException"):
        transact(statement.replace("+ 1", "+ 2"), **token)
    assert table.get(pk="a") == item(pk="a", n=1)


def test_writes_are_charged_double_on_the_table_alone(transact, make_table):
    table = make_table("pk:S", gsi={"gsi1": "g:S"})
    table.put(pk="c", fill="x" * 1500)
    response = transact(
        f"INSERT INTO \"{table.name}\" VALUE {{'pk': 'a', 'g': 'x'}}",
        f"EXISTS(SELECT * FROM \"{table.name}\" WHERE pk = 'c' AND nope IS MISSING)",
        ReturnConsumedCapacity="INDEXES",
    )
    (report,) = response["ConsumedCapacity"]
    assert report["Table"] == {"CapacityUnits": 6.0, "WriteCapacityUnits": 6.0}
    assert report["GlobalSecondaryIndexes"] == {"gsi1": {"CapacityUnits": 1.0, "WriteCapacityUnits": 1.0}}
