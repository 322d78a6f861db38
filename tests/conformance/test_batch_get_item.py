"""BatchGetItem: up to 100 items of any tables, each found or left out."""

import pytest

from tests.conformance.refusal import INVALID, invalid, not_found
from tests.conformance.table import new_name
from tests.conformance.wire import item


def keys(*names):
    return [item(pk=name) for name in names]


def test_items_of_several_tables_come_in_one_answer(client, make_table):
    one, two = make_table("pk:S"), make_table("pk:S / sk:N")
    one.put(pk="a", n=1)
    two.put(pk="a", sk=1)
    wanted = {one.name: {"Keys": keys("a")}, two.name: {"Keys": [item(pk="a", sk=1), item(pk="a", sk=2)]}}
    response = client.batch_get_item(RequestItems=wanted)
    assert response["Responses"] == {one.name: [item(pk="a", n=1)], two.name: [item(pk="a", sk=1)]}
    assert response["UnprocessedKeys"] == {}


def test_a_table_without_hits_has_an_empty_list(client, table):
    response = client.batch_get_item(RequestItems={table.name: {"Keys": keys("a")}})
    assert (response["Responses"], response["UnprocessedKeys"]) == ({table.name: []}, {})


def test_each_table_has_its_own_projection(client, make_table):
    one, two = make_table("pk:S"), make_table("pk:S")
    for table in (one, two):
        table.put(pk="a", n=1, m={"x": 1, "y": 2})
    wanted = {
        one.name: {"Keys": keys("a"), "ProjectionExpression": "#m.x", "ExpressionAttributeNames": {"#m": "m"}},
        two.name: {"Keys": keys("a"), "ProjectionExpression": "n", "ConsistentRead": True},
    }
    response = client.batch_get_item(RequestItems=wanted)["Responses"]
    assert response == {one.name: [item(m={"x": 1})], two.name: [item(n=1)]}


def test_attributes_to_get_picks_whole_attributes(client, table):
    table.put(pk="a", n=1, o=2)
    wanted = {table.name: {"Keys": keys("a"), "AttributesToGet": ["n"]}}
    assert client.batch_get_item(RequestItems=wanted)["Responses"] == {table.name: [item(n=1)]}


def test_a_hundred_keys_are_fine_and_one_more_is_not(client, table):
    hundred = keys(*(f"{number}" for number in range(100)))
    table.put_all({"pk": f"{number}"} for number in range(100))
    response = client.batch_get_item(RequestItems={table.name: {"Keys": hundred}})
    assert len(response["Responses"][table.name]) == 100
    text = (
        f"1 validation error detected: Value at 'RequestItems.{table.name}.member.Keys' failed to satisfy constraint: "
        "Member must have length less than or equal to 100"
    )
    with invalid(text):
        client.batch_get_item(RequestItems={table.name: {"Keys": hundred + keys("more")}})


def test_a_hundred_keys_count_over_all_tables(client, make_table):
    one, two = make_table("pk:S"), make_table("pk:S")
    half = keys(*(f"{number}" for number in range(51)))
    with invalid("Too many items requested for the BatchGetItem call"):
        client.batch_get_item(RequestItems={one.name: {"Keys": half}, two.name: {"Keys": half}})


def test_what_does_not_fit_in_16_mb_is_left_for_another_call(client, table):
    for number in range(45):
        table.put(pk=f"{number}", fill="x" * 390_000)
    wanted = {table.name: {"Keys": keys(*(f"{number}" for number in range(45))), "ConsistentRead": True}}
    seen, rounds = set(), 0
    while wanted:
        response = client.batch_get_item(RequestItems=wanted)
        seen |= {found["pk"]["S"] for found in response["Responses"][table.name]}
        wanted = response["UnprocessedKeys"]
        assert not wanted or wanted[table.name]["ConsistentRead"] is True
        rounds += 1
    assert (len(seen), rounds) == (45, 2)


def test_a_key_may_be_asked_for_once(client, table):
    with invalid("Provided list of item keys contains duplicates"):
        client.batch_get_item(RequestItems={table.name: {"Keys": keys("a", "a")}})


def test_a_number_key_in_two_spellings_is_found_once(client, make_table):
    table = make_table("pk:N")
    table.put(pk=1000)
    wanted = {table.name: {"Keys": [{"pk": {"N": "1000"}}, {"pk": {"N": "1e3"}}]}}
    assert client.batch_get_item(RequestItems=wanted)["Responses"] == {table.name: [item(pk=1000)]}


@pytest.mark.parametrize("key", [{}, item(pk=1), item(pk="a", more="b")])
def test_a_key_must_be_exactly_the_tables_key(client, table, key):
    with invalid("The provided key element does not match the schema"):
        client.batch_get_item(RequestItems={table.name: {"Keys": [key]}})


def test_an_empty_key_value_is_refused(client, table):
    with invalid(containing="The AttributeValue for a key attribute cannot contain an empty string value. Key: pk"):
        client.batch_get_item(RequestItems={table.name: {"Keys": keys("")}})


def test_one_unknown_table_fails_the_whole_call(client, table):
    with not_found():
        client.batch_get_item(RequestItems={table.name: {"Keys": keys("a")}, new_name(): {"Keys": keys("a")}})


def test_nothing_asked_for_is_refused(client):
    text = (
        "1 validation error detected: Value at 'RequestItems' failed to satisfy constraint: "
        "Member must have length greater than or equal to 1"
    )
    with invalid(text):
        client.batch_get_item(RequestItems={})


def test_an_attribute_may_be_asked_for_once(client, table):
    with invalid(INVALID + "Duplicate value in attribute name: a"):
        client.batch_get_item(RequestItems={table.name: {"Keys": keys("a"), "AttributesToGet": ["a", "a"]}})


def test_capacity_is_summed_per_table_and_rounded_up_per_item(client, make_table):
    one, two = make_table("pk:S"), make_table("pk:S")
    one.put(pk="a", fill="x" * 5000)
    wanted = {one.name: {"Keys": keys("a", "b")}, two.name: {"Keys": keys("a"), "ConsistentRead": True}}
    response = client.batch_get_item(RequestItems=wanted, ReturnConsumedCapacity="TOTAL")
    consumed = {each["TableName"]: each["CapacityUnits"] for each in response["ConsumedCapacity"]}
    assert consumed == {one.name: 1.0 + 0.5, two.name: 1.0}


@pytest.mark.parametrize(("path", "named"), [("pk.b", "Key: pk"), ("pk[0]", "Key: pk"), ("a.b", "IndexKey: a")])
def test_a_key_attribute_is_no_document(client, make_table, path, named):
    table = make_table("pk:S", gsi={"gsi": "a:S"})
    text = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: "
    with invalid(text + named):
        client.batch_get_item(RequestItems={table.name: {"Keys": [item(pk="p")], "ProjectionExpression": path}})
