"""Separate databases per access key and region: who sees what, what ARNs say, and where the data are."""

import json

import pytest

import hashrange
from hashrange.engine.context import EngineSettings
from hashrange.engine.engine import open_engine
from hashrange.faults.faults import Faults
from hashrange.operations import OPERATIONS
from hashrange.server import separate_databases
from hashrange.server.authentication import check_signature_format_if_signed
from hashrange.server.runner import serve_in_background
from hashrange.server.separate_databases import SeparateDatabases, locate_database
from tests.unit.server.wire import TABLE, Client, build

LIST = ("ListTables", {})


def sign(key="AKID", region="eu-west-2"):
    return (
        f"AWS4-HMAC-SHA256 Credential={key}/20260314/{region}/dynamodb/aws4_request, "
        f"SignedHeaders=host;x-amz-date;x-amz-target, Signature={'0' * 64}"
    )


class Served:
    """A server with separate databases, in memory or in a directory."""

    def __init__(self, data=None):
        self.faults = None

        def open_separate(directory, region):
            return open_engine(directory, OPERATIONS, settings=EngineSettings(region=region), faults=self.faults)

        self.databases = SeparateDatabases(open_separate, data, "local", "eu-west-2")

    def ask(self, operation, request, **headers):
        client = Client(int(self.server.url.rpartition(":")[2]))
        try:
            return client.ask(build(operation, request, **headers))
        finally:
            client.close()

    def call(self, operation, request, key="AKID", region="eu-west-2"):
        response = self.ask(operation, request, authorization=sign(key, region))
        assert response.status == 200, response.body
        return response.json

    def list_tables(self, key="AKID", region="eu-west-2"):
        return self.call(*LIST, key, region)["TableNames"]

    def __enter__(self):
        self._running = serve_in_background(self.databases, authenticate=check_signature_format_if_signed)
        self.server = self._running.__enter__()
        return self

    def __exit__(self, *_):
        self._running.__exit__(None, None, None)
        self.databases.close()


@pytest.fixture
def served():
    with Served() as opened:
        yield opened


def test_regions_and_access_keys_have_their_own_tables(served):
    served.call("CreateTable", TABLE, "one", "eu-west-2")
    assert served.list_tables("one", "eu-west-2") == ["things"]
    assert served.list_tables("one", "us-east-1") == []
    assert served.list_tables("two", "eu-west-2") == []


def test_arns_name_the_region_of_the_client(served):
    for region in ("us-east-1", "ap-south-1", "local", "fakeRegion"):
        arn = served.call("CreateTable", TABLE, "one", region)["TableDescription"]["TableArn"]
        assert arn == f"arn:aws:dynamodb:{region.lower()}:123456789012:table/things"


def test_one_connection_may_use_several_databases(served):
    client = Client(int(served.server.url.rpartition(":")[2]))
    item = {"TableName": "things", "Item": {"pk": {"S": "a"}}}
    for region in ("eu-west-1", "us-east-1"):
        served.call("CreateTable", TABLE, region=region)
    client.send(
        build("PutItem", item, authorization=sign(region="eu-west-1"))
        + build("Scan", {"TableName": "things"}, authorization=sign(region="us-east-1"))
        + build("PutItem", item, authorization=sign(region="us-east-1"))
        + build("Scan", {"TableName": "things"}, authorization=sign(region="us-east-1"))
    )
    responses = [client.read().json for _ in range(4)]
    client.close()
    assert [responses[1]["Count"], responses[3]["Count"]] == [0, 1]


def test_a_failed_commit_of_one_database_does_not_concern_another(served, monkeypatch):
    for region in ("eu-west-1", "us-east-1"):
        served.call("CreateTable", TABLE, region=region)
    failing = served.databases._find("AKID", "eu-west-1")

    def fail():
        failing.store.rollback()
        raise failing.store.translate(separate_databases_error())

    monkeypatch.setattr(failing.store, "commit", fail)
    client = Client(int(served.server.url.rpartition(":")[2]))
    item = {"TableName": "things", "Item": {"pk": {"S": "a"}}}
    client.send(
        b"".join(build("PutItem", item, authorization=sign(region=each)) for each in ("eu-west-1", "us-east-1"))
    )
    assert [client.read().status for _ in range(2)] == [500, 200]
    client.close()


def separate_databases_error():
    import apsw

    return apsw.FullError("full")


def test_requests_without_a_signature_use_the_default_database(served):
    served.call("CreateTable", TABLE, "local", "eu-west-2")
    assert served.ask(*LIST, authorization=None).json == {"TableNames": ["things"]}


def test_a_presigned_request_uses_the_database_of_its_credential(served):
    served.call("CreateTable", TABLE, "one", "us-east-1")
    query = (
        "/?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=one%2F20260314%2Fus-east-1%2Fdynamodb%2Faws4_request"
        "&X-Amz-Date=20260314T150926Z&X-Amz-SignedHeaders=host&X-Amz-Signature=0"
    )
    assert served.ask(*LIST, path=query, authorization=None).json == {"TableNames": ["things"]}


@pytest.mark.parametrize("region", ["..", "a.b", "%2e%2e", "x" * 65, "a\\b"])
def test_a_region_that_can_be_no_region_is_refused(served, region):
    response = served.ask(*LIST, authorization=sign(region=region))
    assert (response.status, response.error) == (400, "InvalidSignatureException")


@pytest.mark.parametrize(
    "form",
    [
        "AWS4-HMAC-SHA256 Credential={}/20261116/{}/dynamodb/aws4_request, SignedHeaders=host, Signature=x",
        "AWS4-HMAC-SHA256 Credential={}/20261116/{}/dynamodb/aws4_request, SignedHeaders=host, Signature=" + "0" * 40,
        "AWS4-HMAC-SHA256 SignedHeaders=host,Signature="
        + "0" * 64
        + ",Credential={}/20261116/{}/dynamodb/aws4_request",
        "AWS4-HMAC-SHA256 SignedHeaders=host, Signature=" + "0" * 64 + ", Credential={}/20261116/{}",
        "AWS4-HMAC-SHA256 SignedHeaders=host, Signature="
        + "0" * 9
        + ", Credential={}/20261116/{}/dynamodb/aws4_request",
    ],
)
def test_headers_of_every_length_and_order_lead_to_their_own_database(served, form):
    pairs = [("app", "eu-west-1"), ("app", "us-east-1"), ("app", "eu-west-2"), ("bob", "eu-west-1")]
    client = Client(int(served.server.url.rpartition(":")[2]))
    for key, region in pairs:
        table = {**TABLE, "TableName": f"{key}-{region}"}
        assert client.ask(build("CreateTable", table, authorization=form.format(key, region))).status == 200
    client.close()
    for key, region in pairs:
        assert served.list_tables(key, region) == [f"{key}-{region}"]


def test_only_the_credential_itself_names_the_database(served):
    served.call("CreateTable", TABLE, "victim")
    other = sign("app").replace("SHA256 ", "SHA256 XCredential=victim/1/eu-west-2/x, ")
    assert served.ask(*LIST, authorization=other).json == {"TableNames": []}


@pytest.mark.parametrize("name", ["Credential", "SignedHeaders", "Signature"])
def test_a_header_that_names_a_parameter_twice_is_refused(served, name):
    value = sign("victim").split(f"{name}=")[1].split(",")[0]
    response = served.ask(*LIST, authorization=f"{sign('app')}, {name}={value}")
    assert (response.status, response.error) == (400, "IncompleteSignatureException")
    assert f"Authorization header has '{name}' twice." in json.loads(response.body)["message"]


@pytest.mark.parametrize("key", ["x" * 129, "%" * 128, "\xff" * 60])
def test_an_access_key_that_is_too_long_is_refused(tmp_path, key):
    with Served(tmp_path) as served:
        response = served.ask(*LIST, authorization=sign(key))
    assert (response.status, response.error) == (400, "InvalidSignatureException")
    assert "access key in Credential is too long" in json.loads(response.body)["message"]


@pytest.mark.parametrize("on_disk", [True, False], ids=["disk", "memory"])
def test_invented_access_keys_keep_nobody_out(tmp_path, monkeypatch, on_disk):
    monkeypatch.setattr(separate_databases, "MAX_DATABASES", 3)
    monkeypatch.setattr(separate_databases, "MAX_REMEMBERED", 8)
    with Served(tmp_path if on_disk else None) as served:
        served.call("CreateTable", TABLE, "one")
        for number in range(20):
            assert served.list_tables(f"invented{number}") == []
            assert served.list_tables("one") == ["things"]
        served.call("CreateTable", TABLE, "invented3")
        assert served.list_tables("invented3") == ["things"]
        assert len(served.databases.engines) == 3


def find_keys(directory):
    return {path.name for path in (directory / "databases").iterdir()}


PUT = ("PutItem", {"TableName": "things", "Item": {"pk": {"S": "a"}}})


def test_an_access_key_gets_a_directory_with_its_first_table(tmp_path):
    with Served(tmp_path) as served:
        refused = [LIST, PUT, ("DeleteTable", {"TableName": "things"}), ("CreateTable", {**TABLE, "KeySchema": []})]
        for number, (operation, request) in enumerate(refused):
            response = served.ask(operation, request, authorization=sign(f"invented{number}"))
            assert response.status == (200 if operation == "ListTables" else 400)
        assert find_keys(tmp_path) == {"local"}
        served.call("CreateTable", TABLE, "used")
        served.call(*PUT, "used")
        assert find_keys(tmp_path) == {"local", "used"}
    with Served(tmp_path) as served:
        assert served.call("Scan", {"TableName": "things"}, "used")["Count"] == 1


def test_a_pipelined_request_sees_the_table_that_made_the_directory(tmp_path):
    with Served(tmp_path) as served:
        client = Client(int(served.server.url.rpartition(":")[2]))
        requests = [LIST, ("CreateTable", TABLE), PUT, LIST]
        client.send(b"".join(build(*request, authorization=sign("used")) for request in requests))
        responses = [client.read() for _ in requests]
        client.close()
        assert [response.status for response in responses] == [200] * 4
        assert [responses[at].json["TableNames"] for at in (0, 3)] == [[], ["things"]]
        assert served.call("Scan", {"TableName": "things"}, "used")["Count"] == 1


def test_the_number_of_directories_is_limited(tmp_path, monkeypatch):
    monkeypatch.setattr(separate_databases, "MAX_DIRECTORIES", 3)
    with Served(tmp_path) as served:
        for key in ("one", "two"):
            served.call("CreateTable", TABLE, key)
        response = served.ask("CreateTable", TABLE, authorization=sign("three"))
        assert response.error == "LimitExceededException"
        assert "--shared" in json.loads(response.body)["message"]
        assert find_keys(tmp_path) == {"local", "one", "two"}
        served.call("CreateTable", {**TABLE, "TableName": "others"}, "one")


def test_databases_on_disk_are_closed_and_opened_again(tmp_path, monkeypatch):
    monkeypatch.setattr(separate_databases, "MAX_DATABASES", 3)
    with Served(tmp_path) as served:
        for number in range(6):
            served.call("CreateTable", TABLE, f"key{number}")
        assert [served.list_tables(f"key{number}") for number in range(6)] == [["things"]] * 6
        assert len(served.databases.engines) == 3


def test_a_database_with_uncommitted_writes_is_not_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(separate_databases, "MAX_DATABASES", 3)
    databases = Served(tmp_path).databases
    busy, idle = (databases._find(key, "eu-west-2") for key in ("one", "two"))
    busy.begin()
    databases._find("three", "eu-west-2")
    assert (busy.closed, idle.closed) == (False, True)
    busy.end()
    databases.close()


def test_there_are_at_most_100_databases_with_tables_in_memory(served, monkeypatch):
    monkeypatch.setattr(separate_databases, "MAX_DATABASES", 3)
    for key in ("one", "two"):
        served.call("CreateTable", TABLE, key)
    response = served.ask(*LIST, authorization=sign("three"))
    assert response.error == "LimitExceededException"
    assert "--shared" in json.loads(response.body)["message"]


@pytest.mark.parametrize("key", ["AKID", "..", "a.b", "a:b"])
def test_data_are_kept_in_a_directory_per_key_and_region(tmp_path, key):
    with Served(tmp_path) as served:
        served.call("CreateTable", TABLE, key, "us-east-1")
    with Served(tmp_path) as served:
        assert served.list_tables(key, "us-east-1") == ["things"]
        assert served.list_tables(key, "us-west-1") == []
    for path in tmp_path.rglob("hashrange.db"):
        assert path.relative_to(tmp_path).parts[0] == "databases"
        assert len(path.relative_to(tmp_path).parts) == 4
    with hashrange.open(locate_database(tmp_path, key, "us-east-1")) as database:
        assert database.region == "us-east-1"


def test_background_work_is_done_in_every_database(served):
    served.call("CreateTable", TABLE, "one", "us-east-1")
    engine = served.databases._find("one", "us-east-1")
    engine.call(
        "UpdateTimeToLive", {"TableName": "things", "TimeToLiveSpecification": {"Enabled": True, "AttributeName": "x"}}
    )
    engine.call("PutItem", {"TableName": "things", "Item": {"pk": {"S": "a"}, "x": {"N": "1700000000"}}})
    while served.call("Scan", {"TableName": "things"}, "one", "us-east-1")["Count"]:
        pass


def test_faults_hold_for_every_database():
    served = Served()
    served.faults = Faults()
    served.faults.throttle("ListTables", times=1)
    with served:
        response = served.ask(*LIST, authorization=sign("other", "us-east-1"))
        assert response.error == "ProvisionedThroughputExceededException"
