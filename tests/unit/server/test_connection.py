"""Connections as clients use them: in pieces, in bulk, in chunks, and one after the other."""

import socket
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.server.wire import build, get, put

LIST = build("ListTables", {})
TABLES = {"TableNames": ["things"]}


def chunk(body, size):
    """The body in the chunked encoding."""
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def test_one_connection_serves_many_requests(client):
    for number in range(50):
        assert client.ask(put(f"k{number}")).status == 200
    assert client.ask(get("k49")).json["Item"] == {"pk": {"S": "k49"}}


def test_two_requests_in_one_packet_are_both_answered(client):
    client.send(put("a", name="one") + get("a"))
    assert client.read().body == b"{}"
    assert client.read().json["Item"]["name"] == {"S": "one"}


def test_pipelined_requests_are_answered_in_order(client):
    client.ask(put("a"))
    mixed = [LIST, put("b"), get("a"), build(method="GET"), build("Nonsense", {}), get("b"), put("c"), LIST]
    client.send(b"".join(mixed * 20))
    for _ in range(20):
        kinds = [client.read() for _ in mixed]
        assert [response.status for response in kinds] == [200, 200, 200, 200, 400, 200, 200, 200]
        assert kinds[0].json == kinds[7].json == TABLES
        assert kinds[2].json == {"Item": {"pk": {"S": "a"}}}
        assert kinds[3].body.startswith(b"healthy")
        assert kinds[5].json == {"Item": {"pk": {"S": "b"}}}


def test_pipelined_requests_do_not_keep_other_clients_waiting(client, connect, server):
    for number in range(40):
        batch = [{"PutRequest": {"Item": {"pk": {"S": f"{number}-{at}"}}}} for at in range(25)]
        client.call("BatchWriteItem", {"RequestItems": {"things": batch}})
    slow = build(
        "Scan",
        {"TableName": "things", "FilterExpression": "pk = :v", "ExpressionAttributeValues": {":v": {"S": "?"}}},
    )
    client.send(slow * 200 + put("last"))
    client.read()
    assert connect(server).ask(get("last")).json == {}  # run while most of the scans wait
    assert [client.read().status for _ in range(200)] == [200] * 200
    assert client.ask(get("last")).json["Item"] == {"pk": {"S": "last"}}


def test_a_request_may_come_byte_by_byte(client):
    client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in put("a", name="desk"):
        client.send(bytes([byte]))
    assert client.read().status == 200
    assert client.ask(get("a")).json["Item"]["name"] == {"S": "desk"}


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_body_may_come_in_chunks(client, size):
    whole = put("a", name="desk")
    head, _, body = whole.partition(b"\r\n\r\n")
    head = b"\r\n".join(line for line in head.split(b"\r\n") if not line.startswith(b"Content-Length"))
    client.send(head + b"\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(body, size) + get("a"))
    assert client.read().status == 200
    assert client.read().json["Item"]["name"] == {"S": "desk"}


def test_trailers_are_not_headers_of_the_next_request(client):
    head, _, body = build("ListTables", {}, content_length=None, transfer_encoding="chunked").partition(b"\r\n\r\n")
    client.send(head + b"\r\n\r\n" + chunk(body, 9).removesuffix(b"\r\n") + b"Content-Encoding: gzip\r\n\r\n" + LIST)
    assert [client.read().json, client.read().json] == [TABLES, TABLES]


def test_a_client_that_waits_for_permission_gets_it(client):
    head, _, body = build("ListTables", {}, expect="100-continue").partition(b"\r\n\r\n")
    client.send(head + b"\r\n\r\n")
    assert client.read().status == 100
    client.send(body)
    assert client.read().json == TABLES


def test_header_names_may_have_any_case(client):
    head, _, body = LIST.partition(b"\r\n\r\n")
    line, _, headers = head.partition(b"\r\n")
    for changed in (headers.lower().replace(b"aws4-hmac-sha256 credential", b"AWS4-HMAC-SHA256 Credential"), headers):
        values = changed.replace(b"signedheaders=", b"SignedHeaders=").replace(b"signature=", b"Signature=")
        values = values.replace(b"dynamodb_20120810.listtables", b"DynamoDB_20120810.ListTables")
        assert client.ask(line + b"\r\n" + values + b"\r\n\r\n" + body).json == TABLES


def test_a_client_may_ask_to_hang_up(client):
    response = client.ask(build("ListTables", {}, connection="close"))
    assert (response.json, response.headers["connection"]) == (TABLES, "close")
    assert client.has_ended()


def test_a_write_is_answered_before_hanging_up(client, connect, server):
    whole = put("a").replace(b"Host:", b"Connection: close\r\nHost:")
    assert client.ask(whole).status == 200
    assert client.has_ended()
    assert connect(server).ask(get("a")).json["Item"] == {"pk": {"S": "a"}}


def test_http_1_0_hangs_up_unless_asked_not_to(client, connect, server):
    old = LIST.replace(b"HTTP/1.1", b"HTTP/1.0")
    staying = old.replace(b"Host:", b"Connection: keep-alive\r\nHost:")
    assert client.ask(staying).headers["connection"] == "keep-alive"
    assert client.ask(old).json == TABLES
    assert client.has_ended()


def test_a_client_that_stops_sending_still_gets_its_answers(client):
    client.send(put("a") + get("a"))
    client.socket.shutdown(socket.SHUT_WR)
    assert client.read().status == 200
    assert client.read().json["Item"] == {"pk": {"S": "a"}}
    assert client.has_ended()


def test_empty_lines_before_a_request_are_overlooked(client):
    assert client.ask(b"\r\n\r\n" + LIST).json == TABLES


STREAM = LIST + put("a", name="x") + get("a") + build(method="GET") + build("Nonsense", {}) + get("a")
IN_PIECES = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@IN_PIECES
@given(cuts=st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_answers_do_not_depend_on_how_the_bytes_are_cut(server, connect, cuts):
    client = connect(server)
    client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    places = [0, *sorted(cuts), len(STREAM)]
    for start, end in pairwise(places):
        client.send(STREAM[start:end])
    responses = [client.read() for _ in range(6)]
    assert [response.status for response in responses] == [200, 200, 200, 200, 400, 200]
    assert responses[0].json == TABLES
    assert responses[2].json == responses[5].json == {"Item": {"pk": {"S": "a"}, "name": {"S": "x"}}}
