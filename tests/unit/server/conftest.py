"""Real servers on real sockets, in this process: each test has its own engine and port."""

from contextlib import ExitStack

import pytest

from hashrange.core.clock import ManualClock
from hashrange.engine.engine import open_engine
from hashrange.operations import OPERATIONS
from hashrange.server.runner import serve_in_background
from hashrange.server.settings import ServerSettings
from tests.unit.server.wire import TABLE, Client


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def engine(clock):
    """An engine in memory with one table, `things`."""
    opened = open_engine(None, OPERATIONS, clock=clock)
    opened.call("CreateTable", dict(TABLE))
    yield opened
    opened.close()


@pytest.fixture
def serve(engine):
    """`serve(idle_timeout=1)` starts a server with those settings; the test's end stops it."""
    with ExitStack() as running:

        def start(authenticate=None, **settings):
            chosen = ServerSettings(port=0, **{"spin": 0.0, **settings})
            more = {"authenticate": authenticate} if authenticate else {}
            return running.enter_context(serve_in_background(engine, chosen, **more))

        yield start


@pytest.fixture
def connect():
    """`connect(server)` opens a connection that the test's end closes."""
    opened = []

    def open_connection(server, **options):
        opened.append(Client(int(server.url.rpartition(":")[2]), **options))
        return opened[-1]

    yield open_connection
    for client in opened:
        client.close()


@pytest.fixture
def server(serve):
    return serve()


@pytest.fixture
def client(server, connect):
    return connect(server)
