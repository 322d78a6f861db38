"""The checks' tables and patterns, embedded and over the wire."""

import pytest

import hashrange
from hashrange_systems.checks.schema import Checks
from systems.tests.checks.check_items import TABLES
from systems.tests.checks.services import ServiceSet


@pytest.fixture
def db(database, clock):
    hashrange.create_tables(database, Checks)
    if not hasattr(database, "clock"):
        keep_what_expires(database)
    return Checks.open(database, clock=clock)


def keep_what_expires(database):
    """Disable TTL on a server: by its clock, everything that a test writes has already expired."""
    setting = {"AttributeName": "expiresAt", "Enabled": False}
    for table in TABLES:
        database.call("UpdateTimeToLive", {"TableName": table, "TimeToLiveSpecification": setting})


@pytest.fixture
def services(database, clock, db):
    """The services for users and their checks, on the same tables."""
    return ServiceSet(database, clock)
