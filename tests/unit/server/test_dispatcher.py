"""Group commit: the requests of one tick share a commit and its outcome."""

import logging

import apsw
import pytest

from hashrange.core.errors import StorageError
from hashrange.engine.engine import open_engine
from hashrange.engine.operation import Operation
from hashrange.operations import OPERATIONS
from hashrange.server import connection
from hashrange.server.runner import serve_in_background
from hashrange.server.settings import ServerSettings
from tests.unit.server.wire import build, get, put

LIST = build("ListTables", {})


@pytest.fixture
def break_commits(engine, monkeypatch):
    """`break_commits()` lets every commit fail as on a full disk, until `break_commits(False)`."""

    def fail():
        raise apsw.FullError("database or disk is full")

    def change(broken=True):
        if broken:
            monkeypatch.setattr(engine.store, "commit", fail)
        else:
            monkeypatch.undo()

    return change


@pytest.fixture(autouse=True)
def long_turns(monkeypatch):
    """Let no packet be divided because the machine is busy."""
    monkeypatch.setattr(connection, "SECONDS_PER_TURN", 60.0)


def test_writes_of_one_tick_share_a_commit(client, server):
    client.send(b"".join(put(f"k{number}") for number in range(10)))
    assert [client.read().status for _ in range(10)] == [200] * 10
    assert (server.metrics.commits, server.metrics.committed_requests) == (1, 10)


def test_reads_alone_need_no_commit(client, server):
    client.send(get("a") * 5)
    assert [client.read().status for _ in range(5)] == [200] * 5
    assert server.metrics.commits == 0


def test_a_failed_commit_fails_its_whole_group(client, server, break_commits):
    break_commits()
    client.send(put("a") + get("a") + put("b") + LIST)
    responses = [client.read() for _ in range(4)]
    assert [response.status for response in responses] == [500] * 4
    assert {response.error for response in responses} == {"InternalServerError"}
    assert "full" in responses[0].json["message"]
    assert (server.metrics.failed_commits, server.metrics.commits) == (1, 0)


def test_what_was_answered_before_the_first_write_stands(client, break_commits):
    break_commits()
    client.send(get("a") + put("a") + build(method="GET"))
    assert [client.read().status for _ in range(3)] == [200, 500, 200]


def test_after_a_failed_commit_everything_goes_on_and_nothing_of_it_is_there(client, break_commits):
    break_commits()
    assert client.ask(put("lost")).status == 500
    break_commits(False)
    assert client.ask(get("lost")).json == {}
    assert client.ask(put("kept")).status == 200
    assert client.ask(get("kept")).json["Item"] == {"pk": {"S": "kept"}}


def test_a_failed_commit_does_not_fail_the_next_group(client, connect, server, break_commits):
    break_commits()
    assert client.ask(put("a")).status == 500
    break_commits(False)
    assert connect(server).ask(put("a")).status == 200


# -- failures that nobody expects


@pytest.fixture
def serve_broken():
    """`serve_broken(run)` serves an engine whose ListTables is that function."""
    opened = []

    def start(run, *, writes=None):
        broken = Operation(name="ListTables", run=run, writes=writes)
        engine = open_engine(None, {**OPERATIONS, "ListTables": broken})
        running = serve_in_background(engine, ServerSettings(port=0))
        opened.append((engine, running))
        return running.__enter__()

    yield start
    for engine, running in opened:
        running.__exit__(None, None, None)
        engine.close()


@pytest.mark.parametrize("writes", [None, "items"])
def test_an_unexpected_failure_is_logged_and_answered(serve_broken, connect, caplog, writes):
    def run(engine, request):
        raise ZeroDivisionError("a bug")

    client = connect(serve_broken(run, writes=writes))
    response = client.ask(LIST)
    assert (response.status, response.json["message"]) == (500, "Internal server error")
    assert "a bug" in caplog.text
    assert client.ask(build(method="GET")).status == 200


def test_a_storage_failure_tells_its_reason(serve_broken, connect):
    def run(engine, request):
        raise StorageError("The disk fell off.")

    response = connect(serve_broken(run)).ask(LIST)
    assert (response.status, response.error, response.json["message"]) == (
        500,
        "InternalServerError",
        "The disk fell off.",
    )


def test_failing_background_work_does_not_stop_the_server(engine, serve, connect, monkeypatch, caplog):
    def fail():
        raise StorageError("no room")

    monkeypatch.setattr(engine.jobs, "step", fail)
    client = connect(serve())
    assert client.ask(LIST).status == 200
    assert "storage failed" in caplog.text


# -- logs


def test_every_request_is_logged_when_debugging(serve, connect, caplog):
    caplog.set_level(logging.DEBUG, "hashrange")
    connect(serve()).ask(get("a"))
    fields = [record.fields for record in caplog.records if record.getMessage() == "request"]
    assert [(field["operation"], field["status"]) for field in fields] == [("GetItem", 200)]


def test_slow_requests_are_warned_about(serve, connect, caplog):
    connect(serve(slow=0.0)).ask(get("a"))
    [record] = [record for record in caplog.records if record.getMessage() == "slow request"]
    assert record.levelname == "WARNING"
    assert record.fields["operation"] == "GetItem"
    assert len(record.fields["request_id"]) == 52


def test_ordinary_requests_are_not_logged(client, caplog):
    client.ask(get("a"))
    assert not caplog.records
