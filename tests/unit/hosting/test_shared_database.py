"""The embedded database and the wire server on one event loop do not block each other."""

import asyncio
import threading

import pytest

from hashrange.engine.engine import open_engine
from hashrange.hosting.shared_database import SharedDatabase
from hashrange.operations import OPERATIONS
from hashrange.server.runner import find_loop_factory
from hashrange.server.server import Server
from hashrange.server.settings import ServerSettings
from tests.unit.server.wire import TABLE, put

KEY = {"TableName": "things", "Key": {"pk": {"S": "a"}}}


@pytest.fixture(params=[None, find_loop_factory()], ids=["asyncio", "uvloop"])
def run(request):
    """`run(test)` runs `test(server, database)` on such a loop."""

    async def live(test):
        engine = open_engine(None, OPERATIONS)
        server = Server(engine, ServerSettings(port=0))
        await server.start()
        database = SharedDatabase(engine, server)
        database.call("CreateTable", TABLE)
        try:
            await test(server, database)
        finally:
            await server.stop()
            engine.close()

    def start(test):
        with asyncio.Runner(loop_factory=request.param) as runner:
            runner.run(asyncio.wait_for(live(test), 200))

    return start


async def begin_a_group(server, *requests):
    """Send requests, and return between their arrival and the commit of the group that they open."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(server.url.rpartition(":")[2]))
    writer.write(b"".join(requests))
    for _ in range(100_000):
        if server.dispatcher.open:
            return reader, writer
        await asyncio.sleep(0)
    raise AssertionError("no group was ever open")


def test_a_call_in_the_midst_of_a_group_of_the_server_is_answered(run):
    async def call(server, database):
        reader, writer = await begin_a_group(server, put("a"))
        assert database.call("GetItem", KEY)["Item"] == {"pk": {"S": "a"}}
        assert not server.dispatcher.open
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        writer.close()

    run(call)


def test_a_call_waits_for_no_thread_that_waits_for_the_server(run):
    async def call(server, database):
        _, writer = await begin_a_group(server, put("a"))
        thread = threading.Thread(target=lambda: database.call("PutItem", {**TABLE_OF_B}))
        thread.start()
        assert database.call("GetItem", KEY)["Item"]
        await asyncio.to_thread(thread.join)
        assert database.call("GetItem", {**KEY, "Key": {"pk": {"S": "b"}}})["Item"]
        writer.close()

    run(call)


TABLE_OF_B = {"TableName": "things", "Item": {"pk": {"S": "b"}}}


def test_background_work_can_be_finished_in_the_midst_of_a_group(run):
    async def call(server, database):
        _, writer = await begin_a_group(server, put("a"))
        database.wait_until_idle()
        assert not server.dispatcher.open
        writer.close()

    run(call)


def test_many_calls_in_a_row_leave_the_loop_its_turns(run):
    async def call(server, database):
        turns = []

        async def watch():
            while True:
                turns.append(True)
                await asyncio.sleep(0)

        watching = asyncio.create_task(watch())
        for _ in range(2000):
            await database.call_async("PutItem", TABLE_OF_B)
        watching.cancel()
        assert len(turns) > 1

    run(call)
