"""Tests of `patch_boto3` with aiobotocore, aioboto3 and moto; test_patched runs them where those are installed.

Nothing may use the network: no name is resolved, no socket connects, and the only proxy is nowhere.
"""

import asyncio
import os
import socket

import aioboto3
import boto3
import pytest
from aiobotocore.config import AioConfig
from aiobotocore.credentials import AioDeferredRefreshableCredentials
from aiobotocore.httpxsession import HttpxSession
from aiobotocore.session import AioSession, get_session
from botocore.exceptions import BotoCoreError

import hashrange
from hashrange import Faults, patch_boto3

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
CREDENTIALS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
KEYS = {"aws_access_key_id": "real", "aws_secret_access_key": "real", "region_name": "eu-west-2"}
TABLE = {
    "TableName": "things",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}


class Trap(RuntimeError):
    """Something wanted to use the network."""


async def never(*_arguments, **_options):
    raise Trap


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(*_arguments, **_options):
        raise Trap

    connect = socket.socket.connect
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect_ex", refuse)
    monkeypatch.setattr(asyncio.BaseEventLoop, "sock_connect", refuse)
    monkeypatch.setattr(asyncio.BaseEventLoop, "create_connection", refuse)
    monkeypatch.setattr(
        socket.socket, "connect", lambda self, to: connect(self, to) if self.family == socket.AF_UNIX else refuse()
    )
    for name in PROXIES:
        monkeypatch.setenv(name, "http://192.0.2.1:9")
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)


# -- aiobotocore and aioboto3 --------------------------------------------------------------------------------------


def test_an_aiobotocore_client_made_inside_runs_on_the_database():
    async def work():
        async with get_session().create_client("dynamodb") as client:
            await client.create_table(**TABLE)
            await client.put_item(TableName="things", Item={"pk": {"S": "a"}})
            assert client._get_credentials().access_key == "hashrange"
            pages = client.get_paginator("scan").paginate(TableName="things")
            return [item async for page in pages for item in page["Items"]]

    with patch_boto3() as database:
        assert asyncio.run(work()) == [{"pk": {"S": "a"}}]
        assert database.scan(TableName="things")["Count"] == 1


def test_dynamodbs_errors_are_aiobotocores():
    async def work():
        async with get_session().create_client("dynamodb") as client:
            with pytest.raises(client.exceptions.ResourceNotFoundException):
                await client.describe_table(TableName="missing")

    with patch_boto3():
        asyncio.run(work())


def test_aioboto3s_clients_and_resources_run_on_the_database():
    async def work():
        async with aioboto3.Session().resource("dynamodb") as resource:
            table = await resource.create_table(**TABLE)
            await table.wait_until_exists()
            async with table.batch_writer() as batch:
                for number in range(40):
                    await batch.put_item(Item={"pk": str(number)})
        async with aioboto3.Session().client("dynamodbstreams") as streams:
            assert (await streams.list_streams())["Streams"] == []

    with patch_boto3() as database:
        asyncio.run(work())
        assert database.scan(TableName="things")["Count"] == 40


def test_two_regions_are_two_databases():
    async def count(region):
        async with get_session().create_client("dynamodb", region_name=region) as client:
            return len((await client.list_tables())["TableNames"])

    patch = patch_boto3()
    with patch:
        patch.database("us-west-2").create_table(**TABLE)
        assert asyncio.run(count("us-west-2")) == 1
        assert asyncio.run(count("us-east-1")) == 0


@pytest.mark.parametrize("keys", ["real", "fetched"])
def test_a_client_made_before_never_uses_the_network(keys):
    session = AioSession()
    if keys == "fetched":
        session._credentials = AioDeferredRefreshableCredentials(never, "assume-role")

    async def work():
        config = AioConfig(connect_timeout=1, read_timeout=1, retries={"max_attempts": 0})
        given = KEYS if keys == "real" else {"region_name": "eu-west-2"}
        async with session.create_client("dynamodb", config=config, **given) as client:
            signed = []
            client.meta.events.register("before-send", lambda request, **_: signed.append(request.headers))
            with patch_boto3() as database:
                database.create_table(**TABLE)
                assert (await client.list_tables())["TableNames"] == ["things"]
            assert b"hashrange" in bytes(signed[0]["Authorization"])
            with pytest.raises((Trap, BotoCoreError)):
                await client.list_tables()

    asyncio.run(work())


def test_a_client_with_httpx_never_uses_the_network(monkeypatch):
    for name in PROXIES:  # aiobotocore refuses them with httpx
        monkeypatch.delenv(name)

    async def work():
        async with get_session().create_client("dynamodb", config=AioConfig(http_session_cls=HttpxSession)) as client:
            return (await client.list_tables())["TableNames"]

    with patch_boto3():
        assert asyncio.run(work()) == []


def test_an_injected_delay_lets_other_tasks_run():
    faults = Faults()
    faults.delay("ListTables", seconds=0.2)

    async def work():
        async with get_session().create_client("dynamodb") as client:
            slow = asyncio.create_task(client.list_tables())
            await asyncio.sleep(0.02)
            assert not slow.done()
            await slow

    with hashrange.open(faults=faults) as database, patch_boto3(database=database):
        asyncio.run(work())


@patch_boto3
async def decorated():
    async with get_session().create_client("dynamodb") as client:
        return (await client.list_tables())["TableNames"]


def test_a_decorated_coroutine_is_served():
    assert asyncio.run(decorated()) == []


def test_everything_is_as_it_was_afterwards():
    from aiobotocore.httpsession import AIOHTTPSession

    before = (AIOHTTPSession.send, AioSession.create_client)
    with patch_boto3():
        assert (AIOHTTPSession.send, AioSession.create_client) != before
    assert (AIOHTTPSession.send, AioSession.create_client) == before


# -- moto ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def moto_calls(monkeypatch):
    """The operations that moto's DynamoDB ran."""
    from moto.dynamodb.responses import DynamoHandler

    calls = []
    dispatch = DynamoHandler.call_action
    monkeypatch.setattr(DynamoHandler, "call_action", lambda self: calls.append(self) or dispatch(self))
    return calls


@pytest.mark.parametrize("outer", ["moto", "hashrange"])
def test_moto_serves_the_other_services_and_sees_no_dynamodb_call(moto_calls, outer):
    from moto import mock_aws

    patches = [mock_aws(), patch_boto3(region="us-east-1")]
    first, second = patches if outer == "moto" else reversed(patches)
    with first, second:
        client = boto3.client("dynamodb")
        client.create_table(**TABLE)
        client.put_item(TableName="things", Item={"pk": {"S": "a"}})
        with pytest.raises(client.exceptions.ResourceNotFoundException):
            client.describe_table(TableName="missing")
        boto3.client("s3", region_name="us-east-1").create_bucket(Bucket="files")
        assert [b["Name"] for b in boto3.client("s3", region_name="us-east-1").list_buckets()["Buckets"]] == ["files"]
    assert moto_calls == []


def test_a_client_made_before_with_motos_handler_is_served(moto_calls):
    from moto import mock_aws

    before = boto3.client("dynamodb", **KEYS)
    with mock_aws(), patch_boto3(region="eu-west-2") as database:
        before.create_table(**TABLE)
        assert database.list_tables() == {"TableNames": ["things"]}
    assert moto_calls == []


def test_moto_sees_no_call_of_a_databases_own_client(moto_calls):
    from moto import mock_aws

    with mock_aws(), hashrange.open() as database:
        database.client().create_table(**TABLE)
        database.resource().Table("things").put_item(Item={"pk": "a"})
        database.streams_client().list_streams()
    assert moto_calls == []


def test_moto_is_asked_again_afterwards(moto_calls):
    from moto import mock_aws

    with mock_aws():
        client = boto3.client("dynamodb", region_name="us-east-1")
        with patch_boto3():
            client.list_tables()
        assert moto_calls == []
        client.list_tables()
        assert len(moto_calls) == 1


@pytest.mark.parametrize("real", [None, "real"])
@pytest.mark.parametrize(
    "order", ["p+ m+ p- m-", "m+ p+ m- p-", "p+ m+ p- p+ m- p-", "p+ m+ n+ p- n- m-", "m+ p+ p- m-"]
)
def test_patches_that_stop_in_another_order_leave_the_credentials_as_they_were(monkeypatch, real, order):
    from moto import mock_aws

    for name in CREDENTIALS:
        monkeypatch.delenv(name, raising=False)
        if real is not None:
            monkeypatch.setenv(name, real)
    patches = {"p": patch_boto3(region="us-east-1"), "m": mock_aws(), "n": mock_aws()}
    for name, action in order.split():
        if action == "+":
            patches[name].start()
        else:
            patches[name].stop()
    assert [os.environ.get(name) for name in CREDENTIALS] == [real, real]


def test_the_credentials_that_another_program_sets_inside_stay(monkeypatch):
    monkeypatch.setenv("AWS_SESSION_TOKEN", "real")
    with patch_boto3():
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "another")
    assert os.environ["AWS_ACCESS_KEY_ID"] == "another"
    assert os.environ["AWS_SESSION_TOKEN"] == "real"
    assert "AWS_SECRET_ACCESS_KEY" not in os.environ


def test_moto_keeps_its_credentials_when_the_patch_around_it_stops_first():
    from moto import mock_aws

    patch, moto = patch_boto3(region="us-east-1"), mock_aws()
    patch.start()
    moto.start()
    patch.stop()
    assert os.environ["AWS_ACCESS_KEY_ID"] == "FOOBARKEY"
    boto3.client("s3", region_name="us-east-1").create_bucket(Bucket="files")
    moto.stop()


def test_aiobotocore_works_beside_moto(moto_calls):
    from moto import mock_aws

    with mock_aws(), patch_boto3():
        assert asyncio.run(decorated()) == []
    assert moto_calls == []
