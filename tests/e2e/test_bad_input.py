"""Bad input over the real wire: each is refused as DynamoDB would, and the server goes on answering."""

import gzip
import random
import socket
import zlib

import orjson
import pytest

from tests.conformance.wire import nest, sized_item
from tests.e2e.served import Served
from tests.unit.server.wire import HEADERS, TABLE, Client, build, get, put

KIB = 1024
ITEM_LIMIT = 400 * KIB
DEEP = 200_000


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    started = Served(errors=tmp_path_factory.mktemp("served") / "errors")
    client = Client(started.port)
    client.call("CreateTable", TABLE)
    client.close()
    yield started
    assert started.stop() == 0
    assert "unexpected failure" not in started.errors.read_text("utf-8")


@pytest.fixture
def client(served):
    """A connection; whatever the test sent, another one is served afterwards."""
    opened = Client(served.port)
    yield opened
    opened.close()
    assert_alive(served)


def assert_alive(served):
    other = Client(served.port)
    assert other.ask(put("alive")).status == 200
    assert other.ask(get("alive")).json == {"Item": {"pk": {"S": "alive"}}}
    other.close()


def put_raw(client, attributes):
    """Put an item whose attributes besides the key are given as JSON text."""
    text = attributes if isinstance(attributes, bytes) else attributes.encode()
    return client.ask(build("PutItem", body=b'{"TableName":"things","Item":{"pk":{"S":"raw"},' + text + b"}}"))


def put_item(client, **attributes):
    return client.ask(build("PutItem", {"TableName": "things", "Item": {"pk": {"S": "item"}, **attributes}}))


def refusal(response):
    assert response.status == 400, response
    return response.error


# -- expressions ------------------------------------------------------------------------------------------------------

MANY = 100_000
EXPRESSIONS = {
    "condition": ("PutItem", {"Item": {"pk": {"S": "a"}}}, "ConditionExpression", "{}attribute_exists(pk){}"),
    "filter": ("Scan", {}, "FilterExpression", "{}attribute_exists(pk){}"),
    "key": ("Query", {}, "KeyConditionExpression", "{}pk = :v{}"),
    "update": ("UpdateItem", {"Key": {"pk": {"S": "a"}}}, "UpdateExpression", "SET a = {}:v{}"),
    "projection": ("GetItem", {"Key": {"pk": {"S": "a"}}}, "ProjectionExpression", "{}pk{}"),
}


@pytest.mark.parametrize(("operation", "request_", "member", "text"), EXPRESSIONS.values(), ids=EXPRESSIONS)
@pytest.mark.parametrize(("opening", "closing"), [("(", ""), ("", ")"), ("(", ")")], ids=["open", "close", "both"])
@pytest.mark.parametrize("many", [MANY, 1_500])
def test_parentheses_without_number_are_refused(client, operation, request_, member, text, opening, closing, many):
    request = {"TableName": "things", **request_, member: text.format(opening * many, closing * many)}
    if ":v" in text:
        request["ExpressionAttributeValues"] = {":v": {"S": "a"}}
    response = client.ask(build(operation, request))
    assert refusal(response) == "ValidationException"
    assert f"Invalid {member}" in response.json["message"]


@pytest.mark.parametrize("text", ["NOT " * 1_000 + "a = a", "a = a" + " AND a = a" * 400, "a" + ".a" * 2_000 + " = a"])
def test_long_chains_in_an_expression_are_evaluated_or_refused(client, text):
    response = client.ask(build("Scan", {"TableName": "things", "FilterExpression": text}))
    assert response.status == 200 or refusal(response) == "ValidationException"


@pytest.mark.parametrize(
    "statement", ["SELECT * FROM things WHERE " + "(" * 8_000, "SELECT " + "((" * 4_000, "<<" * 4_000]
)
def test_nested_statements_are_refused(client, statement):
    assert refusal(client.ask(build("ExecuteStatement", {"Statement": statement}))) == "ValidationException"


# -- JSON -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        b'{"TableName":"things","Item":{"pk":{"S":"\xff"}}}',
        b'{"TableName":"things","Item":{"pk":{"S":"\xc3"}}}',
        b'{"TableName":"things","Item":{"pk":{"S":"\xed\xa0\x80"}}}',
        b'{"TableName":"things","Item":{"\xc0\x80":{"S":"overlong"},"pk":{"S":"a"}}}',
        b"\xff\xfe" + '{"TableName":"things"}'.encode("utf-16-le"),
    ],
    ids=["byte", "half a character", "surrogate", "overlong", "UTF-16"],
)
def test_what_is_not_utf_8_is_refused(client, body):
    assert refusal(client.ask(build("PutItem", body=body))) == "SerializationException"


@pytest.mark.parametrize("escape", ["\\ud800", "\\udc00", "\\ud800x", "\\udc00\\ud800"])
@pytest.mark.parametrize(
    "place", ['"x":{{"S":"{}"}}', '"x{}":{{"S":"a"}}', '"x":{{"SS":["{}"]}}', '"x":{{"M":{{"{}":{{"S":"a"}}}}}}']
)
def test_half_of_a_surrogate_pair_is_refused(client, escape, place):
    assert refusal(put_raw(client, place.format(escape))) == "SerializationException"


def test_a_whole_surrogate_pair_is_a_character(client):
    assert put_raw(client, '"x":{"S":"\\ud83d\\ude00"}').status == 200
    assert client.ask(get("raw")).json["Item"]["x"] == {"S": "\U0001f600"}


def test_of_repeated_members_the_last_counts(client):
    item = b'{"pk":{"S":"first"},"pk":{"S":"twice"},"x":{"S":"a","S":"b"}}'
    body = b'{"TableName":"nowhere","TableName":"things","Item":' + item + b"}"
    assert client.ask(build("PutItem", body=body)).status == 200
    assert client.ask(get("twice")).json["Item"] == {"pk": {"S": "twice"}, "x": {"S": "b"}}
    assert client.ask(get("first")).json == {}


@pytest.mark.parametrize(
    "literal", ["NaN", "Infinity", "-Infinity", "1e", "01", "+1", "0x1", "'a'", "undefined", "nan"]
)
def test_what_json_does_not_have_is_refused(client, literal):
    assert refusal(put_raw(client, f'"x":{{"N":{literal}}}')) == "SerializationException"


@pytest.mark.parametrize(
    "text", ["NaN", "Infinity", "-Infinity", "1e", "0x1", "", " 1", "1 ", "\u0661", "1_000", "1e999999999"]
)
def test_what_is_no_number_is_refused(client, text):
    assert refusal(put_item(client, x={"N": text})) == "ValidationException"


DEEP_BODIES = {
    "lists": b"[" * DEEP + b"]" * DEEP,
    "unclosed lists": b"[" * DEEP,
    "objects": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "unclosed objects": b'{"a":' * DEEP,
    "an item": b'{"TableName":"things","Item":{"pk":{"S":"a"},"x":' + b'{"L":[' * DEEP + b"]}" * DEEP + b"}}",
    "a map": b'{"TableName":"things","Item":{"pk":{"S":"a"},"x":'
    + b'{"M":{"a":' * DEEP
    + b'{"S":"a"}'
    + b"}}" * DEEP
    + b"}}",
}


@pytest.mark.parametrize("body", DEEP_BODIES.values(), ids=DEEP_BODIES)
@pytest.mark.parametrize("operation", ["PutItem", "ListTables"])
def test_json_without_a_bottom_is_refused(client, body, operation):
    assert refusal(client.ask(build(operation, body=body))) in {"SerializationException", "ValidationException"}


@pytest.mark.parametrize("levels", [100, 900, 1_000, 1_100, 5_000])
def test_values_nested_deeper_than_python_likes_are_refused(client, levels):
    text = b'"x":' + b'{"L":[' * levels + b"]}" * levels
    assert refusal(put_raw(client, text)) in {"SerializationException", "ValidationException"}


# -- limits -----------------------------------------------------------------------------------------------------------


def test_thirty_two_levels_are_stored_and_thirty_three_refused(client):
    assert put_item(client, x=nest(31, {"S": "deep"})).status == 200
    response = put_item(client, x=nest(32, {"S": "deeper"}))
    assert refusal(response) == "ValidationException"
    assert "Nesting Levels have exceeded supported limits" in response.json["message"]


def test_four_hundred_kilobytes_are_stored_and_one_byte_more_refused(client):
    for spare, status in ((0, 200), (1, 400)):
        item = sized_item(ITEM_LIMIT + spare, pk="large")
        response = client.ask(build("PutItem", {"TableName": "things", "Item": item}))
        assert response.status == status
    assert response.json["message"] == "Item size has exceeded the maximum allowed size"
    assert len(client.ask(get("large")).json["Item"]["fill"]["S"]) == ITEM_LIMIT - len("pklargefill")


def test_the_size_is_that_of_the_utf_8_bytes(client):
    item = sized_item(ITEM_LIMIT, pk="large")
    item["fill"]["S"] = item["fill"]["S"][:-1] + "é"
    assert refusal(client.ask(build("PutItem", {"TableName": "things", "Item": item}))) == "ValidationException"


@pytest.mark.parametrize("template", ["{}", "-{}", "0.{}", "{}e80", "{}E-100"])
def test_thirty_eight_digits_are_stored_and_thirty_nine_refused(client, template):
    assert put_item(client, x={"N": template.format("7" * 38)}).status == 200
    response = put_item(client, x={"N": template.format("7" * 39)})
    assert refusal(response) == "ValidationException"
    assert "Attempting to store more than 38 significant digits in a Number" in response.json["message"]


def test_a_number_of_a_hundred_thousand_digits_is_refused(client):
    for text in ("7" * MANY, "0." + "0" * MANY + "7", "1e" + "7" * MANY):
        assert refusal(put_item(client, x={"N": text})) == "ValidationException"


def test_leading_zeros_without_number_are_no_digits(client):
    assert put_item(client, x={"N": "0" * MANY + "7"}).status == 200
    assert client.ask(get("item")).json["Item"]["x"] == {"N": "7"}


def test_a_limit_may_be_larger_than_any_table(client):
    for limit in (2**31, 2**63, 2**64):
        response = client.ask(build("Scan", {"TableName": "things", "Limit": limit}))
        assert response.status == 200 or refusal(response) in {"ValidationException", "SerializationException"}


# -- compressed -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("inside", [b" " * (64 << 20), b'{"TableName":"' + b"a" * (64 << 20)], ids=["spaces", "text"])
def test_a_gzip_bomb_is_refused(client, inside):
    bomb = gzip.compress(inside)
    assert len(bomb) < len(inside) / 500
    response = client.ask(build("PutItem", body=bomb, content_encoding="gzip"))
    assert response.status in {400, 413}


def test_a_bomb_of_many_members_is_refused(client):
    bomb = gzip.compress(b" " * (1 << 20)) * 64
    assert client.ask(build("PutItem", body=bomb, content_encoding="gzip")).status in {400, 413}


def test_compressed_rubbish_is_refused(client):
    whole = gzip.compress(b'{"TableName":"things","Key":{"pk":{"S":"a"}}}')
    for body in (whole[:-9], whole[:5], zlib.compress(b"{}"), b"\x1f\x8b" + bytes(50), b"{}"):
        assert client.ask(build("GetItem", body=body, content_encoding="gzip")).status in {400, 500}


# -- cut off ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_requests_cut_anywhere_are_not_executed(served, seed):
    whole = put("cut", x="y" * 300)
    chance = random.Random(seed)
    for at in sorted(chance.sample(range(1, len(whole)), 40)):
        with socket.create_connection(("127.0.0.1", served.port), 20) as connection:
            connection.sendall(whole[:at])
            if chance.random() < 0.5:
                connection.shutdown(socket.SHUT_WR)
    other = Client(served.port)
    assert other.ask(get("cut")).json == {}
    other.close()
    assert_alive(served)


def test_a_length_that_is_too_short_cuts_the_json(client):
    body = orjson.dumps({"TableName": "things", "Item": {"pk": {"S": "short"}}})
    assert refusal(client.ask(build("PutItem", body=body[:-1]))) == "SerializationException"


@pytest.mark.parametrize("seed", range(3))
def test_flipped_bytes_are_refused_or_understood_but_never_a_failure(served, seed):
    chance = random.Random(seed)
    whole = orjson.dumps(
        {"TableName": "things", "Item": {"pk": {"S": "flipped"}, "x": {"M": {"a": {"L": [{"N": "1.5"}]}}}}}
    )
    client = Client(served.port)
    for _ in range(150):
        body = bytearray(whole)
        for _ in range(chance.randrange(1, 4)):
            body[chance.randrange(len(body))] = chance.randrange(256)
        response = client.ask(build("PutItem", body=bytes(body)))
        assert response.status in {200, 400}, (bytes(body), response)
    client.close()
    assert_alive(served)


def test_headers_of_any_bytes_are_refused_or_ignored(served):
    chance = random.Random(1)
    for _ in range(30):
        junk = chance.randbytes(30).replace(b"\r", b"").replace(b"\n", b"")
        lines = b"".join(f"{name}: {value}\r\n".encode() for name, value in HEADERS.items())
        head = b"POST / HTTP/1.1\r\n" + lines + b"X-Amz-Target: " + junk + b"\r\nContent-Length: 2\r\n\r\n{}"
        client = Client(served.port)
        assert client.ask(head).status == 400
        client.close()
    assert_alive(served)
