"""The aura patterns on a database with their table."""

import pytest

import hashrange
from hashrange_systems.aura.schema import Aura


@pytest.fixture
def db(database, clock):
    """The patterns, on an empty table made from their declaration."""
    hashrange.create_tables(database, Aura)
    return Aura.open(database, clock=clock)
