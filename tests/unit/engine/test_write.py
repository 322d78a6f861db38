"""Cases of the write path that random writes rarely produce: lengths of index keys, and writes that change nothing."""

import pytest

from hashrange.core import numbers
from tests.conformance.wire import item

HASH_TOO_LONG = (
    "ValidationException: One or more parameter values were invalid: "
    "Size of hashkey has exceeded the maximum size limit of2048 bytes"
)
RANGE_TOO_LONG = (
    "ValidationException: One or more parameter values were invalid: "
    "Aggregated size of all range keys has exceeded the size limit of 1024 bytes"
)
INDEXES = {"one": "h:S / r:S", "many": "a:S,b:S / c:S,d:N"}
FITTING = {
    "a hash": {"h": "h" * 2048, "r": "r"},
    "a range": {"h": "h", "r": "r" * 1024},
    "nothing but NUL": {"h": "\x00" * 2048, "r": "\x00" * 1024},
    "two hashes": {"a": "a" * 2000, "b": "b" * 48, "c": "c", "d": 1},
    "two hashes of NUL": {"a": "\x00" * 1024, "b": "\x00" * 1024, "c": "c", "d": 1},
    "a text and a number": {"a": "a", "b": "b", "c": "\x00" * 1004, "d": int("7" * 38)},
}
TOO_LONG = {
    "a hash": ({"h": "h" * 2049, "r": "r"}, HASH_TOO_LONG),
    "a range": ({"h": "h", "r": "r" * 1025}, RANGE_TOO_LONG),
    "bytes, not characters": ({"h": "é" * 1025, "r": "r"}, HASH_TOO_LONG),
    "two hashes": ({"a": "a" * 2000, "b": "b" * 49, "c": "c", "d": 1}, HASH_TOO_LONG),
    "a text and a number": ({"a": "a", "b": "b", "c": "c" * 1005, "d": int("7" * 38)}, RANGE_TOO_LONG),
}


@pytest.fixture
def indexed(local):
    local.create(gsi=INDEXES)
    return local


def count_entries(local):
    return sum(index["ItemCount"] for index in local.describe()["GlobalSecondaryIndexes"])


def update_request(attributes):
    return {
        "TableName": "tab",
        "Key": item(pk="x"),
        "UpdateExpression": "SET " + ", ".join(f"{name} = :{name}" for name in attributes),
        "ExpressionAttributeValues": {f":{name}": value for name, value in item(**attributes).items()},
    }


@pytest.mark.parametrize("attributes", FITTING.values(), ids=FITTING)
def test_index_keys_up_to_the_limit_are_in_the_index_however_they_are_written(indexed, attributes):
    indexed.put(pk="put", **attributes)
    assert count_entries(indexed) == 1
    indexed.call("UpdateItem", **update_request(attributes))
    assert count_entries(indexed) == 2
    name = "many" if "a" in attributes else "one"
    assert len(indexed.items(index=name)) == 2


@pytest.mark.parametrize(("attributes", "text"), TOO_LONG.values(), ids=TOO_LONG)
def test_longer_index_keys_are_refused_however_they_are_written(indexed, attributes, text):
    assert indexed.refusal("PutItem", TableName="tab", Item=item(pk="x", **attributes)) == text
    batch = {"tab": [{"PutRequest": {"Item": item(pk="x", **attributes)}}]}
    assert indexed.refusal("BatchWriteItem", RequestItems=batch) == text
    assert indexed.refusal("UpdateItem", **update_request(attributes)) == text
    assert indexed.items() == []


def test_an_update_that_leaves_the_index_key_alone_is_not_held_up_by_it(local):
    local.create()
    local.put(pk="x", h="h" * 3000, r="r")
    local.call(
        "UpdateTable",
        TableName="tab",
        AttributeDefinitions=[{"AttributeName": "h", "AttributeType": "S"}],
        GlobalSecondaryIndexUpdates=[
            {
                "Create": {
                    "IndexName": "late",
                    "KeySchema": [{"AttributeName": "h", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            }
        ],
    )
    local.set({"pk": "x"}, other="changed")
    assert local.items(index="late") == []
    assert local.refusal("UpdateItem", **update_request({"h": "h" * 3001})) == HASH_TOO_LONG


def test_a_write_that_changes_nothing_leaves_no_trace(indexed):
    indexed.put(pk="x", h="h", r="r", n={"N": "1.50"})
    written = indexed.engine.written
    indexed.put(pk="x", h="h", r="r", n={"N": "15e-1"})
    indexed.delete(pk="nothing")
    indexed.call("UpdateItem", TableName="tab", Key=item(pk="nothing"), UpdateExpression="REMOVE h")
    indexed.call("UpdateItem", **update_request({"h": "h"}))
    assert indexed.engine.written == written
    assert indexed.describe()["ItemCount"] == 1


def test_numbers_written_with_zeros_without_end_are_not_kept_in_memory(local):
    local.create()
    kept = numbers.normalize_short.cache_info().currsize
    local.put(pk="x", n={"N": "0" * 100_000 + "7"})
    assert local.items() == [item(pk="x", n=7)]
    assert max(map(len, numbers.KNOWN_SIZES)) <= numbers.SHORT
    assert numbers.normalize_short.cache_info().currsize == kept
