"""An embedded database with the table of the library, and a transport that intercepts its calls."""

import orjson
import pytest

import hashrange
from hashrange import ManualClock
from tests.unit.session.library import Library


@pytest.fixture
def clock():
    return ManualClock(1_768_478_400)  # 2026-01-15T12:00:00Z


@pytest.fixture
def database(clock):
    with hashrange.open(clock=clock) as opened:
        hashrange.create_tables(opened, Library)
        yield opened


@pytest.fixture
def db(database):
    return Library.open(database)


class InterceptingTransport:
    """A transport that passes every call through a function."""

    def __init__(self, database, intercept):
        self.database, self.intercept, self.calls = database, intercept, []

    def call(self, operation, request, read=orjson.loads):
        self.calls.append((operation, request))
        return read(orjson.dumps(self.intercept(operation, request, self.database.call)))

    async def call_async(self, operation, request, read=orjson.loads):
        return self.call(operation, request, read)

    def close(self):
        pass


@pytest.fixture
def intercept(database):
    """`intercept(function)` opens the library on a transport whose responses the function returns."""

    def make(function, **options):
        transport = InterceptingTransport(database, function)
        bound = Library.open(transport, clock=database.clock, **options)
        return bound, transport

    return make
