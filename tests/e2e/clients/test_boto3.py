"""boto3, given nothing but an endpoint."""

import secrets
from decimal import Decimal

import boto3
import pytest
from boto3.dynamodb.conditions import Attr, Key


@pytest.fixture
def session(server_url):
    keys = {"aws_access_key_id": "local", "aws_secret_access_key": "local"}
    return boto3.Session(region_name="eu-west-2", **keys)


@pytest.fixture
def table(session, server_url):
    resource = session.resource("dynamodb", endpoint_url=server_url)
    made = resource.create_table(
        TableName=f"boto3-{secrets.token_hex(4)}",
        KeySchema=[{"AttributeName": "user", "KeyType": "HASH"}, {"AttributeName": "at", "KeyType": "RANGE"}],
        AttributeDefinitions=[
            {"AttributeName": "user", "AttributeType": "S"},
            {"AttributeName": "at", "AttributeType": "N"},
            {"AttributeName": "kind", "AttributeType": "S"},
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by-kind",
                "KeySchema": [
                    {"AttributeName": "kind", "KeyType": "HASH"},
                    {"AttributeName": "at", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        BillingMode="PAY_PER_REQUEST",
    )
    made.wait_until_exists()
    yield made
    made.delete()


def test_a_table_is_filled_read_and_changed(table):
    with table.batch_writer() as batch:
        for at in range(60):
            batch.put_item(Item={"user": "ann", "at": at, "kind": "odd" if at % 2 else "even", "blob": b"\x00\xff"})
    page = table.query(
        KeyConditionExpression=Key("user").eq("ann") & Key("at").between(10, 20),
        FilterExpression=Attr("kind").eq("odd"),
        ScanIndexForward=False,
    )
    assert [found["at"] for found in page["Items"]] == [19, 17, 15, 13, 11]
    assert page["Items"][0]["blob"].value == b"\x00\xff"
    by_kind = table.query(IndexName="by-kind", KeyConditionExpression=Key("kind").eq("even"), Limit=3)
    assert [found["at"] for found in by_kind["Items"]] == [0, 2, 4]
    response = table.update_item(
        Key={"user": "ann", "at": 1},
        UpdateExpression="SET price = :p ADD tags :t",
        ExpressionAttributeValues={":p": Decimal("9.99"), ":t": {"a", "b"}},
        ReturnValues="UPDATED_NEW",
    )
    assert response["Attributes"] == {"price": Decimal("9.99"), "tags": {"a", "b"}}


def test_refusals_arrive_as_boto3s_exceptions(table):
    exceptions = table.meta.client.exceptions
    with pytest.raises(exceptions.ConditionalCheckFailedException):
        table.put_item(Item={"user": "ann", "at": 1}, ConditionExpression=Attr("user").exists())
    with pytest.raises(exceptions.ResourceNotFoundException):
        table.meta.client.describe_table(TableName="nowhere")


def test_paginators_and_transactions_work(table):
    client = table.meta.client
    for at in range(10):
        table.put_item(Item={"user": "bob", "at": at})
    pages = client.get_paginator("query").paginate(
        TableName=table.name, KeyConditionExpression=Key("user").eq("bob"), PaginationConfig={"PageSize": 4}
    )
    assert [page["Count"] for page in pages] == [4, 4, 2]
    client.transact_write_items(
        TransactItems=[
            {"Put": {"TableName": table.name, "Item": {"user": "eve", "at": 1}}},
            {"Delete": {"TableName": table.name, "Key": {"user": "bob", "at": 0}}},
        ]
    )
    assert table.get_item(Key={"user": "eve", "at": 1})["Item"] == {"user": "eve", "at": 1}


def test_the_stream_tells_what_happened(session, server_url, table):
    table.put_item(Item={"user": "ann", "at": 1})
    table.delete_item(Key={"user": "ann", "at": 1})
    streams = session.client("dynamodbstreams", endpoint_url=server_url)
    arn = streams.list_streams(TableName=table.name)["Streams"][0]["StreamArn"]
    (shard,) = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    iterator = streams.get_shard_iterator(StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON")
    records = streams.get_records(ShardIterator=iterator["ShardIterator"])["Records"]
    assert [record["eventName"] for record in records] == ["INSERT", "REMOVE"]
