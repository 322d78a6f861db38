"""The fast check: which requests need no conversion."""

import copy
from functools import partial

import pytest

from hashrange.core.errors import ServiceError
from hashrange.engine import shape
from tests.conformance.wire import item
from tests.unit.engine.local import Local
from tests.unit.engine.shape.conversion import convert

TABLE = {"TableName": "orders"}
KEY = {**TABLE, "Key": {"pk": {"S": "a"}}}
ARN = "arn:aws:dynamodb:eu-west-2:000000000000:table/orders"

ACCEPTED = [
    ("GetItem", KEY),
    ("GetItem", {**KEY, "TableName": ARN}),
    ("GetItem", {**KEY, "TableName": "a"}),
    ("GetItem", {**KEY, "ConsistentRead": True, "AttributesToGet": ["a"], "ReturnConsumedCapacity": "TOTAL"}),
    ("PutItem", {**TABLE, "Item": {}}),
    ("PutItem", {**TABLE, "Item": {"pk": {"N": "not a number"}}}),
    ("PutItem", {**TABLE, "Item": {}, "Expected": {"a": {"Exists": False}}}),
    ("UpdateItem", {**KEY, "UpdateExpression": "", "ReturnValues": "UPDATED_NEW"}),
    ("Query", {**TABLE, "Limit": 1, "KeyConditions": {"a": {"ComparisonOperator": "NULL"}}}),
    ("Scan", {**TABLE, "Segment": 0, "TotalSegments": 1_000_000}),
    ("ListTables", {}),
    ("ListTables", {"ExclusiveStartTableName": "abc", "Limit": 100}),
    ("DescribeTable", {"TableName": ARN}),
    ("BatchWriteItem", {"RequestItems": {"t": [{}] * 25}}),
    ("BatchGetItem", {"RequestItems": {ARN: {"Keys": [{}] * 100}}}),
    ("TransactGetItems", {"TransactItems": [{"Get": KEY}] * 100}),
    ("TagResource", {"ResourceArn": ARN, "Tags": [{}]}),
    ("UntagResource", {"ResourceArn": ARN, "TagKeys": ["", "k" * 200]}),
    ("ListBackups", {"TimeRangeLowerBound": 1.5, "TimeRangeUpperBound": 2}),
    ("GetRecords", {"ShardIterator": "i", "Limit": 1000}),
]

DECLINED = [
    ("GetItem", []),
    ("GetItem", TABLE),
    ("GetItem", {**KEY, "Unknown": 1}),
    ("GetItem", {**KEY, "ConsistentRead": None}),
    ("GetItem", {**KEY, "ConsistentRead": 1}),
    ("GetItem", {**KEY, "ConsistentRead": "true"}),
    ("GetItem", {**KEY, "TableName": ""}),
    ("GetItem", {**KEY, "TableName": "a b"}),
    ("GetItem", {**KEY, "TableName": "a" * 256}),
    ("GetItem", {**KEY, "TableName": "orders\n"}),
    ("GetItem", {**KEY, "TableName": "arn:" + "a" * 1021}),
    ("GetItem", {**KEY, "TableName": ["orders"]}),
    ("GetItem", {**KEY, "AttributesToGet": []}),
    ("GetItem", {**KEY, "AttributesToGet": [None]}),
    ("GetItem", {**KEY, "ReturnConsumedCapacity": "ALL"}),
    ("GetItem", {**KEY, "ReturnConsumedCapacity": {}}),
    ("GetItem", {**TABLE, "Key": "pk"}),
    ("PutItem", {**TABLE, "Item": []}),
    ("PutItem", {**TABLE, "Item": {}, "ExpressionAttributeNames": {"#a": 1}}),
    ("PutItem", {**TABLE, "Item": {}, "Expected": {"a": {"Exists": "no"}}}),
    ("Query", {**TABLE, "Limit": 0}),
    ("Query", {**TABLE, "Limit": 1.0}),
    ("Query", {**TABLE, "Limit": True}),
    ("Query", {**TABLE, "IndexName": "ab"}),
    ("Query", {**TABLE, "KeyConditions": {"a": {}}}),
    ("Scan", {**TABLE, "TotalSegments": 1_000_001}),
    ("ListTables", {"ExclusiveStartTableName": ARN}),
    ("DescribeTable", {"TableName": "ab"}),
    ("BatchWriteItem", {"RequestItems": {}}),
    ("BatchWriteItem", {"RequestItems": {"t": []}}),
    ("BatchWriteItem", {"RequestItems": {"t": [{}] * 26}}),
    ("BatchWriteItem", {"RequestItems": {"a b": [{}]}}),
    ("BatchWriteItem", {"RequestItems": {"t": [{"PutRequest": {}}]}}),
    ("BatchGetItem", {"RequestItems": {"t": {"Keys": [{}] * 101}}}),
    ("TransactWriteItems", {"TransactItems": [{"Put": {"TableName": "t"}}]}),
    ("CreateTable", {"TableName": "orders"}),
    ("GetRecords", {"ShardIterator": "i", "Limit": 1001}),
]


@pytest.mark.parametrize(("operation", "request_"), ACCEPTED)
def test_a_request_in_order_is_accepted_and_converts_to_itself(operation, request_):
    assert shape.accept(operation, request_)
    assert convert(operation, request_) == request_


@pytest.mark.parametrize(("operation", "request_"), DECLINED)
def test_a_request_to_convert_or_refuse_is_not_accepted(operation, request_):
    assert not shape.accept(operation, request_)


def test_attribute_values_and_what_is_inside_are_left_to_the_engine():
    assert shape.accept("GetItem", {**TABLE, "Key": {"pk": "a"}})
    assert shape.accept("PutItem", {**TABLE, "Item": {"pk": None}})
    assert shape.accept("PutItem", {**TABLE, "Item": {"a": {"S": 1}}})
    assert shape.accept("PutItem", {**TABLE, "Item": {"a": {"L": "not a list", "What": None}}})


def place_values(values):
    """Requests of all kinds that have these values where attribute values belong."""
    name = {"TableName": "tab"}
    put, key = {"Item": {"pk": {"S": "a"}, **values}}, {"Key": {"pk": {"S": "a"}, **values}}
    texts = {"ConditionExpression": "attribute_exists(pk) AND pk = :v"}
    return [
        ("PutItem", name | put),
        ("PutItem", name | {"Item": values}),
        ("GetItem", name | key),
        ("GetItem", name | {"Key": values}),
        ("DeleteItem", name | key),
        ("UpdateItem", name | key),
        ("PutItem", name | {"Item": {"pk": {"S": "a"}}} | texts | {"ExpressionAttributeValues": {":v": values["v"]}}),
        (
            "Query",
            name | {"KeyConditionExpression": "pk = :v", "ExpressionAttributeValues": {":v": values["v"]}},
        ),
        ("Scan", name | {"ExclusiveStartKey": values}),
        ("BatchGetItem", {"RequestItems": {"tab": {"Keys": [values]}}}),
        (
            "BatchWriteItem",
            {"RequestItems": {"tab": [{"PutRequest": {"Item": {"pk": {"S": "b"}}}}, {"PutRequest": put}]}},
        ),
        ("BatchWriteItem", {"RequestItems": {"tab": [{"DeleteRequest": {"Key": values}}]}}),
        ("TransactGetItems", {"TransactItems": [{"Get": name | key}]}),
        ("TransactWriteItems", {"TransactItems": [{"Put": name | {"Item": {"pk": {"S": "b"}}}}, {"Put": name | put}]}),
        (
            "TransactWriteItems",
            {"TransactItems": [{"ConditionCheck": name | key | {"ConditionExpression": "pk = pk"}}]},
        ),
    ]


@pytest.mark.parametrize("value", ["a", "S", "", 1, 1.5, True, [], ["S"], [{"S": "a"}], None])
def test_what_is_no_attribute_value_is_answered_as_the_shape_words_it(value):
    local = Local()
    local.create()
    for operation, request in place_values({"v": value}):
        assert outcome(local.call, operation, request) == outcome(partial(convert_and_call, local), operation, request)
    assert local.items() in ([], [item(pk="a")], [item(pk="a"), item(pk="b")])
    local.close()


def convert_and_call(local, operation, **request):
    return local.call(operation, **convert(operation, request))  # a null becomes a value without a type


def outcome(call, operation, request):
    try:
        return call(operation, **copy.deepcopy(request))
    except ServiceError as refusal:
        return refusal.name, refusal.message
