"""Member constraints in the general form: paths, quoted values, rules, order, and how many are listed."""

import pytest

from hashrange.core.errors import ValidationException
from hashrange.engine import shape
from tests.unit.engine.shape.conversion import convert

NAME = "[a-zA-Z0-9_.-]+"
ARN = "arn:aws:dynamodb:eu-west-2:000000000000:table/orders"
KEYS = [{"AttributeName": "pk", "KeyType": "HASH"}]
DEFINITIONS = [{"AttributeName": "pk", "AttributeType": "S"}]
TABLE = {"TableName": "orders", "KeySchema": KEYS, "AttributeDefinitions": DEFINITIONS}
INDEX = {"IndexName": "idx", "KeySchema": KEYS, "Projection": {}}


def refusal_of(operation, request):
    with pytest.raises(ValidationException) as caught:
        convert(operation, request)
    assert type(caught.value) is ValidationException
    assert not shape.accept(operation, request)
    return caught.value.message


def breach(value, path, rule):
    return f"Value {value} at '{path}' failed to satisfy constraint: {rule}"


def listed(*breaches):
    plural = "" if len(breaches) == 1 else "s"
    return f"{len(breaches)} validation error{plural} detected: {'; '.join(breaches)}"


def at_least(size, measure="length"):
    return f"Member must have {measure} greater than or equal to {size}"


def at_most(size, measure="length"):
    return f"Member must have {measure} less than or equal to {size}"


def one_of(*values):
    return f"Member must satisfy enum value set: [{', '.join(values)}]"


def test_a_missing_member_is_null_without_quotes():
    missing = breach("null", "backupArn", "Member must not be null")
    assert refusal_of("DeleteBackup", {}) == listed(missing)
    assert refusal_of("DeleteBackup", {"BackupArn": None}) == listed(missing)


@pytest.mark.parametrize(
    ("operation", "request_", "expected"),
    [
        ("ListTables", {"Limit": 0}, breach("'0'", "limit", at_least(1, "value"))),
        ("ListTables", {"Limit": 101}, breach("'101'", "limit", at_most(100, "value"))),
        ("Scan", {"TableName": "t", "Limit": 0}, breach("'0'", "limit", at_least(1, "value"))),
        ("Scan", {"TableName": "t", "Segment": -1}, breach("'-1'", "segment", at_least(0, "value"))),
        ("Scan", {"TableName": "t", "TotalSegments": 0}, breach("'0'", "totalSegments", at_least(1, "value"))),
        ("ExecuteStatement", {"Statement": ""}, breach("''", "statement", at_least(1))),
        ("ExecuteStatement", {"Statement": "s", "Limit": 0}, breach("'0'", "limit", at_least(1, "value"))),
        ("ExecuteStatement", {"Statement": "s", "Parameters": []}, breach("'[]'", "parameters", at_least(1))),
        ("GetRecords", {"ShardIterator": "i", "Limit": 1001}, breach("'1001'", "limit", at_most(1000, "value"))),
        ("ListStreams", {"Limit": 101}, breach("'101'", "limit", at_most(100, "value"))),
        ("DeleteBackup", {"BackupArn": "arn"}, breach("'arn'", "backupArn", at_least(37))),
        (
            "ListBackups",
            {"BackupType": "MINE"},
            breach("'MINE'", "backupType", one_of("USER", "SYSTEM", "AWS_BACKUP", "ALL")),
        ),
        (
            "UpdateTimeToLive",
            {"TableName": "orders", "TimeToLiveSpecification": {"AttributeName": ""}},
            "; ".join(
                [
                    breach("null", "timeToLiveSpecification.enabled", "Member must not be null"),
                    breach("''", "timeToLiveSpecification.attributeName", at_least(1)),
                ]
            ),
        ),
    ],
)
def test_limits_and_enums_are_told_with_the_value(operation, request_, expected):
    assert refusal_of(operation, request_).split(": ", 1)[1] == expected


@pytest.mark.parametrize("name", ["", "a!"])
def test_the_control_plane_tells_both_what_is_too_short_and_what_is_no_name(name):
    for operation, member in [("DescribeTable", "TableName"), ("ListTables", "ExclusiveStartTableName")]:
        path = member[0].lower() + member[1:]
        assert refusal_of(operation, {member: name}) == listed(
            breach(f"'{name}'", path, at_least(3)),
            breach(f"'{name}'", path, f"Member must satisfy regular expression pattern: {NAME}"),
        )


@pytest.mark.parametrize("operation", ["DescribeTable", "DeleteTable", "UpdateTable", "DescribeTimeToLive"])
def test_a_table_name_of_the_control_plane_has_three_to_255_characters(operation):
    assert refusal_of(operation, {"TableName": "ab"}) == listed(breach("'ab'", "tableName", at_least(3)))
    long = "a" * 256
    assert refusal_of(operation, {"TableName": long}) == listed(breach(f"'{long}'", "tableName", at_most(255)))
    assert convert(operation, {"TableName": ARN}) == {"TableName": ARN}


def test_an_arn_may_be_longer_than_a_name_but_not_endless():
    arn = ARN + "a" * 1000
    assert refusal_of("DescribeTable", {"TableName": arn}) == listed(breach(f"'{arn}'", "tableName", at_most(1024)))


@pytest.mark.parametrize("operation", ["Query", "Scan", "GetItem"])
def test_a_table_name_of_the_data_plane_has_one_to_255_characters(operation):
    key = {"Key": {}} if operation == "GetItem" else {}
    assert refusal_of(operation, {"TableName": "", **key}) == listed(breach("''", "tableName", at_least(1)))
    assert refusal_of(operation, {"TableName": "a;", **key}) == listed(
        breach("'a;'", "tableName", f"Member must satisfy regular expression pattern: {NAME}")
    )


def test_elements_are_counted_from_one_and_map_entries_go_by_their_key():
    request = {**TABLE, "KeySchema": [*KEYS, {"AttributeName": "sk", "KeyType": "SORT"}]}
    assert refusal_of("CreateTable", request) == listed(
        breach("'SORT'", "keySchema.2.member.keyType", one_of("HASH", "RANGE"))
    )
    request = {"TableName": "t", "QueryFilter": {"Colour": {"ComparisonOperator": "IS"}}}
    assert refusal_of("Query", request).startswith(
        "1 validation error detected: Value 'IS' at 'queryFilter.Colour.member.comparisonOperator' failed to satisfy "
        "constraint: Member must satisfy enum value set: [IN, NULL, BETWEEN, "
    )
    request = {"RequestItems": {"Orders": [{}, {"PutRequest": {}}]}}
    assert refusal_of("BatchWriteItem", request) == listed(
        breach("null", "requestItems.Orders.member.2.member.putRequest.item", "Member must not be null")
    )


def test_null_for_an_element_is_told_of_the_element():
    assert refusal_of("CreateTable", {**TABLE, "KeySchema": [None]}) == listed(
        breach("null", "keySchema.1.member", "Member must not be null")
    )


def test_plain_elements_are_told_of_their_list():
    projection = {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["a", ""]}
    request = {**TABLE, "LocalSecondaryIndexes": [{**INDEX, "Projection": projection}]}
    assert refusal_of("CreateTable", request) == listed(
        breach(
            "'[a, ]'",
            "localSecondaryIndexes.1.member.projection.nonKeyAttributes",
            f"Member must satisfy constraint: [{at_most(255)}, {at_least(1)}]",
        )
    )


def test_structures_are_echoed_as_java_prints_them():
    request = {**TABLE, "KeySchema": [{"AttributeName": name, "KeyType": "HASH"} for name in "abc"]}
    elements = ", ".join(f"KeySchemaElement(attributeName={name}, keyType=HASH)" for name in "abc")
    assert refusal_of("CreateTable", request) == listed(breach(f"'[{elements}]'", "keySchema", at_most(2)))


def test_attribute_values_are_echoed_with_all_their_types():
    statement = {"Statement": "s", "Parameters": [{"B": "YWJj"}, {"BOOL": True}]}
    message = refusal_of("ExecuteTransaction", {"TransactStatements": [statement] * 101})
    nothing = "sS=null, nS=null, bS=null, m=null, l=null, nULL=null"
    assert (
        "parameters=[AttributeValue(s=null, n=null, b=java.nio.HeapByteBuffer[pos=0 lim=3 cap=3], "
        f"{nothing}, bOOL=null), AttributeValue(s=null, n=null, b=null, {nothing}, bOOL=true)]"
    ) in message
    assert message.endswith(f"at 'transactStatements' failed to satisfy constraint: {at_most(100)}")


def test_no_more_than_ten_are_listed():
    request = {**TABLE, "KeySchema": [{}] * 2, "AttributeDefinitions": [{}] * 9}
    message = refusal_of("CreateTable", request)
    assert message.startswith("10 validation errors detected: ")
    assert message.count("; ") == 9


def test_what_is_wrong_with_a_list_comes_before_what_is_wrong_inside():
    request = {**TABLE, "KeySchema": [*KEYS, *KEYS, {"AttributeName": "x"}]}
    message = refusal_of("CreateTable", request)
    assert message.startswith("2 validation errors detected: Value '[")
    missing = breach("null", "keySchema.3.member.keyType", "Member must not be null")
    assert message.endswith(f"{at_most(2)}; {missing}")


@pytest.mark.parametrize(
    ("member", "value", "path", "order"),
    [
        ("BillingMode", "FREE", "billingMode", "PROVISIONED, PAY_PER_REQUEST"),
        ("TableClass", "BEST", "tableClass", "STANDARD, STANDARD_INFREQUENT_ACCESS"),
        (
            "StreamSpecification",
            {"StreamEnabled": True, "StreamViewType": "BAD"},
            "streamSpecification.streamViewType",
            "OLD_IMAGE, KEYS_ONLY, NEW_AND_OLD_IMAGES, NEW_IMAGE",
        ),
        (
            "AttributeDefinitions",
            [{"AttributeName": "pk", "AttributeType": "BOOL"}],
            "attributeDefinitions.1.member.attributeType",
            "B, N, S",
        ),
        (
            "GlobalSecondaryIndexes",
            [{**INDEX, "Projection": {"ProjectionType": "SOME"}}],
            "globalSecondaryIndexes.1.member.projection.projectionType",
            "ALL, INCLUDE, KEYS_ONLY",
        ),
    ],
)
def test_the_values_of_an_enum_have_one_order(member, value, path, order):
    assert f"at '{path}' failed to satisfy constraint: Member must satisfy enum value set: [{order}]" in refusal_of(
        "CreateTable", {**TABLE, member: value}
    )


def test_tags_and_vectors_are_judged_by_the_engine():
    assert convert("TagResource", {"ResourceArn": ARN, "Tags": [{"Key": ""}]})["Tags"] == [{"Key": ""}]
    vector = {
        "IndexName": "vix",
        "VectorAttribute": {"AttributeName": "v"},
        "Projection": {},
        "Dimensions": 0,
        "DistanceFunction": "COSINE",
    }
    assert convert("CreateTable", {**TABLE, "VectorIndexes": [vector]})["VectorIndexes"] == [vector]
    search = {"TableName": "orders", "IndexName": "vix", "SearchVector": [{"N": "1"}], "TopK": 0}
    assert shape.accept("SearchVectors", search)
