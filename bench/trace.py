"""The path of a call: the Python calls it makes when warm, in how many files, with how many changes.

    .venv/bin/python bench/trace.py                            # this tree
    .venv/bin/python bench/trace.py ../other-tree/src          # another one; only public names are used
    .venv/bin/python bench/trace.py --show "typed transition"  # the calls themselves

Counted are the calls of functions of hashrange. A change is a call in another file than the call before it.
"""

from __future__ import annotations

import http.client
import importlib
import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

ARGUMENTS = [argument for argument in sys.argv[1:] if argument != "--show"]
if ARGUMENTS and "--show" not in sys.argv:
    sys.path.insert(0, ARGUMENTS[0])

import hashrange  # noqa: E402 - of the tree that the arguments name
from hashrange import Get, Gsi, Item, Patterns, Query, Table, Update, View, initially  # noqa: E402

PACKAGE = f"{Path(hashrange.__file__).parent}/"
WARM_UP = 50
NOW = datetime(2027, 1, 15, 9, tzinfo=UTC)
SIGNED = "AWS4-HMAC-SHA256 Credential=local/20270115/eu-west-2/dynamodb/aws4_request, SignedHeaders=host, Signature=0"


class Crawl(View["Shop"]):
    """The lifecycle of a shop."""

    country: str
    domain: str


class Never(Crawl, crawl_key="NEVER#"):
    """Its first state."""


class Running(Crawl, crawl_key="RUNNING#{started_at}"):
    """Its second state."""

    started_at: datetime


shops = Table("shops", "pk", indexes=[Gsi("ByCrawl", "country", "crawl_key", ["domain", "started_at"])])


class Shop(Item, table=shops, pk="SHOP#{domain}"):
    """What is written and read."""

    domain: str
    country: str
    crawl: Never | Running = initially(Never)


class Crawls(Patterns, Protocol):
    """What is traced."""

    def shop(self, domain: str) -> Get[Shop]: ...  # noqa: D102 - the signature says it
    def running(self, country: str) -> Query[Running]: ...  # noqa: D102 - same
    def start(self, crawl: Never, started_at: datetime) -> Update[Running]: ...  # noqa: D102 - same
    def stop(self, crawl: Running) -> Update[Never]: ...  # noqa: D102 - same


class Recorder:
    """Records the calls of hashrange's functions, on this thread and on those that start later, while it is on."""

    def __init__(self) -> None:
        self.on = False
        self.calls: list[tuple[str, str]] = []
        threading.setprofile(self._note)

    def _note(self, frame: Any, event: str, _argument: object) -> None:
        code = frame.f_code
        if self.on and event == "call" and code.co_filename.startswith(PACKAGE):
            self.calls.append((code.co_filename.removeprefix(PACKAGE), code.co_qualname))

    @contextmanager
    def record(self) -> Iterator[None]:
        """Record what is called inside the block."""
        self.calls, self.on = [], True
        sys.setprofile(self._note)
        try:
            yield
        finally:
            sys.setprofile(None)
            self.on = False


def trace(recorder: Recorder, action: Callable[[int], object]) -> list[tuple[str, str]]:
    """Return the calls of an action that has been done often."""
    for at in range(WARM_UP):
        action(at)
    with recorder.record():
        action(WARM_UP)
    return recorder.calls


def count(calls: list[tuple[str, str]]) -> tuple[int, int, int]:
    """Return the calls, the files, and the changes of file."""
    files = [file for file, _ in calls]
    return len(files), len(set(files)), sum(one != other for one, other in pairwise(files))


def trace_all() -> dict[str, list[tuple[str, str]]]:
    """Trace each way: over the wire, embedded, and typed."""
    recorder = Recorder()
    with hashrange.open() as database:
        hashrange.create_tables(database, shops)
        put = {
            "TableName": "shops",
            "Item": {"pk": {"S": "SHOP#x"}, "country": {"S": "AT"}, "crawl_key": {"S": "NEVER#"}},
        }
        query = {
            "TableName": "shops",
            "KeyConditionExpression": "pk = :p",
            "ExpressionAttributeValues": {":p": {"S": "SHOP#x"}},
        }
        db = Crawls.open(database)
        db.create(Shop(domain="y", country="AT")).run()
        state: list[Any] = [db.shop("y").required().run().crawl]

        def move(at: int) -> None:
            left = state[0]
            write = db.start(left, NOW + timedelta(seconds=at)) if isinstance(left, Never) else db.stop(left)
            state[0] = write.run()

        return {
            "PutItem over the wire": trace_wire(recorder, database, put),
            "PutItem embedded": trace(recorder, lambda _: database.call("PutItem", put)),
            "Query embedded": trace(recorder, lambda _: database.call("Query", query)),
            "typed get": trace(recorder, lambda _: db.shop("y").run()),
            "typed query": trace(recorder, lambda _: db.running("AT").run()),
            "typed transition": trace(recorder, move),
        }


def trace_wire(recorder: Recorder, database: Any, put: dict[str, Any]) -> list[tuple[str, str]]:
    """Trace a PutItem from the server's socket to SQLite and back; the client is not counted."""
    try:
        runner = importlib.import_module("hashrange.server.runner")
    except ModuleNotFoundError:
        runner = importlib.import_module("hashrange.server.run")  # until version 0.2
    headers = {"X-Amz-Target": "DynamoDB_20120810.PutItem", "Content-Type": "application/x-amz-json-1.0"}
    headers |= {"Authorization": SIGNED, "X-Amz-Date": "20270115T090000Z"}
    with runner.serve_in_background(database.engine) as server:
        connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=10)

        def send(_: int) -> None:
            connection.request("POST", "/", json.dumps(put), headers)
            response = connection.getresponse()
            body = response.read()
            assert response.status == 200, body

        calls = trace(recorder, send)
        connection.close()
    return calls


def main() -> None:
    traces = trace_all()
    if "--show" in sys.argv:
        for file, function in traces[ARGUMENTS[0]]:
            print(f"{file:45} {function}")
        return
    print(f"{'':24} {'calls':>6} {'files':>6} {'changes':>8}")
    for name, calls in traces.items():
        print(f"{name:24} {count(calls)[0]:6} {count(calls)[1]:6} {count(calls)[2]:8}")


if __name__ == "__main__":
    main()
