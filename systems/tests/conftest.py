"""Where the systems' schemas run: in this process, and over HTTP to a real server."""

import pytest

import hashrange
from hashrange import ManualClock
from tests.conftest import server_url  # noqa: F401 a fixture

NOON = 1_768_478_400  # 2026-01-15T12:00:00Z


@pytest.fixture
def clock():
    """The sessions' clock: noon of 15 January 2026, until a test moves it."""
    return ManualClock(NOON)


@pytest.fixture(params=["embedded", "wire"])
def database(request, clock):
    """A database without tables."""
    if request.param == "embedded":
        with hashrange.open(clock=clock) as opened:
            yield opened
        return
    remote = hashrange.connect(request.getfixturevalue("server_url"))
    yield remote
    for name in remote.call("ListTables", {})["TableNames"]:
        remote.call("UpdateTable", {"TableName": name, "DeletionProtectionEnabled": False})
        remote.call("DeleteTable", {"TableName": name})
    remote.close()
