"""BatchWriteItem: up to 25 puts and deletes; all are checked before the first is done."""

import pytest

from tests.conformance.refusal import INVALID, invalid, not_found
from tests.conformance.table import new_name
from tests.conformance.wire import item, nest, sized_item


def put(**attributes):
    return {"PutRequest": {"Item": item(**attributes)}}


def delete(**key):
    return {"DeleteRequest": {"Key": item(**key)}}


def write(client, table, *requests, **options):
    return client.batch_write_item(RequestItems={table.name: list(requests)}, **options)


def test_puts_and_deletes_of_several_tables_happen_in_one_call(client, make_table):
    one, two = make_table("pk:S"), make_table("pk:S / sk:N")
    one.put(pk="old")
    response = client.batch_write_item(
        RequestItems={
            one.name: [put(pk="new", n=1), delete(pk="old"), delete(pk="never")],
            two.name: [put(pk="a", sk=1)],
        }
    )
    assert response["UnprocessedItems"] == {}
    assert one.scan()["Items"] == [item(pk="new", n=1)]
    assert two.scan()["Items"] == [item(pk="a", sk=1)]


def test_a_put_replaces_the_whole_item_in_table_and_indexes(client, make_table):
    table = make_table("pk:S", gsi={"gsi": "a:S"})
    table.put(pk="p", a="x", n=1)
    write(client, table, put(pk="p", a="y"))
    assert table.scan()["Items"] == table.scan(IndexName="gsi")["Items"] == [item(pk="p", a="y")]


def test_twenty_five_requests_are_fine_and_one_more_is_not(client, table):
    requests = [put(pk=f"{number}") for number in range(26)]
    write(client, table, *requests[:25])
    with invalid(containing="Member must have length less than or equal to 25"):
        write(client, table, *requests)
    assert table.scan()["Count"] == 25


def test_twenty_five_requests_count_over_all_tables(client, make_table):
    one, two = make_table("pk:S"), make_table("pk:S")
    with invalid("Too many items requested for the BatchWriteItem call"):
        client.batch_write_item(
            RequestItems={
                one.name: [put(pk=f"{number}") for number in range(13)],
                two.name: [put(pk=f"{number}") for number in range(13)],
            }
        )


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (put(pk=1), "The provided key element does not match the schema"),
        (put(other="a"), "The provided key element does not match the schema"),
        (delete(pk="a", more="b"), "The provided key element does not match the schema"),
        ({"PutRequest": {"Item": sized_item(409_601, pk="a")}}, "Item size has exceeded the maximum allowed size"),
        (put(pk="a", s={"SS": []}), INVALID + "An string set  may not be empty"),
        (put(pk="a", s={"SS": ["b", "a", "b"]}), INVALID + "Input collection [b, a, b] contains duplicates."),
        (put(pk="a", s={"NS": ["1", "1.0"]}), "Input collection contains duplicates"),
        (put(pk="a", n={"N": ""}), "The parameter cannot be converted to a numeric value"),
        (
            put(pk="a", d=nest(32, {"S": "x"})),
            (
                "Nesting Levels have exceeded supported limits: "
                "Attributes in the item have nested levels beyond supported limit"
            ),
        ),
        (put(pk="good"), "Provided list of item keys contains duplicates"),
        (delete(pk="good"), "Provided list of item keys contains duplicates"),
    ],
)
def test_one_bad_request_keeps_the_good_ones_from_being_done(client, table, wrong, text):
    with invalid(text):
        write(client, table, put(pk="good"), wrong)
    assert table.scan()["Items"] == []


def test_numerically_equal_keys_are_duplicates(client, make_table):
    table = make_table("pk:N")
    with invalid("Provided list of item keys contains duplicates"):
        write(client, table, put(pk={"N": "1000"}), put(pk={"N": "1e3"}))


def test_an_empty_key_value_is_refused(client, table):
    with invalid(containing="The AttributeValue for a key attribute cannot contain an empty string value. Key: pk"):
        write(client, table, put(pk=""))


def test_one_unknown_table_fails_the_whole_call(client, table):
    with not_found():
        client.batch_write_item(RequestItems={table.name: [put(pk="a")], new_name(): [put(pk="a")]})
    assert table.scan()["Items"] == []


def test_nothing_to_write_is_refused(client):
    with invalid():
        client.batch_write_item(RequestItems={})


def test_a_request_must_put_or_delete(client, table):
    with invalid(
        "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
    ):
        write(client, table, {})


def test_a_wrong_enum_is_reported(client, table):
    with invalid(containing="Member must satisfy enum value set: [INDEXES, TOTAL, NONE]"):
        write(client, table, put(pk="a"), ReturnConsumedCapacity="INVALID")


def test_capacity_is_summed_per_table(client, make_table):
    table = make_table("pk:S", gsi={"gsi": "a:S"})
    requests = [put(pk="1", a="x"), {"PutRequest": {"Item": sized_item(3000, pk="2")}}, delete(pk="3")]
    response = write(client, table, *requests, ReturnConsumedCapacity="INDEXES")
    assert response["ConsumedCapacity"] == [
        {
            "TableName": table.name,
            "CapacityUnits": 6.0,
            "Table": {"CapacityUnits": 5.0},
            "GlobalSecondaryIndexes": {"gsi": {"CapacityUnits": 1.0}},
        }
    ]


def test_collection_metrics_are_listed_per_table(client, make_table):
    table = make_table("pk:S / sk:S", lsi={"lsi": "pk:S / a:S"})
    response = write(client, table, put(pk="p", sk="s"), ReturnItemCollectionMetrics="SIZE")
    (metrics,) = response["ItemCollectionMetrics"][table.name]
    assert metrics["ItemCollectionKey"] == item(pk="p")
