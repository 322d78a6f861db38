"""A remote client and a real server: operations, signatures, threads, event loops, streams."""

import asyncio
import threading
from contextlib import ExitStack

import pytest

from hashrange.client.credentials import Account, FixedCredentials
from hashrange.client.database import open_database
from hashrange.client.remote import ClientLimits, Remote, connect
from hashrange.client.retry import RetryPolicy
from hashrange.client.signer import Credentials
from hashrange.client.transport import Transport
from hashrange.core.clock import ManualClock
from hashrange.core.errors import (
    ConditionalCheckFailedException,
    InvalidSignatureException,
    TransactionCanceledException,
    UnrecognizedClientException,
)
from hashrange.server.runner import serve_in_background
from hashrange.server.settings import ServerSettings
from hashrange.server.sigv4 import SignatureVerifier

TABLE = {
    "TableName": "things",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
}


def key(pk, sk="x"):
    return {"pk": {"S": str(pk)}, "sk": {"S": str(sk)}}


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def serve(clock):
    """`serve()` starts a server with one table, `things`; `serve({"key": "secret"})` lets in only that key."""
    with ExitStack() as running:

        def start(secrets=None):
            database = running.enter_context(open_database(clock=clock))
            database.call("CreateTable", TABLE)
            more = {"authenticate": SignatureVerifier(secrets, clock)} if secrets else {}
            settings = ServerSettings(port=0, spin=0.0)
            return running.enter_context(serve_in_background(database.engine, settings, **more)).url

        yield start


@pytest.fixture
def url(serve):
    return serve()


@pytest.fixture
def remote(url):
    with connect(url, access_key="k", secret_key="s") as opened:
        yield opened


def make_remote(url, keys, clock):
    account = Account(url=url, find_streams=lambda: url, region="eu-west-2", source=FixedCredentials(keys))
    return Remote(account, ClientLimits(), RetryPolicy(3), clock=clock)


def test_what_was_put_is_got(remote):
    item = {**key(1), "raw": {"B": "AAE="}, "n": {"N": "5"}}
    assert remote.call("PutItem", {"TableName": "things", "Item": item}) == {}
    assert remote.call("GetItem", {"TableName": "things", "Key": key(1)}) == {"Item": item}


def test_the_same_works_with_a_server_in_another_process(server_url):
    table = {**TABLE, "TableName": "test-remote"}
    with connect(server_url) as remote:
        remote.call("CreateTable", table)
        remote.call("PutItem", {"TableName": "test-remote", "Item": key(1)})
        assert asyncio.run(remote.call_async("Scan", {"TableName": "test-remote"}))["Items"] == [key(1)]
        remote.call("DeleteTable", {"TableName": "test-remote"})


def test_bytes_may_be_given_as_they_are(remote):
    remote.call("PutItem", {"TableName": "things", "Item": {**key(1), "raw": {"B": b"\x00\x01"}}})
    assert remote.call("GetItem", {"TableName": "things", "Key": key(1)})["Item"]["raw"] == {"B": "AAE="}


def test_what_is_not_in_wire_form_is_said(remote):
    with pytest.raises(TypeError, match="not in wire form"):
        remote.call("PutItem", {"TableName": "things", "Item": {"pk": {1, 2}}})


def test_a_request_is_left_as_it_was(remote):
    request = {"TransactItems": [{"Put": {"TableName": "things", "Item": key(1)}}]}
    remote.call("TransactWriteItems", request)
    assert request == {"TransactItems": [{"Put": {"TableName": "things", "Item": key(1)}}]}


def test_a_refusal_is_raised_by_its_name(remote):
    put = {"TableName": "things", "Item": key(1), "ConditionExpression": "attribute_not_exists(pk)"}
    remote.call("PutItem", put)
    with pytest.raises(ConditionalCheckFailedException) as refusal:
        remote.call("PutItem", {**put, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"})
    assert refusal.value.members == {"Item": key(1)}
    with pytest.raises(TransactionCanceledException) as refusal:
        remote.call("TransactWriteItems", {"TransactItems": [{"Put": put}]})
    assert [reason["Code"] for reason in refusal.value.members["CancellationReasons"]] == ["ConditionalCheckFailed"]


def test_an_answer_of_a_megabyte_arrives_whole(remote):
    for at in range(20):
        remote.call("PutItem", {"TableName": "things", "Item": {**key("big", at), "text": {"S": "x" * 50_000}}})
    request = {
        "TableName": "things",
        "KeyConditionExpression": "pk = :p",
        "ExpressionAttributeValues": {":p": {"S": "big"}},
    }
    assert len(remote.call("Query", request)["Items"]) == 20


def test_streams_are_read_at_the_same_endpoint(remote):
    remote.call("PutItem", {"TableName": "things", "Item": key(1)})
    [stream] = remote.call("ListStreams", {})["Streams"]
    described = remote.call("DescribeStream", {"StreamArn": stream["StreamArn"]})
    shard = described["StreamDescription"]["Shards"][0]["ShardId"]
    place = {"StreamArn": stream["StreamArn"], "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}
    iterator = remote.call("GetShardIterator", place)["ShardIterator"]
    [record] = remote.call("GetRecords", {"ShardIterator": iterator})["Records"]
    assert record["dynamodb"]["Keys"] == key(1)


@pytest.mark.parametrize("token", [None, "session"])
def test_a_server_that_verifies_signatures_lets_the_right_key_in(serve, clock, token):
    with make_remote(serve({"app": "a-long-secret"}), Credentials("app", "a-long-secret", token), clock) as remote:
        assert remote.call("ListTables") == {"TableNames": ["things"]}


def test_a_server_that_verifies_signatures_keeps_others_out(serve, clock):
    url = serve({"app": "a-long-secret"})
    with make_remote(url, Credentials("app", "guessed"), clock) as remote, pytest.raises(InvalidSignatureException):
        remote.call("ListTables")
    with make_remote(url, Credentials("other", "x"), clock) as remote, pytest.raises(UnrecognizedClientException):
        remote.call("ListTables")


@pytest.mark.parametrize("wrong", [-7200, 7200])
def test_a_wrong_clock_is_corrected_by_the_server(serve, clock, wrong):
    ours = ManualClock(clock.millis() / 1000 + wrong)
    with make_remote(serve({"app": "secret"}), Credentials("app", "secret"), ours) as remote:
        assert remote.call("ListTables") == {"TableNames": ["things"]}


def test_many_threads_share_a_client(url):
    failures = []

    def work(remote, number):
        try:
            for at in range(100):
                item = {**key(number, at), "n": {"N": str(number * 1000 + at)}}
                remote.call("PutItem", {"TableName": "things", "Item": item})
                assert remote.call("GetItem", {"TableName": "things", "Key": key(number, at)}) == {"Item": item}
        except BaseException as failure:  # noqa: BLE001 shown by the assertion below
            failures.append(failure)

    with connect(url, access_key="k", secret_key="s", max_connections=10) as remote:
        threads = [threading.Thread(target=work, args=(remote, number)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert len(remote._items.pool._idle) <= 10


def test_many_calls_share_an_event_loop(url):
    async def put_and_get(remote, number):
        item = {**key(number), "n": {"N": str(number)}}
        await remote.call_async("PutItem", {"TableName": "things", "Item": item})
        return await remote.call_async("GetItem", {"TableName": "things", "Key": key(number)}) == {"Item": item}

    async def work():
        async with connect(url, access_key="k", secret_key="s", max_connections=20) as remote:
            assert all(await asyncio.gather(*(put_and_get(remote, number) for number in range(100))))
            assert len(remote._items.pool._idle) <= 20

    asyncio.run(work())


def test_threads_and_event_loops_take_turns_with_the_same_connection(remote):
    async def ask():
        return await remote.call_async("ListTables")

    expected = {"TableNames": ["things"]}
    assert [remote.call("ListTables"), asyncio.run(ask()), remote.call("ListTables"), asyncio.run(ask())] == [
        expected
    ] * 4
    assert len(remote._items.pool._idle) == 1


def test_an_event_loop_in_debug_mode_has_nothing_to_say(remote):
    remote.call("ListTables")
    assert asyncio.run(remote.call_async("ListTables"), debug=True) == {"TableNames": ["things"]}


def test_a_large_request_goes_out_on_an_event_loop(remote):
    texts = ["x" * 390_000 for _ in range(10)]
    puts = [{"PutRequest": {"Item": {**key(at), "text": {"S": text}}}} for at, text in enumerate(texts)]
    response = asyncio.run(remote.call_async("BatchWriteItem", {"RequestItems": {"things": puts}}))
    assert response["UnprocessedItems"] == {}


def test_a_client_is_a_transport(remote):
    transport: Transport = remote
    assert transport.call("ListTables", {}) == {"TableNames": ["things"]}
