"""The pytest plugin, as its users' tests see it."""

import subprocess
import sys

CREATE = """
    TABLE = dict(
        TableName="things",
        KeySchema=[dict(AttributeName="pk", KeyType="HASH")],
        AttributeDefinitions=[dict(AttributeName="pk", AttributeType="S")],
        BillingMode="PAY_PER_REQUEST",
    )
"""


def run(pytester, tests):
    pytester.makepyfile(CREATE + tests)
    return pytester.runpytest_inprocess("-p", "no:cacheprovider")


def test_each_test_has_a_database_of_its_own(pytester):
    outcome = run(
        pytester,
        """
    import pytest

    @pytest.mark.parametrize("time", [1, 2])
    def test_fresh(hashrange_db, time):
        hashrange_db.create_table(**TABLE)
        assert hashrange_db.list_tables() == {"TableNames": ["things"]}
""",
    )
    outcome.assert_outcomes(passed=2)


def test_all_fixtures_of_a_test_share_its_database(pytester):
    outcome = run(
        pytester,
        """
    def test_shared(hashrange_db, hashrange_client, hashrange_resource, hashrange_streams_client, hashrange_boto3):
        import boto3

        hashrange_client.create_table(**TABLE)
        hashrange_resource.Table("things").put_item(Item={"pk": "a"})
        assert hashrange_db.scan(TableName="things")["Count"] == 1
        assert hashrange_streams_client.list_streams()["Streams"] == []
        assert boto3.resource("dynamodb").Table("things").item_count == 1
""",
    )
    outcome.assert_outcomes(passed=1)


def test_the_clock_moves_the_database_of_a_test_that_asks_for_it(pytester):
    outcome = run(
        pytester,
        """
    import time

    def test_expiry(hashrange_client, hashrange_clock, hashrange_db):
        hashrange_client.create_table(**TABLE)
        hashrange_client.update_time_to_live(
            TableName="things", TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires"}
        )
        hashrange_client.put_item(
            TableName="things", Item={"pk": {"S": "a"}, "expires": {"N": str(int(time.time()) + 3600)}}
        )
        hashrange_db.wait_until_idle()
        assert hashrange_client.scan(TableName="things")["Count"] == 1
        hashrange_clock.advance(3700)
        hashrange_db.wait_until_idle()
        assert hashrange_client.scan(TableName="things")["Count"] == 0

    def test_time_goes_on_otherwise(hashrange_db):
        made = hashrange_db.create_table(**TABLE)["TableDescription"]["CreationDateTime"]
        assert abs(made - time.time()) < 60
""",
    )
    outcome.assert_outcomes(passed=2)


def test_the_fixtures_are_listed_with_what_they_do(pytester):
    outcome = pytester.runpytest_inprocess("--fixtures", "-q")
    outcome.stdout.fnmatch_lines(["hashrange_db -- *", "*fresh in-memory DynamoDB*", "hashrange_client -- *"])


def test_installing_the_plugin_loads_nothing():
    program = (
        "import sys, hashrange.pytest_plugin; "
        "heavy = {'boto3', 'botocore', 'apsw', 'orjson', 'hashrange.engine', 'hashrange.client'}; "
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)"
    )
    outcome = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr


def test_calls_go_wrong_in_the_database_of_a_test_that_asks_for_it(pytester):
    outcome = run(
        pytester,
        """
    import pytest

    def test_throttled(hashrange_client, hashrange_faults, hashrange_clock, hashrange_db):
        hashrange_db.create_table(**TABLE)
        fault = hashrange_faults.throttle("PutItem", times=1)
        hashrange_client.put_item(TableName="things", Item={"pk": {"S": "a"}})
        assert (fault.applied, fault.seen) == (1, 2)
        assert hashrange_db.clock is hashrange_clock

    def test_sound(hashrange_db):
        assert hashrange_db.engine.faults is None
""",
    )
    outcome.assert_outcomes(passed=2)


FORMER = """
    def test_shared(dynamodb, dynamodb_client, dynamodb_resource, dynamodb_streams_client, dynamodb_boto3):
        import boto3

        assert dynamodb is dynamodb_boto3
        dynamodb_client.create_table(**TABLE)
        dynamodb_resource.Table("things").put_item(Item={"pk": "a"})
        assert dynamodb_streams_client.list_streams()["Streams"] == []
        assert boto3.resource("dynamodb").Table("things").item_count == 1

    def test_controlled(dynamodb, dynamodb_clock, dynamodb_faults):
        assert dynamodb.clock is dynamodb_clock
        assert dynamodb.engine.faults is not None
"""


def test_the_former_names_of_the_fixtures_still_work(pytester):
    run(pytester, FORMER).assert_outcomes(passed=2)


def test_a_conftest_may_override_a_former_name_and_use_it(pytester):
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture
        def dynamodb(dynamodb):
            dynamodb.create_table(
                TableName="made", KeySchema=[dict(AttributeName="pk", KeyType="HASH")], BillingMode="PAY_PER_REQUEST",
                AttributeDefinitions=[dict(AttributeName="pk", AttributeType="S")],
            )
            return dynamodb
        """
    )
    outcome = run(
        pytester,
        """
    def test_made(dynamodb_client):
        assert dynamodb_client.list_tables()["TableNames"] == ["made"]
""",
    )
    outcome.assert_outcomes(passed=1)


def test_a_fixture_of_another_plugin_keeps_its_name(pytester):
    pytester.makepyfile(
        another_plugin="""
        import pytest

        @pytest.fixture
        def dynamodb():
            return "another"
        """
    )
    pytester.makepyfile(
        """
        def test_both(dynamodb, hashrange_db):
            assert dynamodb == "another"
            assert hashrange_db.list_tables() == {"TableNames": []}
        """
    )
    pytester.syspathinsert()
    outcome = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "another_plugin")
    outcome.assert_outcomes(passed=1)
    assert (
        "dynamodb_client" not in pytester.runpytest_inprocess("--fixtures", "-q", "-p", "another_plugin").stdout.str()
    )


POST = """
    import json
    import os
    import urllib.request

    import pytest

    def post(url, operation, **members):
        scope = "a/20260101/eu-west-2/dynamodb/aws4_request"
        signature = f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0"
        headers = {
            "Authorization": signature,
            "X-Amz-Date": "20260101T000000Z",
            "X-Amz-Target": f"DynamoDB_20120810.{operation}",
            "Content-Type": "application/x-amz-json-1.0",
        }
        request = urllib.request.Request(url, json.dumps(members).encode(), headers)
        with urllib.request.urlopen(request) as response:
            return json.load(response)
"""


def test_the_url_serves_the_database_of_the_test(pytester):
    outcome = run(
        pytester,
        POST
        + """
    @pytest.mark.parametrize("time", [1, 2])
    def test_served(hashrange_url, hashrange_db, time):
        assert post(hashrange_url, "ListTables") == {"TableNames": []}
        post(hashrange_url, "CreateTable", **TABLE)
        assert hashrange_db.list_tables() == {"TableNames": ["things"]}
        hashrange_db.reset()
        assert post(hashrange_url, "ListTables") == {"TableNames": []}

    def test_controlled(hashrange_url, hashrange_clock, hashrange_faults):
        hashrange_clock.set(4_000_000_000)
        assert post(hashrange_url, "CreateTable", **TABLE)["TableDescription"]["CreationDateTime"] == 4_000_000_000
        hashrange_faults.throttle("ListTables", times=1)
        with pytest.raises(urllib.error.HTTPError) as refused:
            post(hashrange_url, "ListTables")
        refused.value.close()
""",
    )
    outcome.assert_outcomes(passed=3)


def test_the_operations_can_be_awaited(pytester):
    outcome = run(
        pytester,
        """
    import asyncio

    import pytest

    def test_awaited(hashrange_async_db, hashrange_db):
        async def work():
            await hashrange_async_db.create_table(**TABLE)
            await hashrange_async_db.call("PutItem", {"TableName": "things", "Item": {"pk": {"S": "a"}}})
            with pytest.raises(AttributeError, match="no attribute 'putitem'"):
                hashrange_async_db.putitem
            assert "put_item" in dir(hashrange_async_db)
            return await hashrange_async_db.scan(TableName="things")

        assert asyncio.run(work())["Count"] == 1
        assert hashrange_db.scan(TableName="things")["Count"] == 1
""",
    )
    outcome.assert_outcomes(passed=1)


SESSION = (
    POST
    + """
    SEEN = set()

    @pytest.fixture(scope="session")
    def service(hashrange_session_db, hashrange_session_url):
        return hashrange_session_db.client(), hashrange_session_url

    @pytest.fixture(autouse=True)
    def empty(hashrange_session_db):
        yield
        hashrange_session_db.reset()

    @pytest.mark.parametrize("number", range(20))
    def test_reset(service, number, tmp_path_factory):
        client, url = service
        SEEN.add(url)
        assert len(SEEN) == 1
        assert post(url, "ListTables") == {"TableNames": []} == {"TableNames": client.list_tables()["TableNames"]}
        post(url, "CreateTable", **TABLE)
        client.put_item(TableName="things", Item={"pk": {"S": str(number)}})
        assert post(url, "Scan", TableName="things")["Items"] == [{"pk": {"S": str(number)}}]
        folder = tmp_path_factory.getbasetemp().parent if "PYTEST_XDIST_WORKER" in os.environ else None
        if folder:
            (folder / ("port-" + url.rpartition(":")[2])).touch()
"""
)


def test_one_database_serves_the_session_and_is_reset_between_tests(pytester):
    run(pytester, SESSION).assert_outcomes(passed=20)


def test_each_worker_of_xdist_has_its_own_server(pytester):
    pytester.makepyfile(CREATE + SESSION)
    outcome = pytester.runpytest_subprocess("-p", "no:schemathesis", "-n", "2", "--basetemp", str(pytester.path / "t"))
    outcome.assert_outcomes(passed=20)
    assert len(list((pytester.path / "t").glob("port-*"))) == 2
