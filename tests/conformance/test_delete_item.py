"""DeleteItem: the item is gone, whether or not it was there, unless a condition forbids it."""

import pytest

from tests.conformance.refusal import CONDITION_FAILED, ENVELOPE, invalid, not_found, refused
from tests.conformance.table import new_name
from tests.conformance.wire import item


def test_delete_removes_the_item_and_only_it(sorted_table):
    sorted_table.put(pk="a", sk=1)
    sorted_table.put(pk="a", sk=2)
    sorted_table.delete_item(Key=item(pk="a", sk=1))
    assert sorted_table.scan()["Items"] == [item(pk="a", sk=2)]


def test_deleting_what_is_not_there_succeeds(send, table):
    assert send("DeleteItem", {"TableName": table.name, "Key": item(pk="a")}) == (200, {})


def test_delete_takes_the_item_out_of_every_index(make_table):
    table = make_table("pk:S / sk:S", gsi={"gsi": "a:S"}, lsi={"lsi": "pk:S / b:S"})
    table.put(pk="p", sk="s", a="x", b="y")
    table.delete_item(Key=item(pk="p", sk="s"))
    for index in ("gsi", "lsi"):
        assert table.scan(IndexName=index)["Items"] == []


def test_all_old_returns_what_was_deleted_and_nothing_when_there_was_nothing(table):
    table.put(pk="a", n=1)
    assert table.delete_item(Key=item(pk="a"), ReturnValues="ALL_OLD")["Attributes"] == item(pk="a", n=1)
    assert "Attributes" not in table.delete_item(Key=item(pk="a"), ReturnValues="ALL_OLD")


def test_only_the_old_item_can_be_returned(table):
    with invalid(ENVELOPE + "ReturnValues can only be ALL_OLD or NONE"):
        table.delete_item(Key=item(pk="a"), ReturnValues="ALL_NEW")


def test_a_condition_that_fails_keeps_the_item(table):
    table.put(pk="a", n=1)
    values = {"ExpressionAttributeValues": item(**{":n": 2})}
    with refused("ConditionalCheckFailedException", CONDITION_FAILED):
        table.delete_item(Key=item(pk="a"), ConditionExpression="n = :n", **values)
    assert table.get(pk="a") == item(pk="a", n=1)
    table.delete_item(Key=item(pk="a"), ConditionExpression="n < :n", **values)
    assert table.get(pk="a") is None


def test_a_condition_on_a_missing_item_sees_an_empty_one(table):
    table.delete_item(Key=item(pk="a"), ConditionExpression="attribute_not_exists(pk)")
    with refused("ConditionalCheckFailedException", CONDITION_FAILED) as caught:
        table.delete_item(
            Key=item(pk="a"),
            ConditionExpression="attribute_exists(pk)",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    assert "Item" not in caught.value.response


def test_the_item_that_failed_the_condition_comes_with_the_refusal_when_asked_for(table):
    table.put(pk="a", n=1)
    with refused("ConditionalCheckFailedException") as caught:
        table.delete_item(
            Key=item(pk="a"),
            ConditionExpression="attribute_not_exists(n)",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    assert caught.value.response["Item"] == item(pk="a", n=1)


@pytest.mark.parametrize("key", [{}, item(pk=1), item(pk="a", more="b")])
def test_the_key_must_be_exactly_the_tables_key(table, key):
    with invalid("The provided key element does not match the schema"):
        table.delete_item(Key=key)


def test_an_empty_key_value_is_refused(table):
    text = (
        "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty "
        "string value. Key: pk"
    )
    with invalid(text):
        table.delete_item(Key=item(pk=""))


def test_an_unknown_table_is_not_found(client):
    with not_found():
        client.delete_item(TableName=new_name(), Key=item(pk="a"))


def test_a_condition_that_makes_no_sense_is_explained_in_the_envelope(table):
    text = "Invalid ConditionExpression: Invalid function name; function: exists"
    with invalid(ENVELOPE + text):
        table.delete_item(Key=item(pk="a"), ConditionExpression="exists(a)")


@pytest.mark.parametrize(("filling", "units"), [(10, 1.0), (1024, 2.0), (None, 1.0)])
def test_a_delete_costs_a_unit_per_kb_of_what_was_there(table, filling, units):
    if filling is not None:
        table.put(pk="a", fill="x" * filling)
    response = table.delete_item(Key=item(pk="a"), ReturnConsumedCapacity="TOTAL")
    assert response["ConsumedCapacity"] == {"TableName": table.name, "CapacityUnits": units}
