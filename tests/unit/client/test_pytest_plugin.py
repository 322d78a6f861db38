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
    def test_fresh(dynamodb, time):
        dynamodb.create_table(**TABLE)
        assert dynamodb.list_tables() == {"TableNames": ["things"]}
""",
    )
    outcome.assert_outcomes(passed=2)


def test_all_fixtures_of_a_test_share_its_database(pytester):
    outcome = run(
        pytester,
        """
    def test_shared(dynamodb, dynamodb_client, dynamodb_resource, dynamodb_streams_client, dynamodb_boto3):
        import boto3

        dynamodb_client.create_table(**TABLE)
        dynamodb_resource.Table("things").put_item(Item={"pk": "a"})
        assert dynamodb.scan(TableName="things")["Count"] == 1
        assert dynamodb_streams_client.list_streams()["Streams"] == []
        assert boto3.resource("dynamodb").Table("things").item_count == 1
""",
    )
    outcome.assert_outcomes(passed=1)


def test_the_clock_moves_the_database_of_a_test_that_asks_for_it(pytester):
    outcome = run(
        pytester,
        """
    import time

    def test_expiry(dynamodb_client, dynamodb_clock, dynamodb):
        dynamodb_client.create_table(**TABLE)
        dynamodb_client.update_time_to_live(
            TableName="things", TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires"}
        )
        dynamodb_client.put_item(
            TableName="things", Item={"pk": {"S": "a"}, "expires": {"N": str(int(time.time()) + 3600)}}
        )
        dynamodb.settle()
        assert dynamodb_client.scan(TableName="things")["Count"] == 1
        dynamodb_clock.advance(3700)
        dynamodb.settle()
        assert dynamodb_client.scan(TableName="things")["Count"] == 0

    def test_time_goes_on_otherwise(dynamodb):
        made = dynamodb.create_table(**TABLE)["TableDescription"]["CreationDateTime"]
        assert abs(made - time.time()) < 60
""",
    )
    outcome.assert_outcomes(passed=2)


def test_the_fixtures_are_listed_with_what_they_do(pytester):
    outcome = pytester.runpytest_inprocess("--fixtures", "-q")
    outcome.stdout.fnmatch_lines(["dynamodb -- *", "*fresh in-memory DynamoDB*", "dynamodb_client -- *"])


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

    def test_throttled(dynamodb_client, dynamodb_faults, dynamodb_clock, dynamodb):
        dynamodb.create_table(**TABLE)
        fault = dynamodb_faults.throttle("PutItem", times=1)
        dynamodb_client.put_item(TableName="things", Item={"pk": {"S": "a"}})
        assert (fault.struck, fault.seen) == (1, 2)
        assert dynamodb.clock is dynamodb_clock

    def test_sound(dynamodb):
        assert dynamodb.engine.faults is None
""",
    )
    outcome.assert_outcomes(passed=2)
