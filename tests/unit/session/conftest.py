"""An embedded database with the library's table, and a wrapper that can be told to misbehave."""

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


class Meddler:
    """A transport that lets a function change what goes through it."""

    def __init__(self, database, meddle):
        self.database, self.meddle, self.calls = database, meddle, []

    def call(self, operation, request, read=orjson.loads):
        self.calls.append((operation, request))
        return read(orjson.dumps(self.meddle(operation, request, self.database.call)))

    async def call_async(self, operation, request, read=orjson.loads):
        return self.call(operation, request, read)

    def close(self):
        pass


@pytest.fixture
def meddle(database):
    """`meddle(function)` opens the library on a transport whose answers the function gives."""

    def make(function, **options):
        transport = Meddler(database, function)
        bound = Library.open(transport, clock=database.clock, **options)
        return bound, transport

    return make
