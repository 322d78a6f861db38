"""Large requests wait for their turn, keep their order, and leave half of the time to the others."""

import gzip
import select
import socket
import struct
import threading

import pytest

from hashrange.faults.faults import Faults
from hashrange.server.large_requests import LARGE_BODY
from hashrange.server.protocol import DynamoDBProtocol
from hashrange.server.runner import serve_in_background
from hashrange.server.settings import ServerSettings
from tests.unit.server.wire import TABLE, build, get, put

LIST = build("ListTables", {})
SLOW = build("PutItem", {"TableName": "things", "Item": {"pk": {"S": "slow"}, "list": {"L": [{"S": ""}] * 300_000}}})


def statements(number):
    """Return a batch of 25 statements that nobody has sent before."""
    elements = ",".join(["1"] * 3_900)
    texts = [f"INSERT INTO things VALUE {{'pk':'{number}-{each}','l':[{elements}]}}" for each in range(25)]
    return build("BatchExecuteStatement", {"Statements": [{"Statement": text} for text in texts]})


def is_readable(connection):
    return bool(select.select([connection], [], [], 0)[0])


COUNT = 4
LONG = {"items": SLOW * COUNT, "statements": b"".join(map(statements, range(COUNT)))}


def large(key, **headers):
    item = {"pk": {"S": key}, "text": {"S": "x" * LARGE_BODY}}
    return build("PutItem", {"TableName": "things", "Item": item}, **headers)


def test_a_large_request_is_answered(client):
    assert client.ask(large("a")).status == 200
    assert len(client.ask(get("a")).json["Item"]["text"]["S"]) == LARGE_BODY


def test_responses_keep_their_order_around_a_large_request(client):
    client.send(put("a") + large("b") + get("b") + large("c") + LIST)
    answers = [client.read() for _ in range(5)]
    assert [answer.status for answer in answers] == [200] * 5
    assert answers[2].json["Item"]["pk"] == {"S": "b"}
    assert answers[4].json == {"TableNames": ["things"]}


def test_a_large_request_is_answered_on_a_connection_that_closes(client):
    assert client.ask(large("a", connection="close")).status == 200
    assert client.has_ended()


def test_a_delayed_request_is_answered_on_a_connection_that_closes(engine, client):
    engine.faults = faults = Faults()
    faults.delay("GetItem", seconds=0.05)
    assert client.ask(get("a", connection="close")).status == 200
    assert client.has_ended()


def test_a_client_that_sent_a_large_request_may_close_its_side(client):
    client.send(large("a"))
    client.socket.shutdown(1)
    assert client.read().status == 200


def test_without_room_a_large_request_does_not_wait(serve, connect):
    client = connect(serve(max_unfinished=2 * LARGE_BODY))
    client.send(large("a") + large("b"))
    assert [client.read().status for _ in range(2)] == [200, 200]


@pytest.mark.parametrize("encoding", [None, "gzip"])
def test_a_large_body_is_not_read_before_the_signature(client, encoding):
    body = b"[" * (LARGE_BODY + 1)
    sent = gzip.compress(body) if encoding else body
    answer = client.ask(build("ListTables", body=sent, authorization=None, content_encoding=encoding))
    assert answer.error == "MissingAuthenticationTokenException"


def test_a_small_body_is_read_before_the_signature_as_dynamodb_does(client):
    assert client.ask(build("ListTables", body=b"[", authorization=None)).error == "SerializationException"


@pytest.mark.parametrize("requests", LONG.values(), ids=LONG)
def test_other_clients_have_half_of_the_time(server, connect, requests):
    """Without the queue they are answered once per large request."""
    busy, other = connect(server), connect(server)
    done = threading.Event()

    def send_many():
        busy.send(requests)
        for _ in range(COUNT):
            busy.read()
        done.set()

    thread = threading.Thread(target=send_many)
    thread.start()
    answered = 0
    while not done.is_set():
        assert other.ask(LIST).status == 200
        answered += 1
    thread.join()
    assert answered > 25 * COUNT


def test_other_clients_are_served_between_the_statements_of_one_batch(server, connect):
    """In one piece, the parser would keep them waiting for 25 statements."""
    busy, other = connect(server), connect(server)
    assert other.ask(LIST).status == 200
    busy.send(statements(100))
    answered = 0
    while not is_readable(busy.socket):
        assert other.ask(LIST).status == 200
        answered += 1
    assert len(busy.read().json["Responses"]) == 25
    assert answered > 24


def test_a_client_that_leaves_during_its_batch_does_not_stop_the_queue(server, connect):
    leaving, staying = connect(server), connect(server)
    leaving.send(statements(200))
    leaving.close()
    assert len(staying.ask(statements(300)).json["Responses"]) == 25
    assert staying.ask(get("300-24")).json["Item"]["pk"] == {"S": "300-24"}


def test_the_body_of_a_request_that_pauses_is_read_twice_at_most(server, connect, monkeypatch):
    monkeypatch.setattr("hashrange.server.dispatcher.SECONDS_PER_PART", -1.0)  # each part is a turn
    client, bodies, read = connect(server), [], DynamoDBProtocol.read
    client.call("CreateTable", {**TABLE, "TableName": "body"})
    keys = [{"pk": {"S": str(number)}} for number in range(8)]
    for key in keys:
        client.call("PutItem", {"TableName": "body", "Item": key})
    monkeypatch.setattr(DynamoDBProtocol, "read", lambda self, request: bodies.append(request) or read(self, request))
    request = {"RequestItems": {"body": {"Keys": keys, "ProjectionExpression": "pk"}}}
    assert len(client.call("BatchGetItem", request)["Responses"]["body"]) == len(keys)
    assert len(bodies) == 2


def test_many_clients_that_leave_at_once_do_not_stop_the_queue(server, connect):
    leaving, busy, staying = [connect(server) for _ in range(400)], connect(server), connect(server)
    for client in leaving:
        client.socket.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )  # cut off, not half-closed
    busy.send(statements(400))
    body = gzip.compress(b"{}")
    for client in leaving:
        client.send(build("ListTables", body=body, content_encoding="gzip"))
    for client in leaving:
        client.close()
    assert len(busy.read().json["Responses"]) == 25
    assert staying.ask(large("a")).status == 200


def test_a_server_with_long_requests_of_clients_that_left_stops_and_its_engine_closes(engine, connect):
    with serve_in_background(engine, ServerSettings(port=0, grace=0.1)) as server:
        for _ in range(30):
            leaving = connect(server)
            leaving.send(statements(200))
            leaving.close()
    assert not server.dispatcher.open
    assert engine.call("ListTables", {})  # which would wait for a group that is left open


def test_malformed_and_repeated_statements_of_a_large_batch_have_their_usual_errors(client):
    long = "SELECT * FROM things WHERE pk = 'a' AND x IN [" + ",".join(["1"] * 3_000)
    texts = [long, long, long + "]", "SELECT * FROM things WHERE pk = 'b'"]
    answer = client.call("BatchExecuteStatement", {"Statements": [{"Statement": text} for text in texts]})
    messages = [response.get("Error", {}).get("Message", "") for response in answer["Responses"]]
    assert [message[:40] for message in messages[:2]] == ["Statement wasn't well formed, can't be p"] * 2
    assert messages[2].startswith("The IN operator")
    assert messages[3] == ""


@pytest.mark.parametrize("entries", [None, 1, {"a": 1}, [None], [{"Statement": 1}], [{}]])
def test_a_large_batch_of_a_wrong_form_is_refused_as_a_small_one(client, entries):
    small = client.ask(build("BatchExecuteStatement", {"Statements": entries}))
    large_one = client.ask(build("BatchExecuteStatement", {"Statements": entries, "Unknown": "x" * 20_000}))
    assert (large_one.status, large_one.json) == (small.status, small.json)


def test_the_bytes_that_wait_are_counted_down_again(server, client):
    for number in range(3):
        assert client.ask(large(f"k{number}")).status == 200
    assert server.dispatcher._large._room == server.settings.max_unfinished
