"""The directory's tables and patterns, embedded and over the wire."""

import pytest

import hashrange
from hashrange_systems.kelifax.schema import Kelifax


@pytest.fixture
def db(database, clock):
    hashrange.create_tables(database, Kelifax)
    return Kelifax.open(database, clock=clock)
