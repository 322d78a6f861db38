"""The quick check: which requests go straight to the operation."""

import pytest

from hashrange.engine import shape

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
    ("GetItem", {**TABLE, "Key": {"pk": "a"}}),
    ("PutItem", {**TABLE, "Item": {"pk": None}}),
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
    assert shape.convert(operation, request_) == request_


@pytest.mark.parametrize(("operation", "request_"), DECLINED)
def test_a_request_to_convert_or_refuse_is_not_accepted(operation, request_):
    assert not shape.accept(operation, request_)


def test_what_is_inside_attribute_values_is_left_to_the_engine():
    assert shape.accept("PutItem", {**TABLE, "Item": {"a": {"S": 1}}})
    assert shape.accept("PutItem", {**TABLE, "Item": {"a": {"L": "not a list", "What": None}}})
