"""The directory's tables and patterns, embedded and over the wire; and its services."""

import time

import pytest
from argon2 import PasswordHasher

import hashrange
from hashrange import ManualClock
from hashrange_systems.kelifax.schema import Kelifax
from hashrange_systems.shared.accounts import password
from systems.tests.kelifax.services import KelifaxServices


@pytest.fixture
def db(database, clock):
    hashrange.create_tables(database, Kelifax)
    return Kelifax.open(database, clock=clock)


@pytest.fixture
def quick_hashes(monkeypatch):
    """Argon2 with little work: what is tested is what happens around it."""
    hasher = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)
    monkeypatch.setattr(password, "open_hasher", lambda: hasher)
    monkeypatch.setattr(password, "make_dummy_hash", lambda: hasher.hash("none"))


@pytest.fixture
def kelifax(clock):
    """The services on a database in memory."""
    with hashrange.open(clock=clock) as opened:
        yield KelifaxServices(opened, clock)


@pytest.fixture
def services_anywhere(database, clock):
    """The services embedded, and over the wire; a real server deletes what has expired by its own clock."""
    embedded = isinstance(database, hashrange.Database)
    return KelifaxServices(database, clock if embedded else ManualClock(int(time.time())))
