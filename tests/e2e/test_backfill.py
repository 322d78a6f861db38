"""An index added to a large, busy table of a real server: it goes on being served, and kill -9 does no harm."""

import contextlib
import itertools
import threading
import time

import orjson
import pytest

from hashrange.engine.bulk_load import load_items
from hashrange.engine.engine import open_engine
from hashrange.operations import OPERATIONS
from tests.conformance.table import define, define_index
from tests.e2e.served import Served
from tests.unit.engine.reference_table import ReferenceTable
from tests.unit.server.wire import Client, build

ITEMS = 20_000
INDEX = ("g:S / n:N", ["x"])
CREATE = {
    "TableName": "tab",
    "AttributeDefinitions": [
        {"AttributeName": "g", "AttributeType": "S"},
        {"AttributeName": "n", "AttributeType": "N"},
    ],
    "GlobalSecondaryIndexUpdates": [{"Create": define_index("late", INDEX)}],
}


def make_item(number, g="group", **more):
    return {"pk": {"S": f"k{number}"}, "g": {"S": f"{g}{number % 3}"}, "n": {"N": str(number)}, "y": {"S": "z"}, **more}


@pytest.fixture
def data(tmp_path):
    """A directory with a table of many items."""
    engine = open_engine(tmp_path / "data", OPERATIONS)
    engine.call("CreateTable", define("pk:S", name="tab"))
    load_items(engine, engine.catalog.find("tab"), map(make_item, range(ITEMS)))
    engine.close()
    return tmp_path / "data"


@pytest.fixture
def serve(data, tmp_path):
    started = []

    def start():
        started.append(Served("--data", str(data), errors=tmp_path / f"errors{len(started)}"))
        return started[-1]

    yield start
    for served in started:
        served.kill()


class Worker(threading.Thread):
    """Moves, adds and deletes items and reads them again, until told to stop or the server is gone."""

    def __init__(self, port, number):
        super().__init__(daemon=True)
        self.port = port
        self.number = number
        self.acknowledged = {}  # what the last acknowledged write left of an item
        self.attempted = None  # an item whose last write was not acknowledged
        self.wrong = []
        self.stopping = threading.Event()

    def run(self):
        with contextlib.suppress(OSError, IndexError), contextlib.closing(Client(self.port)) as client:
            for step in itertools.count():
                if self.stopping.is_set():
                    return
                self.write(client, step)

    def write(self, client, step):
        number = self.number + 4 * (step * 7 % ITEMS)
        item = make_item(number, g="moved", x={"N": str(step)})
        key = item["pk"]["S"]
        self.attempted = key
        if step % 3:
            response = client.ask(build("PutItem", {"TableName": "tab", "Item": item}))
        else:
            response, item = client.ask(build("DeleteItem", {"TableName": "tab", "Key": {"pk": item["pk"]}})), None
        assert response.status == 200
        self.acknowledged[key], self.attempted = item, None
        found = client.call("GetItem", {"TableName": "tab", "Key": {"pk": {"S": key}}})
        if found.get("Item") != item:
            self.wrong.append((key, found, item))


def work(served):
    workers = [Worker(served.port, number) for number in range(4)]
    for worker in workers:
        worker.start()
    return workers


def finish(workers):
    for worker in workers:
        worker.stopping.set()
        worker.join(200)
        assert worker.wrong == []
        assert len(worker.acknowledged) > 5


def describe(client):
    (index,) = client.call("DescribeTable", {"TableName": "tab"})["Table"]["GlobalSecondaryIndexes"]
    return index


def wait_until(client, reached):
    """Look at the index until it is as wished; return how often it was looked at."""
    deadline = time.monotonic() + 500
    for looked in itertools.count(1):
        index = describe(client)
        if reached(index):
            return looked
        assert time.monotonic() < deadline, index
    return None


def assert_right(data, workers):
    """Every acknowledged write is there, and the index is what the items make it."""
    engine = open_engine(data, OPERATIONS)
    reference = ReferenceTable("pk:S", {"late": INDEX})
    reference.items = {(found["pk"]["S"],): found for found in read(engine)}
    for worker in workers:
        for key, item in worker.acknowledged.items():
            if key != worker.attempted:
                assert reference.items.get((key,)) == item
    assert sorted(read(engine, IndexName="late"), key=orjson.dumps) == sorted(
        reference.entries("late"), key=orjson.dumps
    )
    described = orjson.loads(engine.call("DescribeTable", {"TableName": "tab"}))["Table"]
    assert (described["ItemCount"], described["TableSizeBytes"]) == reference.count()
    (index,) = described["GlobalSecondaryIndexes"]
    assert (index["ItemCount"], index["IndexSizeBytes"]) == reference.count("late")
    engine.close()


def read(engine, **members):
    request = {"TableName": "tab", **members}
    found = []
    while True:
        page = orjson.loads(engine.call("Scan", request))
        found += page["Items"]
        if "LastEvaluatedKey" not in page:
            return found
        request = {"TableName": "tab", **members, "ExclusiveStartKey": page["LastEvaluatedKey"]}


def test_a_busy_table_is_served_while_its_new_index_fills(serve, data):
    served = serve()
    workers = work(served)
    with contextlib.closing(Client(served.port)) as client:
        client.call("UpdateTable", CREATE)
        assert describe(client)["Backfilling"]
        looked = wait_until(client, lambda index: index["IndexStatus"] == "ACTIVE")
        assert looked > 10  # nobody was kept waiting for the whole of it
    finish(workers)
    assert served.stop() == 0
    assert_right(data, workers)


def test_an_index_goes_on_filling_after_kill_9(serve, data):
    served = serve()
    workers = work(served)
    with contextlib.closing(Client(served.port)) as client:
        client.call("UpdateTable", CREATE)
        wait_until(client, lambda index: index["ItemCount"] > ITEMS / 20)
    served.kill()
    finish(workers)
    again = serve()
    more = work(again)
    with contextlib.closing(Client(again.port)) as client:
        assert describe(client)["IndexStatus"] == "CREATING"
        wait_until(client, lambda index: index["IndexStatus"] == "ACTIVE")
    finish(more)
    assert again.stop() == 0
    for earlier, later in zip(workers, more, strict=True):
        earlier.acknowledged |= later.acknowledged
        if earlier.attempted in later.acknowledged:
            earlier.attempted = None
    assert_right(data, workers)
