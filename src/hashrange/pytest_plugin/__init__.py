"""The pytest plugin: `hashrange_db`, a fresh in-memory database per test, and boto3 objects and URLs that use it.

Everything is imported when a fixture is used, so that the plugin costs nothing to tests which use none.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from hashrange.client.database import AsyncDatabase, Database
    from hashrange.core.clock import ManualClock
    from hashrange.faults.faults import Faults

FORMER_NAMES = (
    "dynamodb",
    "dynamodb_clock",
    "dynamodb_faults",
    "dynamodb_client",
    "dynamodb_resource",
    "dynamodb_streams_client",
    "dynamodb_boto3",
)


@pytest.fixture
def hashrange_db(request: pytest.FixtureRequest) -> Iterator[Database]:
    """A fresh in-memory DynamoDB, with the `hashrange_clock` and `hashrange_faults` if the test uses them."""
    from hashrange.client.database import open_database

    wanted = [name for name in ("clock", "faults") if f"hashrange_{name}" in request.fixturenames]
    with open_database(**{name: request.getfixturevalue(f"hashrange_{name}") for name in wanted}) as database:
        yield database


@pytest.fixture
def hashrange_clock() -> ManualClock:
    """The clock of the test's `hashrange_db`: starts now, and does not move until `advance(...)` or `set(...)`."""
    from hashrange.core.clock import ManualClock

    return ManualClock(time.time())


@pytest.fixture
def hashrange_faults() -> Faults:
    """The faults injected into the test's `hashrange_db`: none until `throttle(...)`, `fail(...)` or the like."""
    from hashrange.faults.faults import Faults

    return Faults()


@pytest.fixture
def hashrange_client(hashrange_db: Database) -> Any:
    """What `boto3.client("dynamodb")` returns, on the test's `hashrange_db`."""
    return hashrange_db.client()


@pytest.fixture
def hashrange_resource(hashrange_db: Database) -> Any:
    """What `boto3.resource("dynamodb")` returns, on the test's `hashrange_db`."""
    return hashrange_db.resource()


@pytest.fixture
def hashrange_streams_client(hashrange_db: Database) -> Any:
    """What `boto3.client("dynamodbstreams")` returns, on the test's `hashrange_db`."""
    return hashrange_db.streams_client()


@pytest.fixture
def hashrange_boto3(hashrange_db: Database) -> Iterator[Database]:
    """The test's `hashrange_db`; every DynamoDB client that the tested code creates with boto3 uses it."""
    from hashrange import patch_boto3

    with patch_boto3(database=hashrange_db):
        yield hashrange_db


@pytest.fixture
def hashrange_async_db(hashrange_db: Database) -> AsyncDatabase:
    """The test's `hashrange_db` with operations to await: `await hashrange_async_db.put_item(...)`."""
    from hashrange.client.database import AsyncDatabase

    return AsyncDatabase(hashrange_db)


@pytest.fixture
def hashrange_url(hashrange_db: Database) -> Iterator[str]:
    """The URL of an HTTP server on the test's `hashrange_db`, for any client in any language."""
    with _serve(hashrange_db) as url:
        yield url


@pytest.fixture(scope="session")
def hashrange_session_db() -> Iterator[Database]:
    """An in-memory DynamoDB for the whole run, or each worker of pytest-xdist; `reset()` empties it between tests."""
    from hashrange.client.database import open_database

    with open_database() as database:
        yield database


@pytest.fixture(scope="session")
def hashrange_session_url(hashrange_session_db: Database) -> Iterator[str]:
    """The URL of an HTTP server on `hashrange_session_db`; it stays the same when that is reset."""
    with _serve(hashrange_session_db) as url:
        yield url


@contextmanager
def _serve(database: Database) -> Iterator[str]:
    """Serve a database on a free port, so that parallel runs do not meet."""
    from hashrange.server.runner import serve_in_background

    with serve_in_background(database.engine) as server, database.on_reset(server.replace_engine):
        yield server.url


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Register the former fixture names, unless another plugin, such as pytest-dynamodb, provides one of them."""
    others = (plugin for plugin in config.pluginmanager.get_plugins() if not _is_conftest(plugin))
    if not any(hasattr(plugin, name) for plugin in others for name in FORMER_NAMES):
        former = import_module("hashrange.pytest_plugin.former_names")
        config.pluginmanager.register(former, former.__name__)


def _is_conftest(plugin: object) -> bool:
    """Return whether a plugin is a conftest.py, whose fixtures may override and use those of plugins."""
    return isinstance(plugin, ModuleType) and str(plugin.__file__).endswith("conftest.py")
