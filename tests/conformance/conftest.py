"""Every conformance test runs on each target: in process, over the wire, or on any endpoint (`--target URL`)."""

import pytest

from tests.conformance.table import Table, define
from tests.conformance.target import EmbeddedTarget, EndpointTarget
from tests.conftest import LOCAL_TARGETS


def pytest_generate_tests(metafunc):
    if "target" in metafunc.fixturenames:
        targets = metafunc.config.getoption("target") or LOCAL_TARGETS
        metafunc.parametrize("target", targets, indirect=True, scope="session")


@pytest.fixture(scope="session")
def target(request):
    """Where this test runs."""
    if request.param == "embedded":
        opened = EmbeddedTarget()
    else:
        is_server = request.param == "server"
        opened = EndpointTarget(request.getfixturevalue("server_url") if is_server else request.param)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def client(target):
    """What `boto3.client("dynamodb")` gives, without its own checks of parameters."""
    return target.client("dynamodb")


@pytest.fixture(scope="session")
def streams(target):
    """What `boto3.client("dynamodbstreams")` gives, without its own checks of parameters."""
    return target.client("dynamodbstreams")


@pytest.fixture(scope="session")
def send(target):
    """`send("PutItem", {...} or bytes)`: the raw status and JSON, for input that boto3 cannot produce."""
    return target.send


@pytest.fixture
def make_table(client):
    """`make_table("pk:S / sk:N", gsi={"gsi": "a:S"})` creates a table that is gone after the test."""
    made = []

    def make(keys="pk:S", **options):
        table = Table(client, define(keys, **options))
        made.append(table)
        table.create()
        return table

    yield make
    for table in made:
        table.drop()


@pytest.fixture
def table(make_table):
    """A table with the partition key `pk`, a string."""
    return make_table("pk:S")


@pytest.fixture
def sorted_table(make_table):
    """A table with the partition key `pk`, a string, and the sort key `sk`, a number."""
    return make_table("pk:S / sk:N")
