"""A server whose calls go wrong on purpose: faults look like the real ones, and delays do not affect other calls."""

import time

import pytest

from hashrange.engine.engine import open_engine
from hashrange.faults.faults import Faults
from hashrange.operations import OPERATIONS
from hashrange.server.dispatcher import Dispatcher
from hashrange.server.runner import serve_in_background
from tests.unit.server.wire import TABLE, build, get, put

LONG = 2.0  # seconds; a loaded machine must answer another request in less


@pytest.fixture
def faults():
    return Faults()


@pytest.fixture
def engine(clock, faults):
    opened = open_engine(None, OPERATIONS, clock=clock, faults=faults)
    opened.call("CreateTable", dict(TABLE))
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("request_", "operation"), [(get("a"), "GetItem"), (put("a"), "PutItem"), (build("ListTables", {}), "ListTables")]
)
def test_a_throttled_call_is_answered_as_by_aws(client, faults, request_, operation):
    faults.throttle(operation, times=2)
    responses = [client.ask(request_) for _ in range(3)]
    assert [response.status for response in responses] == [400, 400, 200]
    assert responses[0].error == "ProvisionedThroughputExceededException"


def test_a_failure_after_the_work_is_answered_when_it_is_committed(client, server, faults):
    faults.fail("PutItem", after=True, times=1)
    response = client.ask(put("a"))
    assert (response.status, response.error) == (500, "InternalServerError")
    assert server.metrics.commits == 1
    assert client.ask(get("a")).json == {"Item": {"pk": {"S": "a"}}}


def test_only_the_struck_requests_of_a_tick_go_wrong(client, faults):
    faults.fail("PutItem", every=2)
    client.send(b"".join(put(f"k{number}") for number in range(4)) + build("Scan", {"TableName": "things"}))
    assert [client.read().status for _ in range(4)] == [200, 500, 200, 500]
    assert client.read().json["Count"] == 2


def test_a_delay_is_waited_for(client, faults):
    faults.delay("GetItem", seconds=LONG)
    started = time.monotonic()
    assert client.ask(get("a")).status == 200
    assert time.monotonic() - started >= LONG


def test_a_delay_holds_up_nobody_else(client, server, connect, faults):
    faults.delay("GetItem", seconds=LONG)
    other = connect(server)
    client.ask(put("a"))
    started = time.monotonic()
    client.send(get("a"))
    assert other.ask(put("b")).status == 200
    assert time.monotonic() - started < LONG
    assert client.read().json == {"Item": {"pk": {"S": "a"}}}


def test_delays_of_several_clients_pass_at_the_same_time(server, connect, faults):
    faults.delay(seconds=LONG)
    clients = [connect(server) for _ in range(6)]
    started = time.monotonic()
    for client in clients:
        client.send(get("a"))
    assert {client.read().status for client in clients} == {200}
    assert time.monotonic() - started < 3 * LONG


def test_answers_keep_the_order_of_their_requests(client, faults):
    faults.delay("PutItem", seconds=0.05, every=2)
    client.send(b"".join(put(key) + get(key) for key in "abcdef"))
    responses = [client.read().json for _ in range(12)]
    assert responses[0::2] == [{}] * 6
    assert responses[1::2] == [{"Item": {"pk": {"S": key}}} for key in "abcdef"]


def test_a_client_that_leaves_before_its_delay_is_over_hurts_nobody(client, server, connect, faults):
    faults.delay("PutItem", seconds=0.05, times=1)
    client.send(put("a"))
    client.close()
    other = connect(server)
    deadline = time.monotonic() + 100
    while other.ask(get("a")).json == {} and time.monotonic() < deadline:
        time.sleep(0.01)
    assert other.ask(get("a")).json == {"Item": {"pk": {"S": "a"}}}


def test_what_is_no_call_is_not_delayed(client, faults):
    faults.delay(seconds=60)
    assert client.ask(build(method="GET")).status == 200
    assert client.ask(build("Nothing", {})).status == 400
    assert client.ask(build("GetItem", body=b"no json")).status == 400


def test_only_a_server_with_faults_looks_for_delays(client, clock, connect, monkeypatch):
    looked = []
    monkeypatch.setattr(Dispatcher, "_find_delay", lambda *_: looked.append(1) or 0.0)
    client.ask(get("a"))
    assert looked == [1]
    plain = open_engine(None, OPERATIONS, clock=clock)
    with serve_in_background(plain) as sound:
        connect(sound).ask(get("a"))
    plain.close()
    assert looked == [1]
