"""The sample system, in this process and over HTTP."""

import time

import pytest
from argon2 import PasswordHasher

from hashrange import ManualClock
from hashrange_systems.shared.accounts import password
from systems.tests.shared.accounts.sample_system import make_system

DAY = 86_400


@pytest.fixture(autouse=True)
def quick_hashes(monkeypatch):
    """Argon2 with little work: what is tested is what happens around it."""
    hasher = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)
    monkeypatch.setattr(password, "open_hasher", lambda: hasher)
    monkeypatch.setattr(password, "make_dummy_hash", lambda: hasher.hash("none"))


@pytest.fixture
def clock():
    """Noon in two days: a real server deletes what expires by its own clock, which is behind."""
    return ManualClock((int(time.time()) // DAY + 2) * DAY + DAY // 2)


@pytest.fixture
def sample(database, clock):
    """The services."""
    return make_system(database, clock)
