"""The web tests use the embedded engine only; the service tests run over the wire too."""

import pytest

import hashrange
from systems.tests.kelifax.web.web_client import WebClient
from tests.browser.chromium import chromium  # noqa: F401 a fixture


@pytest.fixture
def client(clock):
    with hashrange.open(clock=clock) as database:
        client = WebClient(database, clock)
        yield client
        client.close()
