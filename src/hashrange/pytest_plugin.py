"""The pytest plugin: `dynamodb`, a fresh in-memory database per test, and boto3 objects that run on it.

Everything is imported when a fixture is used, so that the plugin costs nothing to tests which use none.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from hashrange.client.database import Database
    from hashrange.core.clock import ManualClock
    from hashrange.engine.faults.faults import Faults


@pytest.fixture
def dynamodb(request: pytest.FixtureRequest) -> Iterator[Database]:
    """A fresh in-memory DynamoDB, with the `dynamodb_clock` and the `dynamodb_faults` that the test asks for."""
    from hashrange.client.database import open_database

    wanted = [name for name in ("clock", "faults") if f"dynamodb_{name}" in request.fixturenames]
    with open_database(**{name: request.getfixturevalue(f"dynamodb_{name}") for name in wanted}) as database:
        yield database


@pytest.fixture
def dynamodb_clock() -> ManualClock:
    """The clock of the test's `dynamodb`: it starts now and stands still until `advance(seconds)` or `set(seconds)`."""
    from hashrange.core.clock import ManualClock

    return ManualClock(time.time())


@pytest.fixture
def dynamodb_faults() -> Faults:
    """What goes wrong in the test's `dynamodb`: nothing until `throttle(...)`, `fail(...)` or the like."""
    from hashrange.engine.faults.faults import Faults

    return Faults()


@pytest.fixture
def dynamodb_client(dynamodb: Database) -> Any:
    """What `boto3.client("dynamodb")` returns, on the test's `dynamodb`."""
    return dynamodb.client()


@pytest.fixture
def dynamodb_resource(dynamodb: Database) -> Any:
    """What `boto3.resource("dynamodb")` returns, on the test's `dynamodb`."""
    return dynamodb.resource()


@pytest.fixture
def dynamodb_streams_client(dynamodb: Database) -> Any:
    """What `boto3.client("dynamodbstreams")` returns, on the test's `dynamodb`."""
    return dynamodb.streams_client()


@pytest.fixture
def dynamodb_boto3(dynamodb: Database) -> Iterator[Database]:
    """The test's `dynamodb`, and every DynamoDB client that the tested code makes with boto3 runs on it."""
    from hashrange.client.patch import patch_boto3

    with patch_boto3(database=dynamodb):
        yield dynamodb
