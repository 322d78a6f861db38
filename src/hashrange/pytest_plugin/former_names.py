"""The fixtures under their names until version 0.2: `dynamodb` for `hashrange_db`, and so on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from hashrange.client.database import Database
    from hashrange.core.clock import ManualClock
    from hashrange.faults.faults import Faults


@pytest.fixture
def dynamodb(hashrange_db: Database) -> Database:
    """The former name of `hashrange_db`."""
    return hashrange_db


@pytest.fixture
def dynamodb_clock(hashrange_clock: ManualClock) -> ManualClock:
    """The former name of `hashrange_clock`."""
    return hashrange_clock


@pytest.fixture
def dynamodb_faults(hashrange_faults: Faults) -> Faults:
    """The former name of `hashrange_faults`."""
    return hashrange_faults


@pytest.fixture
def dynamodb_client(dynamodb: Database) -> Any:
    """The former name of `hashrange_client`."""
    return dynamodb.client()


@pytest.fixture
def dynamodb_resource(dynamodb: Database) -> Any:
    """The former name of `hashrange_resource`."""
    return dynamodb.resource()


@pytest.fixture
def dynamodb_streams_client(dynamodb: Database) -> Any:
    """The former name of `hashrange_streams_client`."""
    return dynamodb.streams_client()


@pytest.fixture
def dynamodb_boto3(dynamodb: Database) -> Iterator[Database]:
    """The former name of `hashrange_boto3`."""
    from hashrange import patch_boto3

    with patch_boto3(database=dynamodb):
        yield dynamodb
