"""A database in this process: calls in wire form, and boto3's own objects on top of it."""

import datetime as dt
import re
import socket
import sys
import threading
import time
from collections import OrderedDict
from copy import deepcopy
from decimal import Decimal
from enum import Enum

import pytest
from boto3.dynamodb.conditions import Attr, Key
from botocore.config import Config
from botocore.exceptions import ParamValidationError

from hashrange.client.database import open_database
from hashrange.core.clock import ManualClock
from hashrange.core.errors import (
    ConditionalCheckFailedException,
    InternalServerError,
    ResourceNotFoundException,
    ServiceError,
    StorageError,
)
from hashrange.engine.operation import name_method, name_operation
from hashrange.operations import OPERATIONS

TABLE = {
    "TableName": "things",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}


@pytest.fixture
def db():
    with open_database() as database:
        database.create_table(**TABLE)
        yield database


@pytest.fixture
def offline(monkeypatch):
    """No network and no sleeping, and nothing of the user's AWS configuration that works."""

    def refuse(*_arguments, **_options):
        raise AssertionError("the network was touched, or something slept")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(time, "sleep", refuse)
    monkeypatch.setenv("AWS_PROFILE", "there-is-no-such-profile")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)


# -- calls -------------------------------------------------------------------------------------------------------


def test_an_operation_is_called_by_its_name_or_as_a_method(db):
    assert db.call("PutItem", {"TableName": "things", "Item": {"pk": {"S": "a"}, "n": {"N": "1.0"}}}) == {}
    found = db.get_item(TableName="things", Key={"pk": {"S": "a"}})
    assert found == {"Item": {"pk": {"S": "a"}, "n": {"N": "1"}}}


def test_every_operation_has_a_method_and_dir_shows_it(db):
    methods = {name_method(operation) for operation in OPERATIONS}
    assert {name_operation(method) for method in methods} == set(OPERATIONS)
    assert methods <= set(dir(db))
    assert all(callable(getattr(db, method)) for method in methods)
    assert not any(hasattr(db, method) for method in ("PutItem", "Put_item", "put__item", "putitem"))


def test_there_are_no_other_methods(db):
    with pytest.raises(AttributeError, match="drop_database"):
        db.drop_database()


def test_a_call_without_members_needs_no_request(db):
    assert db.call("ListTables") == {"TableNames": ["things"]}


def test_an_operation_without_an_answer_answers_an_empty_object(db):
    arn = db.describe_table(TableName="things")["Table"]["TableArn"]
    assert db.tag_resource(ResourceArn=arn, Tags=[{"Key": "a", "Value": "b"}]) == {}


ODD = {"N": "01.0"}
ODD_SET = {"SS": ["b", "a"]}
ODD_ITEM = {"pk": {"S": "a"}, "n": {"L": [ODD, {"M": {"s": ODD_SET}}]}}
ODD_VALUES = {":n": ODD, ":s": ODD_SET}
ON_A = {"TableName": "things", "Key": {"pk": {"S": "a"}}}
FILTER = {"FilterExpression": "n = :n OR n = :s", "ExpressionAttributeValues": ODD_VALUES}
PUT = {"TableName": "things", "Item": ODD_ITEM}
UPDATE = {**ON_A, "UpdateExpression": "SET x = :n, y = :s", "ExpressionAttributeValues": ODD_VALUES}
REQUESTS = {
    "PutItem": {**PUT, "Expected": {"x": {"ComparisonOperator": "NE", "AttributeValueList": [ODD]}}},
    "GetItem": ON_A,
    "DeleteItem": {**ON_A, "ConditionExpression": "x <> :n AND x <> :s", "ExpressionAttributeValues": ODD_VALUES},
    "UpdateItem": UPDATE,
    "Query": {
        "TableName": "things",
        "ExclusiveStartKey": None,
        "KeyConditions": {"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "a"}]}},
        "QueryFilter": {"x": {"ComparisonOperator": "EQ", "AttributeValueList": [ODD]}},
    },
    "Scan": {"TableName": "things", **FILTER},
    "BatchGetItem": {"RequestItems": {"things": {"Keys": [{"pk": {"S": "a"}}]}}},
    "BatchWriteItem": {"RequestItems": {"things": [{"PutRequest": {"Item": ODD_ITEM}}]}},
    "TransactGetItems": {"TransactItems": [{"Get": ON_A}]},
    "TransactWriteItems": {"TransactItems": [{"Update": UPDATE}]},
    "ExecuteStatement": {"Statement": "SELECT * FROM things WHERE x = ?", "Parameters": [ODD_SET]},
    "CreateTable": {**TABLE, "TableName": "others"},
}


@pytest.mark.parametrize(("operation", "request_"), REQUESTS.items(), ids=REQUESTS)
def test_the_callers_request_stays_as_it_is(db, operation, request_):
    given = deepcopy(request_)
    db.call(operation, given)
    assert given == request_


def test_every_operation_on_the_callers_own_request_is_among_those():
    assert {name for name, operation in OPERATIONS.items() if operation.needs_no_copy} <= set(REQUESTS)


def test_the_request_may_be_used_for_something_else_afterwards(db):
    request = deepcopy({**TABLE, "TableName": "others"})
    db.call("CreateTable", request)
    request["KeySchema"][0]["AttributeName"] = "else"
    assert db.describe_table(TableName="others")["Table"]["KeySchema"] == TABLE["KeySchema"]
    item = deepcopy(ODD_ITEM)
    db.put_item(TableName="things", Item=item)
    item["n"]["L"].clear()
    assert len(db.get_item(**ON_A)["Item"]["n"]["L"]) == 2


class Name(str, Enum):  # noqa: UP042 - what str() of a StrEnum gives is its text anyway
    THINGS = "things"


def test_what_json_would_carry_may_be_given(db):
    written = {"pk": {"S": "a"}, "l": {"L": ({"N": "1"}, {"SS": ("x",)})}, "m": {"M": OrderedDict(s={"S": "t"})}}
    db.put_item(TableName=Name.THINGS, Item=OrderedDict(written))
    found = db.get_item(TableName=Name.THINGS, Key={"pk": {"S": "a"}})["Item"]
    assert found == {"pk": {"S": "a"}, "l": {"L": [{"N": "1"}, {"SS": ["x"]}]}, "m": {"M": {"s": {"S": "t"}}}}


@pytest.mark.parametrize(
    "item",
    [{"n": {"N": Decimal(1)}}, {"s": {"SS": {"a", "b"}}}, {5: {"S": "a"}}, {"s": {"S": "\ud800"}}, {"d": object()}],
)
def test_what_json_cannot_carry_is_refused_with_advice(db, item):
    with pytest.raises(TypeError, match="not in wire form"):
        db.put_item(TableName="things", Item={"pk": {"S": "a"}, **item})
    assert db.scan(TableName="things")["Count"] == 0


@pytest.mark.parametrize("operation", REQUESTS)
def test_every_operation_takes_binary_as_bytes(db, operation):
    def encode(found):
        if isinstance(found, dict):
            return {"B": b"\xff"} if found == ODD else {key: encode(content) for key, content in found.items()}
        return [encode(element) for element in found] if isinstance(found, list) else found

    db.call(operation, encode(REQUESTS[operation]))


def test_keys_and_tokens_take_binary_as_bytes(db):
    db.create_table(
        **TABLE | {"TableName": "raw", "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "B"}]}
    )
    put = {"Put": {"TableName": "raw", "Item": {"pk": {"B": b"k"}}}}
    db.transact_write_items(TransactItems=[put], ClientRequestToken="once")
    found = db.batch_get_item(RequestItems={"raw": {"Keys": [{"pk": {"B": b"k"}}]}})
    assert found["Responses"]["raw"] == [{"pk": {"B": "aw=="}}]


def test_binary_may_be_given_as_bytes(db):
    db.put_item(TableName="things", Item={"pk": {"S": "a"}, "b": {"B": b"\xff"}, "l": {"BS": [bytearray(b"x")]}})
    found = db.get_item(TableName="things", Key={"pk": {"S": "a"}})["Item"]
    assert (found["b"], found["l"]) == ({"B": "/w=="}, {"BS": ["eA=="]})


def test_a_time_may_be_given_as_a_datetime(db):
    moment = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    assert db.list_backups(TimeRangeLowerBound=moment)["BackupSummaries"] == []


def test_refusals_are_exceptions_that_carry_dynamodbs_text(db):
    with pytest.raises(ResourceNotFoundException) as caught:
        db.get_item(TableName="nowhere", Key={"pk": {"S": "a"}})
    assert caught.value.message == "Requested resource not found"
    with pytest.raises(ConditionalCheckFailedException):
        db.put_item(TableName="things", Item={"pk": {"S": "a"}}, ConditionExpression="attribute_exists(pk)")
    with pytest.raises(ServiceError):
        db.call("NoSuchOperation")


def test_two_databases_in_memory_know_nothing_of_each_other(db):
    with open_database(":memory:") as other:
        assert other.list_tables() == {"TableNames": []}


def test_a_directory_keeps_what_was_written(tmp_path):
    with open_database(tmp_path / "data") as db:
        db.create_table(**TABLE)
        db.put_item(TableName="things", Item={"pk": {"S": "a"}})
    with open_database(str(tmp_path / "data")) as db:
        assert db.scan(TableName="things")["Items"] == [{"pk": {"S": "a"}}]


def test_a_directory_with_a_database_for_each_access_key_and_region_is_not_opened_beside_them(tmp_path):
    own = tmp_path / "data" / "databases" / "local" / "eu-west-2"
    open_database(own).close()
    with pytest.raises(
        StorageError, match=rf"for each access key and region\. Give one of them: {re.escape(str(own))}\."
    ):
        open_database(tmp_path / "data")
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["databases"]
    open_database(own).close()


def test_the_region_is_in_the_arns():
    with open_database(region="us-east-1") as db:
        assert db.create_table(**TABLE)["TableDescription"]["TableArn"].startswith("arn:aws:dynamodb:us-east-1:")
        assert db.region == "us-east-1"


def test_time_is_the_clocks_and_background_work_is_done_when_asked():
    clock = ManualClock(1_700_000_000)
    with open_database(clock=clock) as db:
        db.create_table(**TABLE)
        spec = {"Enabled": True, "AttributeName": "expires"}
        db.update_time_to_live(TableName="things", TimeToLiveSpecification=spec)
        db.put_item(TableName="things", Item={"pk": {"S": "a"}, "expires": {"N": "1700000060"}})
        db.wait_until_idle()
        assert db.scan(TableName="things")["Count"] == 1
        clock.advance(61)
        assert db.scan(TableName="things")["Count"] == 1  # expired, and readable until it is swept
        db.wait_until_idle()
        assert db.scan(TableName="things")["Count"] == 0


def test_many_threads_may_write_at_once(db):
    def add(count):
        for _ in range(count):
            db.update_item(
                TableName="things",
                Key={"pk": {"S": "counter"}},
                UpdateExpression="ADD n :one",
                ExpressionAttributeValues={":one": {"N": "1"}},
            )

    threads = [threading.Thread(target=add, args=(50,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert db.scan(TableName="things")["Items"] == [{"pk": {"S": "counter"}, "n": {"N": "400"}}]


def test_a_database_in_memory_opens_in_under_two_milliseconds():
    def measure():
        start = time.process_time()
        open_database().close()
        return time.process_time() - start

    assert min(measure() for _ in range(20)) < 0.002


# -- boto3 ---------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("offline")
def test_a_client_is_botocores_own_with_its_exceptions_and_metadata(db):
    client = db.client()
    response = client.put_item(TableName="things", Item={"pk": {"S": "a"}, "b": {"B": b"\xff"}})
    assert response["ResponseMetadata"]["HTTPStatusCode"] == 200
    assert len(response["ResponseMetadata"]["RequestId"]) == 52
    assert client.get_item(TableName="things", Key={"pk": {"S": "a"}})["Item"]["b"] == {"B": b"\xff"}
    with pytest.raises(client.exceptions.ConditionalCheckFailedException) as caught:
        client.put_item(
            TableName="things",
            Item={"pk": {"S": "a"}},
            ConditionExpression="attribute_not_exists(pk)",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    assert str(caught.value) == (
        "An error occurred (ConditionalCheckFailedException) when calling the PutItem operation: "
        "The conditional request failed"
    )
    assert caught.value.response["Item"]["b"] == {"B": b"\xff"}
    check = {"TableName": "things", "Key": {"pk": {"S": "z"}}, "ConditionExpression": "attribute_exists(pk)"}
    with pytest.raises(client.exceptions.TransactionCanceledException) as caught:
        client.transact_write_items(TransactItems=[{"ConditionCheck": check}])
    assert caught.value.response["CancellationReasons"][0]["Code"] == "ConditionalCheckFailed"


@pytest.mark.usefixtures("offline")
def test_a_client_checks_parameters_as_boto3_does_unless_told_not_to(db):
    with pytest.raises(ParamValidationError):
        db.client().put_item(TableName="things")
    unchecked = db.client(Config(parameter_validation=False))
    with pytest.raises(unchecked.exceptions.ClientError):
        unchecked.put_item(TableName="things")


@pytest.mark.usefixtures("offline")
def test_waiters_do_not_sleep(db):
    client = db.client()
    client.create_table(**TABLE | {"TableName": "more"})
    client.get_waiter("table_exists").wait(TableName="more")
    client.delete_table(TableName="more")
    client.get_waiter("table_not_exists").wait(TableName="more")


@pytest.mark.usefixtures("offline")
def test_paginators_page(db):
    client = db.client()
    for number in range(7):
        client.put_item(TableName="things", Item={"pk": {"S": f"{number}"}})
    pages = client.get_paginator("scan").paginate(TableName="things", PaginationConfig={"PageSize": 3})
    assert [page["Count"] for page in pages] == [3, 3, 1]


@pytest.mark.usefixtures("offline")
def test_a_resource_is_boto3s_own_with_tables_conditions_and_batches(db):
    resource = db.resource()
    table = resource.Table("things")
    with table.batch_writer() as batch:
        for number in range(60):
            batch.put_item(Item={"pk": f"{number}", "n": number, "tags": {"x"}})
    found = table.query(KeyConditionExpression=Key("pk").eq("7"), FilterExpression=Attr("n").between(1, 10))
    assert found["Items"] == [{"pk": "7", "n": Decimal(7), "tags": {"x"}}]
    table.update_item(
        Key={"pk": "7"}, UpdateExpression="SET n = n + :d", ExpressionAttributeValues={":d": Decimal("0.5")}
    )
    assert table.get_item(Key={"pk": "7"})["Item"]["n"] == Decimal("7.5")
    assert table.item_count == 60
    made = resource.create_table(**TABLE | {"TableName": "made"})
    made.wait_until_exists()
    assert {each.name for each in resource.tables.all()} == {"things", "made"}


@pytest.mark.usefixtures("offline")
def test_a_streams_client_reads_what_the_client_wrote(db):
    client, streams = db.client(), db.streams_client()
    spec = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
    client.create_table(**TABLE | {"TableName": "streamed", "StreamSpecification": spec})
    client.put_item(TableName="streamed", Item={"pk": {"S": "a"}})
    arn = streams.list_streams(TableName="streamed")["Streams"][0]["StreamArn"]
    shard = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
    iterator = streams.get_shard_iterator(StreamArn=arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON")
    records = streams.get_records(ShardIterator=iterator["ShardIterator"])["Records"]
    assert [record["dynamodb"]["NewImage"] for record in records] == [{"pk": {"S": "a"}}]


@pytest.mark.usefixtures("offline")
def test_text_that_is_no_unicode_is_refused_and_not_retried(db):
    client = db.client()
    with pytest.raises(client.exceptions.ClientError, match="SerializationException"):
        client.put_item(TableName="things", Item={"pk": {"S": "\ud800"}})


@pytest.mark.usefixtures("offline")
def test_a_full_disk_is_told_at_once_and_passes(db):
    client = db.client()
    large = {"pk": {"S": "large"}, "fill": {"S": "x" * 300_000}}
    db.engine.store.execute("PRAGMA max_page_count = 20").fetchall()
    with pytest.raises(InternalServerError):
        client.put_item(TableName="things", Item=large)
    db.engine.store.execute("PRAGMA max_page_count = 100000").fetchall()
    client.put_item(TableName="things", Item=large)
    assert client.scan(TableName="things")["Count"] == 1


def test_without_boto3_the_error_says_how_to_install_it(db, monkeypatch):
    monkeypatch.delitem(sys.modules, "hashrange.client.boto3_clients", raising=False)
    monkeypatch.setitem(sys.modules, "boto3", None)
    monkeypatch.setitem(sys.modules, "boto3.session", None)
    with pytest.raises(ImportError, match=r"pip install 'hashrange\[boto3\]'"):
        db.client()
