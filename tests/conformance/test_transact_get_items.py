"""TransactGetItems: several items at one moment, each in its place."""

import pytest

from tests.conformance.refusal import invalid, not_found, refused
from tests.conformance.table import new_name
from tests.conformance.wire import item


@pytest.fixture
def read(client):
    def run(*gets, **options):
        return client.transact_get_items(TransactItems=[{"Get": get} for get in gets], **options)

    return run


def get(table, /, projection=None, **key):
    action = {"TableName": table.name, "Key": item(**key)}
    return action | ({"ProjectionExpression": projection} if projection else {})


def test_answers_stand_in_the_order_of_the_request(read, make_table):
    one, two = make_table("pk:S"), make_table("pk:S / sk:N")
    one.put(pk="a", n=1)
    two.put(pk="b", sk=1)
    response = read(get(two, pk="b", sk=1), get(one, pk="missing"), get(one, pk="a"))
    assert response["Responses"] == [{"Item": item(pk="b", sk=1)}, {}, {"Item": item(pk="a", n=1)}]


def test_a_projection_that_finds_nothing_leaves_the_item_out(read, table):
    table.put(pk="a", n=1)
    response = read(get(table, "n", pk="a"))
    assert response["Responses"] == [{"Item": item(n=1)}]
    assert read(get(table, "absent", pk="a"))["Responses"] == [{}]


def test_an_item_is_read_once(read, table):
    with invalid("Transaction request cannot include multiple operations on one item"):
        read(get(table, pk="a"), get(table, pk="a"))


@pytest.mark.parametrize("key", [{}, {"pk": 1}, {"pk": "a", "more": "b"}])
def test_a_key_that_does_not_fit_the_table_is_a_reason(read, table, key):
    with refused("TransactionCanceledException") as caught:
        read(get(table, pk="fine"), get(table, **key))
    assert caught.value.response["CancellationReasons"] == [
        {"Code": "None"},
        {"Code": "ValidationError", "Message": "The provided key element does not match the schema"},
    ]


def test_an_empty_key_value_is_refused_as_a_whole(read, table):
    with invalid(containing="The AttributeValue for a key attribute cannot contain an empty string value."):
        read(get(table, pk=""))


def test_a_projection_that_makes_no_sense_is_refused_as_a_whole(read, table):
    with invalid('Invalid ProjectionExpression: Syntax error; token: "<EOF>", near: ","'):
        read(get(table, "a,", pk="a"))


def test_an_unknown_table_is_not_found_as_a_whole(read, table):
    with not_found():
        read(get(table, pk="a"), {"TableName": new_name(), "Key": item(pk="a")})


def test_a_hundred_items_are_fine_and_one_more_is_not(read, table):
    gets = [get(table, pk=f"{number}") for number in range(101)]
    assert read(*gets[:100])["Responses"] == [{}] * 100
    with invalid(containing="Member must have length less than or equal to 100"):
        read(*gets)


def test_a_key_that_is_too_long_cancels(read, table):
    text = "Transaction cancelled, please refer cancellation reasons for specific reasons [None, ValidationError]"
    with refused("TransactionCanceledException", text):
        read(get(table, pk="a"), get(table, pk="x" * 2_049))


def test_nothing_to_read_is_refused(read):
    with invalid():
        read()


def test_a_transactional_read_costs_two_units_per_4_kb_missing_items_included(read, table):
    table.put(pk="a", fill="x" * 5000)
    response = read(get(table, pk="a"), get(table, pk="missing"), ReturnConsumedCapacity="INDEXES")
    assert response["ConsumedCapacity"] == [
        {
            "TableName": table.name,
            "CapacityUnits": 6.0,
            "ReadCapacityUnits": 6.0,
            "Table": {"CapacityUnits": 6.0, "ReadCapacityUnits": 6.0},
        }
    ]


@pytest.mark.parametrize(("path", "named"), [("pk.b", "Key: pk"), ("pk[0]", "Key: pk"), ("a.b", "IndexKey: a")])
def test_a_key_attribute_is_no_document(client, make_table, path, named):
    table = make_table("pk:S", gsi={"gsi": "a:S"})
    text = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: "
    with invalid(text + named):
        client.transact_get_items(
            TransactItems=[{"Get": {"TableName": table.name, "Key": item(pk="p"), "ProjectionExpression": path}}]
        )
