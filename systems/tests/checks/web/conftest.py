"""The web tests use the embedded engine only; the service tests run over the wire too."""

import pytest

import hashrange
from hashrange_systems.checks.schema import Checks
from systems.tests.browser import page  # noqa: F401 a fixture
from systems.tests.checks.web.web_client import WebClient
from tests.browser.chromium import chromium  # noqa: F401 a fixture


@pytest.fixture
def opened(clock):
    with hashrange.open(clock=clock) as database:
        hashrange.create_tables(database, Checks)
        yield database


@pytest.fixture
def client(opened, clock):
    return WebClient(opened, clock)


@pytest.fixture
def ann(client):
    return client.sign_up("ann", "PRO")


@pytest.fixture
def bob(client):
    return client.sign_up("bob", "PRO")
