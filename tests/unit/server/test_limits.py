"""Clients that are broken, slow, greedy or hostile do not affect other clients."""

import socket
import struct

import pytest

from tests.unit.server.wire import build, get, put

LIST = build("ListTables", {})
TABLES = {"TableNames": ["things"]}
KIB = 1024
QUICK = {"sweep": 0.02}


def works(connect, server):
    """Return whether another client is served."""
    return connect(server).ask(LIST).json == TABLES


# -- what is not HTTP, or lies


@pytest.mark.parametrize(
    "garbage",
    [
        b"hello\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"POST / HTTP/1.1\r\nbroken header\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nnot a size\r\n",
        b"GET / HTTP/1.1\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
        bytes(range(256)) * 8,
    ],
    ids=["text", "TLS", "HTTP/2", "header", "length", "two lengths", "both", "chunk", "upgrade", "bytes"],
)
def test_what_is_not_http_is_refused_and_cut_off(client, connect, server, garbage):
    assert client.ask(garbage).status == 400
    assert client.has_ended()
    assert works(connect, server)


def test_requests_before_garbage_are_answered(client):
    client.send(put("a") + get("a") + b"garbage\r\n\r\n")
    assert [client.read().status for _ in range(3)] == [200, 200, 400]
    assert client.has_ended()


def test_bytes_beyond_the_stated_length_are_the_next_request(client):
    client.send(build("ListTables", body=b"{}garbage", content_length="2"))
    assert client.read().json == TABLES
    assert client.read().status == 400
    assert client.has_ended()


def test_a_body_that_is_cut_off_is_not_a_request(client, connect, server):
    client.send(put("cut")[:-1])
    client.socket.shutdown(socket.SHUT_WR)
    assert client.has_ended()
    assert connect(server).ask(get("cut")).json == {}


def test_a_reset_in_the_middle_of_a_request_is_survived(serve, connect):
    server = serve()
    for whole in (put("a"), put("a")[:20], put("a")[:-5]):
        client = connect(server)
        client.send(whole)
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
        assert works(connect, server)


def test_a_client_that_leaves_before_its_answer_does_not_keep_others_from_theirs(client, connect, server):
    others = [connect(server) for _ in range(5)]
    for number, other in enumerate(others):
        leaving = connect(server)
        leaving.send(put(f"left{number}"))
        leaving.close()
        other.send(put(f"stayed{number}"))
    assert [other.read().status for other in others] == [200] * 5
    assert client.ask(get("stayed4")).json["Item"] == {"pk": {"S": "stayed4"}}


# -- too large


def test_headers_may_have_sixteen_kilobytes(client):
    assert client.ask(build("ListTables", {}, x_filler="x" * 15_500)).json == TABLES


@pytest.mark.parametrize(
    "request_",
    [
        build("ListTables", {}, x_filler="x" * 16 * KIB),
        build("ListTables", {}, **{f"x_filler_{number}": "x" * 100 for number in range(200)}),
        build("ListTables", {}, path="/" + "x" * 16 * KIB),
        build("ListTables", {}, x_filler="x" * 1000 * KIB),
    ],
    ids=["one header", "many headers", "request line", "a megabyte"],
)
def test_longer_headers_and_request_lines_are_refused(client, connect, server, request_):
    client.send(request_)
    assert client.read().status == 400
    assert client.has_ended()
    assert works(connect, server)


@pytest.mark.parametrize(
    "headers",
    [b"A: b\r\n" * 40_000, b"A:" + b" " * 20_000 + b"b\r\n", b"A:b" + b" " * 40_000 + b"\r\n"],
    ids=["the same one", "spaces before a value", "spaces after a value"],
)
def test_all_received_bytes_of_a_head_count(client, headers):
    client.send(LIST.replace(b"Host:", headers + b"Host:"))
    assert client.read().status == 400
    assert client.has_ended()


def test_trailers_count_against_the_limit_of_headers(client, connect, server):
    head = b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
    assert client.ask(head + b"a:xx\r\n" * 500 + b"\r\n").error == "UnknownOperationException"
    client.send(head + b"a:xx\r\n" * 300_000)  # the end does not matter
    response = client.read()
    assert (response.status, response.headers["connection"]) == (400, "close")
    assert works(connect, server)


def test_headers_without_an_end_are_refused(client):
    client.send(b"POST / HTTP/1.1\r\n" + (b"X-Filler: " + b"x" * KIB + b"\r\n") * 64)
    assert client.read().status == 400
    assert client.has_ended()


def test_many_requests_in_one_packet_are_not_one_long_header(client):
    client.send(LIST * 1000)
    assert [client.read().json for _ in range(1000)] == [TABLES] * 1000


def test_a_length_over_the_limit_is_refused_before_the_body_comes(client):
    client.send(build("ListTables", body=b"", content_length=str(16 * KIB * KIB + 1)))
    response = client.read()
    assert (response.status, response.headers["connection"]) == (413, "close")
    assert client.has_ended()


def test_chunks_over_the_limit_are_refused(serve, connect):
    client = connect(serve(max_body=100 * KIB))
    client.send(build("ListTables", content_length=None, transfer_encoding="chunked"))
    for _ in range(11):
        client.send(b"2800\r\n" + b" " * 0x2800 + b"\r\n")
    assert client.read().status == 413
    assert client.has_ended()


def test_unfinished_bodies_share_a_budget(serve, connect):
    server = serve(max_unfinished=100 * KIB)
    begun = build("ListTables", body=b"{" + b" " * 60_000, content_length="60002")
    first, second, third = connect(server), connect(server), connect(server)
    first.send(begun)
    assert works(connect, server)  # by now the first has arrived
    second.send(begun)
    assert second.read().status == 503
    assert second.has_ended()
    first.send(b"}")
    assert first.read().json == TABLES
    third.send(begun)
    assert works(connect, server)
    third.send(b"}")
    assert third.read().json == TABLES


def test_connections_over_the_limit_are_told_so(serve, connect):
    server = serve(max_connections=3)
    inside = [connect(server) for _ in range(3)]
    assert [client.ask(LIST).status for client in inside] == [200] * 3
    late = connect(server)
    assert late.read().status == 503
    assert late.has_ended()
    late.close()
    assert inside[0].ask(LIST).json == TABLES
    inside[1].close()
    while (again := connect(server)).ask(LIST).status == 503:
        again.close()


# -- too slow


def test_a_head_that_does_not_arrive_is_given_up(serve, connect):
    server = serve(head_timeout=0.1, **QUICK)
    client = connect(server)
    client.send(b"POST / HTTP/1.1\r\nHost: x\r\nX-Slow: ")
    assert client.read().status == 408
    assert client.has_ended()
    assert server.metrics.timeouts == 1


def test_a_trickle_does_not_count_as_progress(serve, connect):
    client = connect(serve(head_timeout=0.2, **QUICK))
    client.send(b"POST / HTTP/1.1\r\n")
    client.socket.settimeout(0.02)
    received = b""
    while b"408" not in received:  # the time limit of the test is the one that fails it
        client.send(b"a")
        try:
            received += client.socket.recv(KIB)
        except TimeoutError:
            continue


def test_a_body_that_does_not_arrive_is_given_up(serve, connect):
    client = connect(serve(body_timeout=0.1, **QUICK))
    client.send(put("a")[:-5])
    assert client.read().status == 408
    assert client.has_ended()


def test_a_large_body_has_more_time_than_a_head(serve, connect):
    client = connect(serve(head_timeout=0.05, body_timeout=20.0, **QUICK))
    client.send(put("a")[:-5])
    other = connect(serve(head_timeout=0.05, **QUICK))
    other.send(b"POST")
    assert other.read().status == 408  # so long it took, and more than the head's time has passed for both
    client.send(put("a")[-5:])
    assert client.read().status == 200


def test_an_idle_connection_is_closed(serve, connect):
    client = connect(serve(idle_timeout=0.1, **QUICK))
    assert client.ask(LIST).json == TABLES
    assert client.has_ended()


def test_a_new_request_after_a_long_pause_has_its_full_time(serve, connect):
    server = serve(head_timeout=5.0, idle_timeout=20.0, **QUICK)
    client, other = connect(server), connect(serve(idle_timeout=0.2, **QUICK))
    assert client.ask(LIST).json == TABLES
    assert other.has_ended()
    client.send(LIST[:30])
    client.send(LIST[30:])
    assert client.read().json == TABLES


def test_a_refused_client_that_goes_on_sending_is_cut_off(serve, connect):
    client = connect(serve(linger=0.1, **QUICK))
    client.send(b"garbage\r\n\r\n")
    assert client.read().status == 400
    client.send_until_cut_off(b"x" * KIB)


# -- clients that do not read


def test_a_client_that_does_not_read_is_not_answered_ahead(serve, connect):
    server = serve()
    client, other = connect(server), connect(server)
    client.ask(put("big", text="x" * 300_000))
    client.send(get("big") * 200)
    for _ in range(20):
        assert other.ask(LIST).json == TABLES
    assert server.metrics.meters["GetItem"].statuses.get(200, 0) < 100
    assert [len(client.read().body) > 300_000 for _ in range(200)] == [True] * 200
    assert server.metrics.meters["GetItem"].statuses == {200: 200}


def test_writes_behind_unread_answers_wait_too_and_are_done_in_order(serve, connect):
    server = serve()
    client = connect(server)
    client.ask(put("big", text="x" * 300_000))
    client.send(b"".join(get("big") + put(f"k{number}") for number in range(50)))
    responses = [client.read().status for _ in range(100)]
    assert responses == [200] * 100
    assert client.ask(get("k49")).json["Item"] == {"pk": {"S": "k49"}}


def test_a_client_that_never_reads_is_cut_off(serve, connect):
    server = serve(write_timeout=0.2, **QUICK)
    client = connect(server)
    client.ask(put("big", text="x" * 300_000))
    client.send(get("big") * 100)
    waiting = connect(server)
    while server.metrics.timeouts == 0:  # the time limit of the test is the one that fails it
        assert waiting.ask(LIST).json == TABLES
    assert client.count_rest() < 100 * 300_000
