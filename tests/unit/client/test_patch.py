"""The patch: code that makes its own boto3 clients runs on a database here, and everything else is left alone."""

import asyncio
import inspect
import os
import socket
import unittest
from concurrent.futures import ThreadPoolExecutor

import boto3
import pytest
from botocore import UNSIGNED
from botocore.awsrequest import AWSResponse
from botocore.credentials import DeferredRefreshableCredentials
from botocore.exceptions import EndpointConnectionError
from botocore.httpsession import URLLib3Session
from botocore.session import Session
from pynamodb.attributes import UnicodeAttribute
from pynamodb.models import Model

import hashrange
from hashrange.client.database import open_database
from hashrange.client.patch import patch_boto3
from hashrange.core.clock import ManualClock

KEY = {"KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}], "BillingMode": "PAY_PER_REQUEST"}
TABLE = {"TableName": "things", "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}], **KEY}
CLOSED = "http://127.0.0.1:9"  # nobody listens there
KEYS = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": "eu-west-2"}


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch, tmp_path):
    """A machine on which AWS was never configured, and which is not connected."""
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    monkeypatch.setattr(socket, "getaddrinfo", refuse_names(socket.getaddrinfo))


def refuse_names(resolve):
    def resolve_local(host, *arguments, **options):
        assert host == "127.0.0.1", f"something wanted to reach {host}"
        return resolve(host, *arguments, **options)

    return resolve_local


def work():
    """What an application does that knows nothing of hashrange."""
    client = boto3.client("dynamodb")
    client.create_table(**TABLE)
    table = boto3.resource("dynamodb").Table("things")
    table.put_item(Item={"pk": "a"})
    return table.scan()["Items"]


def test_clients_and_resources_made_inside_run_on_the_database():
    with patch_boto3() as db:
        assert work() == [{"pk": "a"}]
        assert db.scan(TableName="things")["Items"] == [{"pk": {"S": "a"}}]


def test_clients_of_any_session_run_on_the_database():
    with patch_boto3():
        work()
        for session in (boto3.Session(), boto3.Session(region_name="eu-west-2"), Session()):
            make = getattr(session, "client", None) or session.create_client
            assert make("dynamodb").list_tables()["TableNames"] == ["things"]
        assert boto3.client("dynamodbstreams").list_streams()["Streams"] == []


def test_positional_arguments_reach_botocore():
    with patch_boto3():
        client = Session().create_client("dynamodb", "us-west-2", None, True, None, CLOSED, "id", "secret")
        assert client.meta.region_name == "us-west-2"
        assert client.list_tables()["TableNames"] == []


def test_a_client_made_before_runs_on_the_database_while_the_patch_is_on():
    client = boto3.client("dynamodb", endpoint_url=CLOSED, **KEYS)
    with patch_boto3():
        client.create_table(**TABLE)
    with patch_boto3():
        assert client.list_tables()["TableNames"] == []


def test_a_client_made_inside_does_not_reach_the_database_later():
    with patch_boto3():
        client = boto3.client("dynamodb", endpoint_url=CLOSED, config=boto3.session.Config(retries={"max_attempts": 0}))
        client.list_tables()
    with pytest.raises(EndpointConnectionError):
        client.list_tables()


def test_a_client_made_inside_has_no_real_credentials(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "real")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "real")
    with patch_boto3():
        signed = []
        client = boto3.client("dynamodb")
        client.meta.events.register("before-send", lambda request, **_: signed.append(request.headers["Authorization"]))
        client.list_tables()
    assert b"real" not in bytes(signed[0])


def test_everything_is_as_it_was_afterwards():
    before = (Session.create_client, URLLib3Session.send)
    with patch_boto3(), patch_boto3():
        assert (Session.create_client, URLLib3Session.send) != before
    assert (Session.create_client, URLLib3Session.send) == before
    with pytest.raises(RuntimeError), patch_boto3():
        raise RuntimeError
    assert (Session.create_client, URLLib3Session.send) == before


def test_a_patch_inside_another_shares_its_databases():
    with patch_boto3() as outer:
        work()
        with patch_boto3() as inner, patch_boto3(region="eu-west-2") as innermost:
            assert outer is inner is innermost
            assert boto3.client("dynamodb").list_tables()["TableNames"] == ["things"]
            boto3.client("dynamodb").delete_table(TableName="things")
        assert boto3.client("dynamodb").list_tables()["TableNames"] == []
        assert outer.list_tables() == {"TableNames": []}


def test_an_inner_patch_with_a_clock_or_a_database_has_its_own():
    with open_database() as given, patch_boto3() as outer:
        work()
        for options in ({"clock": ManualClock(0)}, {"database": given}):
            with patch_boto3(**options) as inner:
                assert boto3.client("dynamodb").list_tables()["TableNames"] == []
                work()
                inner.delete_table(TableName="things")
        assert boto3.client("dynamodb").list_tables()["TableNames"] == ["things"]
        assert outer.list_tables() == {"TableNames": ["things"]}


def test_patches_do_not_share_after_the_last_of_them_ended():
    for _ in range(2):
        with patch_boto3(), patch_boto3():
            work()


def test_the_same_patch_entered_again_shares_with_itself():
    patch = patch_boto3(clock=ManualClock(0))
    with patch as outer, patch as inner:
        assert outer is inner


def test_a_patch_that_is_not_active_cannot_be_stopped():
    patch = patch_boto3()
    with pytest.raises(RuntimeError, match="start\\(\\) comes before stop"):
        patch.stop()
    with pytest.raises(RuntimeError, match="not active"):
        patch.database()


def test_two_regions_are_two_databases():
    patch = patch_boto3(region="us-east-1")
    with patch as default:
        made = boto3.client("dynamodb", region_name="us-west-2")
        made.create_table(**TABLE)
        assert boto3.client("dynamodb").list_tables()["TableNames"] == default.list_tables()["TableNames"] == []
        assert boto3.client("dynamodb", region_name="us-west-2").list_tables()["TableNames"] == ["things"]
        assert ":us-west-2:" in made.describe_table(TableName="things")["Table"]["TableArn"]
        assert patch.database("us-west-2").list_tables() == {"TableNames": ["things"]}
        assert patch.database() is default is patch.database("us-east-1")


@pytest.mark.parametrize("endpoint", [None, CLOSED])
def test_the_region_is_found_without_a_signature(endpoint):
    config = boto3.session.Config(signature_version=UNSIGNED)
    before = boto3.client("dynamodb", region_name="us-west-2", endpoint_url=endpoint, config=config)
    patch = patch_boto3(region="us-east-1")
    with patch:
        before.create_table(**TABLE)
        boto3.client("dynamodb", region_name="us-west-2", endpoint_url=endpoint, config=config).list_tables()
        assert patch.database("us-west-2").list_tables() == {"TableNames": ["things"]}


def test_a_database_of_ones_own_serves_every_region():
    with open_database() as db, patch_boto3(database=db):
        boto3.client("dynamodb", region_name="us-west-2").create_table(**TABLE)
        assert boto3.client("dynamodb", region_name="us-east-1").list_tables()["TableNames"] == ["things"]


@pytest.mark.parametrize("where", ["AWS_DEFAULT_REGION", "AWS_REGION", "file"])
def test_the_default_region_is_the_one_that_boto3_takes(monkeypatch, tmp_path, where):
    if where == "file":
        (tmp_path / "config").write_text("[profile own]\nregion = sa-east-1\n")
        monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
        monkeypatch.setenv("AWS_PROFILE", "own")
        monkeypatch.setenv("AWS_REGION", "us-east-2")
    else:
        monkeypatch.setenv(where, "sa-east-1")
    with patch_boto3() as db:
        work()
        assert db.region == "sa-east-1"
        assert db.list_tables() == {"TableNames": ["things"]}


def test_mock_aws_options_are_understood(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "mine")
    with patch_boto3(config={"core": {"mock_credentials": False, "reset_boto3_session": False}, "iam": {}}):
        assert os.environ["AWS_ACCESS_KEY_ID"] == "mine"
        work()
    with patch_boto3(config={"core": {"passthrough": {"services": ["s3"], "urls": []}}}):
        work()
    for service in ("dynamodb", "dynamodbstreams"):
        with pytest.raises(ValueError, match=f"lets no {service} call through"):
            patch_boto3(config={"core": {"passthrough": {"services": [service]}}})


def test_there_are_credentials_inside_and_the_former_ones_afterwards(monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "real")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "real")
    first, second = patch_boto3(), patch_boto3()
    first.start()
    second.start()
    found = boto3.Session().get_credentials()
    assert (found.access_key, found.secret_key, found.token) == ("hashrange", "hashrange", None)
    first.stop()
    assert os.environ["AWS_ACCESS_KEY_ID"] == "hashrange"
    second.stop()
    assert "AWS_ACCESS_KEY_ID" not in os.environ
    assert (os.environ["AWS_SECRET_ACCESS_KEY"], os.environ["AWS_SESSION_TOKEN"]) == ("real", "real")


# -- nothing leaves the machine ------------------------------------------------------------------------------------


class Trap(RuntimeError):
    """Something wanted to use the network."""


@pytest.fixture
def no_network(monkeypatch):
    """No name is resolved, no socket connects, and the only proxy is nowhere."""

    def refuse(*_arguments, **_options):
        raise Trap

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket.socket, "connect_ex", refuse)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://192.0.2.1:9")


def never(*_arguments, **_options):
    raise Trap


@pytest.fixture
def made_before(no_network, monkeypatch):
    """Clients, a resource and a session from before the patch: with real keys, without, with keys to be fetched."""
    role = Session()
    role._credentials = DeferredRefreshableCredentials(never, "assume-role")
    session = boto3.Session(region_name="eu-west-2")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")  # only for what is made outside of the patch
    made = {
        "real keys": boto3.client("dynamodb", **KEYS),
        "no keys": boto3.client("dynamodb", region_name="eu-west-2"),
        "keys to be fetched": role.create_client("dynamodb", "eu-west-2"),
        "streams": boto3.client("dynamodbstreams", region_name="eu-west-2"),
        "account id": boto3.client("dynamodb", aws_account_id="123456789012", **KEYS),
        "resource": boto3.resource("dynamodb", region_name="eu-west-2").meta.client,
        "a resource's table": boto3.resource("dynamodb", region_name="eu-west-2").Table("things").meta.client,
        "client of an earlier session": session,
    }
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
    return made


def call(client):
    if isinstance(client, boto3.Session):
        client = client.client("dynamodb")
    return client.list_tables() if hasattr(client, "list_tables") else client.list_streams()


MADE_BEFORE = (
    "real keys",
    "no keys",
    "keys to be fetched",
    "streams",
    "account id",
    "resource",
    "a resource's table",
    "client of an earlier session",
)


@pytest.mark.parametrize("name", MADE_BEFORE)
def test_what_was_made_before_never_uses_the_network(made_before, name):
    with patch_boto3():
        assert call(made_before[name])["ResponseMetadata"]["HTTPStatusCode"] == 200


def test_what_is_made_inside_never_uses_the_network(no_network):
    with patch_boto3():
        work()
        boto3.client("dynamodbstreams").list_streams()
        boto3.Session(profile_name=None).client("dynamodb").describe_endpoints()
        boto3.client(
            "dynamodb", "us-east-1", config=boto3.session.Config(use_fips_endpoint=True, use_dualstack_endpoint=True)
        ).list_tables()
        boto3.client("dynamodb", config=boto3.session.Config(proxies={"https": "http://192.0.2.1:9"})).list_tables()
        boto3.client("dynamodb", endpoint_url="https://dynamodb.us-east-1.amazonaws.com").list_tables()


@pytest.mark.parametrize("mode", ["disabled", "preferred", "required"])
def test_endpoints_by_account_are_served(no_network, mode):
    config = boto3.session.Config(account_id_endpoint_mode=mode)
    with patch_boto3():
        assert boto3.client("dynamodb", config=config).list_tables()["TableNames"] == []
        boto3.client("dynamodb", config=config, aws_account_id="123456789012", **KEYS).list_tables()


def test_hashranges_own_client_of_aws_never_uses_the_network(no_network):
    with hashrange.connect(region="us-west-2", access_key="real", secret_key="real") as before, patch_boto3():
        boto3.client("dynamodb", region_name="us-west-2").create_table(**TABLE)
        assert before.call("ListTables") == {"TableNames": ["things"]}
        with pytest.raises(hashrange.ResourceNotFoundException):
            before.call("DescribeTable", {"TableName": "nowhere"})
        with hashrange.connect(region="eu-west-2") as inside:
            assert asyncio.run(inside.call_async("ListTables")) == {"TableNames": []}
            assert inside.call("ListStreams") == {"Streams": []}


def test_hashranges_own_client_of_a_server_on_this_machine_is_left_alone(hashrange_url):
    with patch_boto3(), hashrange.connect(hashrange_url) as remote:
        boto3.client("dynamodb").create_table(**TABLE)
        assert remote.call("ListTables") == {"TableNames": []}


def test_threads_never_use_the_network(made_before):
    with patch_boto3() as db, ThreadPoolExecutor(4) as pool:
        db.create_table(**TABLE)
        found = list(pool.map(lambda _: made_before["real keys"].list_tables()["TableNames"], range(20)))
        found += pool.map(lambda _: boto3.Session().client("dynamodb").list_tables()["TableNames"], range(4))
        assert found == [["things"]] * 24


def test_the_real_keys_of_a_client_made_before_sign_nothing(made_before):
    signed = []
    client = made_before["real keys"]
    client.meta.events.register("before-send", lambda request, **_: signed.append(request.headers["Authorization"]))
    with patch_boto3():
        client.list_tables()
    assert b"Credential=hashrange/" in bytes(signed[0])


def test_patches_may_end_in_any_order():
    first, second = patch_boto3(), patch_boto3()
    first.start()
    second.start()
    work()
    first.stop()
    assert boto3.client("dynamodb").list_tables()["TableNames"] == ["things"]
    second.stop()
    assert "hashrange" not in URLLib3Session.send.__module__


def test_a_database_of_ones_own_stays_open():
    with open_database() as db:
        with patch_boto3(database=db), patch_boto3(database=db):
            work()
        assert db.scan(TableName="things")["Count"] == 1


def test_a_databases_own_clients_stay_with_it():
    with open_database() as db, patch_boto3():
        work()
        assert db.client().list_tables()["TableNames"] == []


def test_other_services_are_left_alone():
    with patch_boto3():
        client = boto3.client(
            "sqs", endpoint_url=CLOSED, config=boto3.session.Config(retries={"max_attempts": 0}), **KEYS
        )
        with pytest.raises(EndpointConnectionError):
            client.list_queues()


def test_another_library_that_answers_for_botocore_does_not_get_ours(monkeypatch):
    class Body:
        def stream(self):
            yield b'{"TableNames": ["theirs"]}'

    session = boto3.Session()
    session.events.register("before-send", lambda request, **_: AWSResponse(request.url, 200, {}, Body()))
    with patch_boto3():
        assert session.client("dynamodb").list_tables()["TableNames"] == []


def test_libraries_on_top_of_botocore_run_on_the_database_too():
    class Thing(Model):
        class Meta:
            table_name = "things"
            region = "eu-west-2"
            billing_mode = "PAY_PER_REQUEST"

        pk = UnicodeAttribute(hash_key=True)

    with patch_boto3() as db:
        Thing.create_table(wait=True)
        Thing("a").save()
        assert [thing.pk for thing in Thing.scan()] == ["a"]
        assert db.scan(TableName="things")["Count"] == 1


def test_the_region_is_the_environments_unless_given(monkeypatch):
    monkeypatch.setenv("AWS_DEFAULT_REGION", "ap-south-1")
    with patch_boto3() as db:
        work()
        assert ":ap-south-1:" in db.describe_table(TableName="things")["Table"]["TableArn"]
    with patch_boto3(region="us-east-2") as db:
        work()
        assert ":us-east-2:" in db.describe_table(TableName="things")["Table"]["TableArn"]


def test_time_can_be_the_clocks():
    with patch_boto3(clock=ManualClock(1_700_000_000)):
        work()
        made = boto3.client("dynamodb").describe_table(TableName="things")["Table"]["CreationDateTime"]
    assert made.timestamp() == 1_700_000_000


# -- as a decorator ------------------------------------------------------------------------------------------------


@patch_boto3()
def decorated(first, second=2):
    """What it does."""
    return work(), first, second


@patch_boto3
def decorated_bare():
    return work()


@patch_boto3
async def decorated_coroutine():
    await asyncio.sleep(0)
    return work()


@patch_boto3
def decorated_generator():
    yield work()
    yield boto3.client("dynamodb").list_tables()["TableNames"]


@patch_boto3
async def decorated_async_generator():
    yield work()


def test_a_decorated_function_gets_a_fresh_database_each_time():
    for _ in range(2):
        assert decorated(1) == ([{"pk": "a"}], 1, 2)
        assert decorated_bare() == [{"pk": "a"}]
    assert list(inspect.signature(decorated).parameters) == ["first", "second"]
    assert decorated.__doc__ == "What it does."


def test_coroutines_and_generators_run_inside_the_patch_too():
    async def collect():
        return [value async for value in decorated_async_generator()]

    assert asyncio.run(decorated_coroutine()) == [{"pk": "a"}]
    assert asyncio.run(collect()) == [[{"pk": "a"}]]
    assert list(decorated_generator()) == [[{"pk": "a"}], ["things"]]


@patch_boto3
class TestDecoratedClass:
    def test_one(self):
        assert work() == [{"pk": "a"}]

    def test_two(self):
        assert work() == [{"pk": "a"}]


@patch_boto3
class TestDecoratedTestCase(unittest.TestCase):
    def setUp(self):
        boto3.client("dynamodb").create_table(**TABLE)

    def test_one(self):
        boto3.client("dynamodb").put_item(TableName="things", Item={"pk": {"S": "a"}})

    def test_two(self):
        assert boto3.client("dynamodb").scan(TableName="things")["Count"] == 0
