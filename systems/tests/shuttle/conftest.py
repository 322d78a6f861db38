"""The shuttle's tables and patterns on a database, in the year 2033.

A real server deletes what has expired by its own clock. These tests' times are later than that clock, so that only
the sessions' clock, which is moved by hand, decides what is over.
"""

from datetime import UTC, datetime

import pytest

import hashrange
from hashrange import LocalKeys, ManualClock
from hashrange_systems.shuttle.schema import Operator, Shuttle

START = 2_000_000_000  # 2033-05-18T03:33:20Z


@pytest.fixture
def clock():
    return ManualClock(START)


@pytest.fixture
def now(clock):
    """The time at the start of the test."""
    return datetime.fromtimestamp(clock.millis() / 1000, UTC)


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    monkeypatch.delenv("ENVIRONMENT", raising=False)


@pytest.fixture
def tables(database):
    """A database with the three tables."""
    hashrange.create_tables(database, Shuttle, Operator)
    return database


@pytest.fixture
def keys():
    return LocalKeys.generate()


@pytest.fixture
def shuttle(tables, clock):
    return Shuttle.open(tables, clock=clock)


@pytest.fixture
def operator(tables, clock, keys):
    return Operator.open(tables, clock=clock, keys=keys)
