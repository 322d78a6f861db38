"""A remote client against servers that misbehave on purpose."""

import asyncio
import json
import os
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from hashrange.client import errors
from hashrange.client.http import connection, pool
from hashrange.client.remote import connect
from hashrange.core.errors import (
    ConditionalCheckFailedException,
    InternalServerError,
    ProvisionedThroughputExceededException,
    TransportError,
)
from tests.unit.client.misbehaving_server import (
    FINE,
    GREETING,
    PACKED,
    CloseConnection,
    NoPauseRemote,
    SendSlowly,
    fail,
    flood,
    hang,
    misbehave,
    render,
)

THROTTLE = fail("ProvisionedThroughputExceededException")


@pytest.mark.parametrize(
    "first",
    [
        fail("InternalServerError", 500),
        render(503, b"<html>Service Unavailable</html>", x_amz_crc32=None),
        THROTTLE,
        fail("ThrottlingException"),
        fail("RequestLimitExceeded"),
        fail("TransactionInProgressException"),
        fail("SomethingNew", 502),
        render(body=GREETING, x_amz_crc32="17"),
        render(body=b"not json"),
        render(body=[1]),
        render(body=b"\x1f\x8bnot gzip", content_encoding="gzip"),
        CloseConnection(),
        CloseConnection(reset=True),
        CloseConnection(FINE[:-5]),
        CloseConnection(FINE[:-5], reset=True),
        CloseConnection(b"SSH-2.0-OpenSSH_9.6\r\n"),
        CloseConnection(b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"),
    ],
)
def test_a_passing_failure_is_tried_again(first):
    with misbehave(first, FINE) as server, NoPauseRemote(server.url) as client:
        assert client.ask() == GREETING
        assert len(server.asked) == 2
        assert len(client.naps) == 1


def test_the_same_holds_on_an_event_loop():
    with (
        misbehave(fail("InternalServerError", 500), CloseConnection(FINE[:-5], reset=True), FINE) as server,
        NoPauseRemote(server.url, chance=0) as client,
    ):
        assert asyncio.run(client.remote.call_async("ListTables", {})) == GREETING
        assert len(server.asked) == 3


@pytest.mark.parametrize(
    ("response", "error"),
    [
        (fail("InternalServerError", 500), InternalServerError),
        (THROTTLE, ProvisionedThroughputExceededException),
        (CloseConnection(), errors.ConnectionLost),
        (CloseConnection(b"garbage"), errors.ResponseCorrupt),
        (render(body=b"not json"), errors.ResponseCorrupt),
        (render(504, b"gateway"), errors.ResponseUnrecognised),
    ],
)
def test_a_lasting_failure_is_raised_after_the_last_attempt(response, error):
    with misbehave(response) as server, NoPauseRemote(server.url, attempts=4) as client:
        with pytest.raises(error):
            client.ask()
        assert len(server.asked) == 4
        assert len(client.naps) >= 3


@pytest.mark.parametrize(
    ("response", "error"),
    [
        (fail("ConditionalCheckFailedException", Item={"pk": {"S": "1"}}), ConditionalCheckFailedException),
        (render(404, b"<html>not here</html>", x_amz_crc32=None), errors.ResponseUnrecognised),
        (render(301, location="https://elsewhere"), errors.ResponseUnrecognised),
        (render(413, b"The request is larger than that"), errors.ResponseUnrecognised),
    ],
)
def test_a_refusal_is_not_tried_again(response, error):
    with misbehave(response) as server, NoPauseRemote(server.url) as client:
        with pytest.raises(error):
            client.ask()
        assert len(server.asked) == 1


def test_a_refusal_keeps_what_comes_with_it():
    with (
        misbehave(fail("ConditionalCheckFailedException", Item={"pk": {"S": "1"}})) as server,
        NoPauseRemote(server.url) as client,
        pytest.raises(ConditionalCheckFailedException) as refusal,
    ):
        client.ask()
    assert refusal.value.members == {"Item": {"pk": {"S": "1"}}}


def test_delays_double_from_attempt_to_attempt():
    with misbehave(fail("InternalServerError", 500)) as server, NoPauseRemote(server.url, attempts=4) as client:
        with pytest.raises(InternalServerError):
            client.ask()
        assert client.naps == [0.05, 0.1, 0.2]


@pytest.mark.parametrize("act", [hang, SendSlowly(FINE, 0.01)])
def test_an_answer_that_takes_too_long_is_given_up(act):
    with misbehave(act) as server, NoPauseRemote(server.url, attempts=1, timeout=0.2) as client:
        started = time.monotonic()
        with pytest.raises(errors.TimedOut, match=r"within 0\.2 s"):
            client.ask()
        assert time.monotonic() - started < 60


def test_an_answer_that_takes_too_long_is_given_up_on_an_event_loop():
    with (
        misbehave(SendSlowly(FINE, 0.01)) as server,
        NoPauseRemote(server.url, attempts=1, timeout=0.2) as client,
        pytest.raises(errors.TimedOut),
    ):
        asyncio.run(client.remote.call_async("ListTables", {}))


def test_an_answer_in_pieces_is_put_together():
    with misbehave(SendSlowly(FINE, 0)) as server, NoPauseRemote(server.url) as client:
        assert client.ask() == GREETING


def test_a_packed_answer_is_unpacked():
    with misbehave(PACKED) as server, NoPauseRemote(server.url) as client:
        assert client.ask() == GREETING


def test_an_announcement_before_the_answer_is_passed_over():
    with misbehave(b"HTTP/1.1 100 Continue\r\nX: 1\r\n\r\n" + FINE) as server, NoPauseRemote(server.url) as client:
        assert [client.ask(), client.ask()] == [GREETING] * 2
        assert server.connections == 1


def test_an_answer_without_end_is_cut_off(monkeypatch):
    monkeypatch.setattr(connection.HttpConnection.__init__, "__defaults__", (3 << 20,))
    with misbehave(flood) as server, NoPauseRemote(server.url) as client:
        with pytest.raises(errors.ResponseTooLarge):
            client.ask()
        assert len(server.asked) == 1


def test_a_connection_is_kept_for_the_next_request():
    with misbehave(FINE) as server, NoPauseRemote(server.url) as client:
        for _ in range(5):
            client.ask()
        assert server.connections == 1


def test_an_event_loop_opens_no_more_connections_than_it_may():
    async def ask(remote):
        return await asyncio.gather(*(remote.call_async("ListTables") for _ in range(40)))

    with misbehave(FINE) as server, NoPauseRemote(server.url, max_connections=3) as client:
        assert asyncio.run(ask(client.remote)) == [GREETING] * 40
        assert server.connections <= 3


def test_threads_open_no_more_connections_than_they_may():
    with (
        misbehave(FINE) as server,
        NoPauseRemote(server.url, max_connections=3) as client,
        ThreadPoolExecutor(20) as threads,
    ):
        assert list(threads.map(lambda _: client.ask(), range(100))) == [GREETING] * 100
        assert server.connections <= 3


@pytest.mark.parametrize("response", [render(body=GREETING, connection="close"), CloseConnection(FINE)])
def test_a_server_that_hangs_up_after_each_answer_is_followed(response):
    with misbehave(response) as server, NoPauseRemote(server.url) as client:
        for _ in range(3):
            assert client.ask() == GREETING
        assert client.naps == []
        assert server.connections == 3


def test_a_connection_that_ended_while_it_waited_costs_no_pause():
    with misbehave(FINE, CloseConnection(reset=True), FINE) as server, NoPauseRemote(server.url) as client:
        assert [client.ask(), client.ask()] == [GREETING] * 2
        assert client.naps == []
        assert len(server.asked) == 3


def test_a_connection_that_waited_for_long_is_looked_at_first(monkeypatch):
    monkeypatch.setattr(pool, "UNCHECKED_IDLE_SECONDS", 0.0)
    with misbehave(CloseConnection(FINE)) as server, NoPauseRemote(server.url, attempts=1) as client:
        client.ask()
        wait_for_the_end_of(client.remote)
        assert client.ask() == GREETING  # with one attempt only: nothing was sent into the void


def wait_for_the_end_of(remote):
    sock = remote._items.pool._idle[0]._stream.sock
    sock.settimeout(100)
    assert sock.recv(1, socket.MSG_PEEK) == b""


def test_a_connection_that_waited_for_too_long_is_not_used(monkeypatch):
    monkeypatch.setattr(pool, "UNCHECKED_IDLE_SECONDS", 0.0)
    monkeypatch.setattr(pool, "MAX_IDLE_SECONDS", 0.0)
    with misbehave(FINE) as server, NoPauseRemote(server.url) as client:
        client.ask()
        client.ask()
        assert server.connections == 2


def test_an_answer_that_nobody_asked_for_ends_the_connection():
    with misbehave(FINE + render(body={"TableNames": ["wrong"]})) as server, NoPauseRemote(server.url) as client:
        assert [client.ask(), client.ask()] == [GREETING] * 2
        assert server.connections == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_opens_its_own_connections():
    with misbehave(FINE) as server, NoPauseRemote(server.url) as client:
        client.ask()
        pool_of_client = client.remote._items.pool
        pool_of_client._process += 1  # as if this were the child
        assert client.ask() == GREETING
        assert server.connections == 2


def test_nobody_listening_is_said_after_the_last_attempt():
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        url = f"http://127.0.0.1:{reserved.getsockname()[1]}"
    with NoPauseRemote(url) as client, pytest.raises(errors.Unreachable, match=r"cannot be reached"):
        client.ask()
    assert len(client.naps) == 2


def test_an_unknown_host_is_said():
    with (
        NoPauseRemote("http://nowhere.invalid", attempts=1) as client,
        pytest.raises(errors.Unreachable, match=r"nowhere"),
    ):
        client.ask()


def test_a_server_that_does_not_take_the_connection_is_given_up():
    with socket.create_server(("127.0.0.1", 0), backlog=0) as deaf:
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(deaf.getsockname())
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        with NoPauseRemote(url, attempts=1, connect_timeout=0.2, timeout=0.2) as client, pytest.raises(TransportError):
            client.ask()
        for filler in fillers:
            filler.close()


def test_a_cancelled_call_does_not_spoil_the_next():
    async def work(remote):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await remote.call_async("ListTables", {})
        return await remote.call_async("ListTables", {})

    with misbehave(hang, FINE) as server, NoPauseRemote(server.url) as client:
        assert asyncio.run(work(client.remote)) == GREETING
        assert server.connections == 2


def test_transactions_are_sent_again_with_the_same_token():
    with misbehave(CloseConnection(), render(body={})) as server, NoPauseRemote(server.url) as client:
        client.remote.call("TransactWriteItems", {"TransactItems": []})
        tokens = [json.loads(asked.body)["ClientRequestToken"] for asked in server.asked]
    assert len(tokens) == 2
    assert tokens[0] == tokens[1] != ""


def test_a_token_that_was_given_is_kept():
    with misbehave(render(body={})) as server, NoPauseRemote(server.url) as client:
        request = {"TransactItems": [], "ClientRequestToken": "mine"}
        client.remote.call("TransactWriteItems", request)
        assert json.loads(server.asked[0].body) == request


def test_two_transactions_have_two_tokens():
    with misbehave(render(body={})) as server, NoPauseRemote(server.url) as client:
        for _ in range(2):
            client.remote.call("TransactWriteItems", {"TransactItems": []})
        assert len({asked.body for asked in server.asked}) == 2


def test_retries_end_when_the_quota_of_all_requests_is_used_up():
    with (
        misbehave(fail("InternalServerError", 500)) as server,
        NoPauseRemote(server.url, attempts=1000, chance=0) as client,
    ):
        with pytest.raises(InternalServerError):
            client.ask()
        assert len(server.asked) == 101
        with pytest.raises(InternalServerError):
            client.ask()
        assert len(server.asked) == 102


def test_a_call_that_is_under_way_when_the_client_is_closed_gets_its_answer():
    closing = []

    def answer_after_the_close(sock):
        closing[0].close()
        sock.sendall(FINE)
        return True

    with misbehave(answer_after_the_close) as server:
        client = connect(server.url, access_key="k", secret_key="s")
        closing.append(client)
        assert client.call("ListTables") == GREETING
        assert client._items.pool._idle == []


def test_a_closed_client_says_so():
    with misbehave(FINE) as server:
        client = connect(server.url)
        client.call("ListTables")
        client.close()
        with pytest.raises(errors.TransportClosed):
            client.call("ListTables")
        client.close()
