"""DescribeTable: what a table is, and how much is in it."""

import pytest

from tests.conformance.refusal import invalid, not_found
from tests.conformance.table import new_name
from tests.conformance.wire import item


def test_an_unknown_table_is_named(client):
    name = new_name()
    with not_found(f"Requested resource not found: Table: {name} not found"):
        client.describe_table(TableName=name)


def test_a_table_is_found_by_its_arn(client, table):
    found = table.describe_table()["Table"]
    assert client.describe_table(TableName=found["TableArn"])["Table"] == found
    assert found["TableName"] == table.name


def test_counts_and_sizes_follow_the_items(make_table):
    table = make_table("pk:S", gsi={"gsi": ("a:S", "KEYS_ONLY")})
    table.put(pk="1", a="x", n="1234")
    table.put(pk="2", n="1234")
    table.put(pk="2", n="12")
    table.put(pk="3")
    table.delete_item(Key=item(pk="3"))
    found = table.describe_table()["Table"]
    assert (found["ItemCount"], found["TableSizeBytes"]) == (2, (2 + 1 + 1 + 1 + 1 + 4) + (2 + 1 + 1 + 2))
    (index,) = found["GlobalSecondaryIndexes"]
    assert (index["ItemCount"], index["IndexSizeBytes"]) == (1, 2 + 1 + 1 + 1)


def test_the_description_of_a_plain_table_says_what_aws_says(table):
    found = table.describe_table()["Table"]
    assert set(found) == {
        "AttributeDefinitions",
        "BillingModeSummary",
        "CreationDateTime",
        "DeletionProtectionEnabled",
        "ItemCount",
        "KeySchema",
        "ProvisionedThroughput",
        "TableArn",
        "TableId",
        "TableName",
        "TableSizeBytes",
        "TableStatus",
        "WarmThroughput",
    }
    assert found["DeletionProtectionEnabled"] is False
    assert found["WarmThroughput"] == {
        "ReadUnitsPerSecond": 12_000,
        "WriteUnitsPerSecond": 4_000,
        "Status": "ACTIVE",
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "",
            (
                "2 validation errors detected: Value '' at 'tableName' failed to satisfy constraint: Member must have "
                "length greater than or equal to 3; Value '' at 'tableName' failed to satisfy constraint: Member must "
                "satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
            ),
        ),
        (
            "ab",
            (
                "1 validation error detected: Value 'ab' at 'tableName' failed to satisfy constraint: Member must have "
                "length greater than or equal to 3"
            ),
        ),
    ],
)
def test_a_malformed_name_is_explained(send, name, text):
    _, response = send("DescribeTable", {"TableName": name})
    assert response["message"] == text


def test_the_arn_of_another_region_is_refused(client, table):
    region = client.meta.region_name
    arn = table.describe_table()["Table"]["TableArn"].replace(region, "ap-south-1")
    with invalid(f"1 validation error detected: Invalid AWS region in '{arn}'"):
        client.describe_table(TableName=arn)
