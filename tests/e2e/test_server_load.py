"""Many connections at once, most of them idle or misbehaving."""

import random
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from hashrange.server.runner import raise_file_limit
from tests.e2e.served import Served
from tests.unit.server.wire import TABLE, Client, build, get, put

IDLE = 1000


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    started = Served(errors=tmp_path_factory.mktemp("served") / "errors")
    client = Client(started.port)
    client.call("CreateTable", TABLE)
    client.close()
    yield started
    assert started.stop() == 0
    assert "unexpected failure" not in started.errors.read_text("utf-8")


def write_and_read(port, worker, times=20):
    """How many of a client's writes could be read again."""
    client = Client(port)
    found = 0
    for number in range(times):
        assert client.ask(put(f"{worker}-{number}")).status == 200
        found += client.ask(get(f"{worker}-{number}")).json["Item"] == {"pk": {"S": f"{worker}-{number}"}}
    client.close()
    return found


def test_a_thousand_idle_connections_do_not_keep_others_from_being_served(served):
    raise_file_limit(IDLE + 100)
    idle = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(IDLE)]
    for number, connection in enumerate(idle):
        if number % 2:
            connection.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nX-Slow: ")
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda worker: write_and_read(served.port, f"idle{worker}"), range(8))) == [20] * 8
    client = Client(served.port)
    metrics = client.ask(build(method="GET", path="/metrics")).body
    assert f"hashrange_open_connections {IDLE + 1}\n".encode() in metrics
    client.close()
    for connection in idle:
        connection.close()


def misbehave(port, seed):
    """Send some requests with something wrong at a random place, and leave at a random time."""
    chance = random.Random(seed)
    whole = b"".join(chance.choice([put, get])(f"bad{seed}-{number}") for number in range(chance.randrange(1, 5)))
    at = chance.randrange(len(whole))
    sent = chance.choice(
        [whole[:at], whole[:at] + chance.randbytes(20) + whole[at:], whole[at:], whole + whole[:at], whole * 20]
    )
    with socket.create_connection(("127.0.0.1", port), 20) as connection:
        try:
            connection.sendall(sent)
            if chance.random() < 0.5:
                connection.settimeout(0.05)
                connection.recv(1000)
        except OSError:
            return


def test_misbehaving_clients_do_not_keep_others_from_being_served(served):
    with ThreadPoolExecutor(6) as pool:
        bad = [pool.submit(misbehave, served.port, seed) for seed in range(200)]
        good = [pool.submit(write_and_read, served.port, f"good{worker}") for worker in range(4)]
        assert [each.result() for each in good] == [20] * 4
        for each in bad:
            each.result()


def test_where_few_files_may_be_open_fewer_connections_are_taken(tmp_path):
    few = Served(errors=tmp_path / "errors", files=400)
    clients = [Client(few.port) for _ in range(200)]
    statuses = [client.ask(build(method="GET")).status for client in clients[:80]]
    assert statuses == [200] * 80
    assert clients[-1].read().status == 503
    assert clients[0].ask(build(method="GET")).status == 200
    for client in clients:
        client.close()
    assert few.stop() == 0
