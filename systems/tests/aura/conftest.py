"""The aura patterns on a database with their table, and the application on them."""

import pytest

import hashrange
from hashrange import LocalKeys
from hashrange_systems.aura.schema import Aura
from hashrange_systems.aura.service.site import make_sandbox
from hashrange_systems.aura.work_schema import AuraAccounts, Work, checkpoints
from systems.tests.aura.services import AuraServices


@pytest.fixture
def db(database, clock):
    """The patterns, on an empty table made from their declaration."""
    hashrange.create_tables(database, Aura)
    return Aura.open(database, clock=clock)


@pytest.fixture
def work(database, clock):
    """The patterns of the working table."""
    hashrange.create_tables(database, Work, AuraAccounts, checkpoints)
    if not isinstance(database, hashrange.Database):
        keep_expired_items(database)
    return Work.open(database, clock=clock, keys=LocalKeys.generate())


def keep_expired_items(database):
    """Let a server delete nothing by TTL: its clock has the time of today, and the test's has not.

    The URLs of a frontier expire after months, which had passed: a crawl that took long found none of them any more.
    """
    for table, attribute in (("aura-historia-work", "expires_at"), ("aura-historia-accounts", "expiresAt")):
        ttl = {"Enabled": False, "AttributeName": attribute}
        database.call("UpdateTimeToLive", {"TableName": table, "TimeToLiveSpecification": ttl})


@pytest.fixture(scope="session")
def sandbox():
    """One sandbox for all tests: its processes are used again."""
    opened = make_sandbox()
    yield opened
    opened.close()


@pytest.fixture
def services(database, db, work, clock, sandbox):
    """The services, on the tables."""
    return AuraServices(database, clock, sandbox)
