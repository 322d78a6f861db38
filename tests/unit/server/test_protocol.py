"""DynamoDB's order of checks, over the wire."""

import gzip
import json
import re
import zlib

import pytest

from hashrange.server.authentication import check_signature_format_if_signed
from tests.unit.server.wire import build, get, put

NOT_FOUND = b"<UnknownOperationException/>\n"
MIB = 1024 * 1024


def test_an_operation_is_named_by_its_target(client):
    assert client.call("ListTables", {}) == {"TableNames": ["things"]}


def test_what_was_put_can_be_got(client):
    assert client.ask(put("a", name="desk")).body == b"{}"
    assert client.ask(get("a")).json == {"Item": {"pk": {"S": "a"}, "name": {"S": "desk"}}}


def test_a_response_has_the_checksum_of_its_body_and_a_request_id(client):
    answer = client.ask(get("a"))
    assert int(answer.headers["x-amz-crc32"]) == zlib.crc32(answer.body)
    assert re.fullmatch("[0-9A-Z]{52}", answer.headers["x-amzn-requestid"])
    assert answer.headers["server"] == "Server"
    assert answer.headers["date"].endswith(" GMT")


@pytest.mark.parametrize(
    ("sent", "echoed"),
    [
        ("application/x-amz-json-1.0", "application/x-amz-json-1.0"),
        ("application/json", "application/json"),
        (" application/json ; charset=utf-8", "application/json"),
        ("Application/X-AMZ-JSON-1.0", "application/x-amz-json-1.0"),
    ],
)
def test_both_media_types_are_taken_and_echoed(client, sent, echoed):
    answer = client.ask(get("a", content_type=sent))
    assert (answer.status, answer.headers["content-type"]) == (200, echoed)


@pytest.mark.parametrize("operation", ["GetItem", "PutItem"])
def test_streams_operations_alone_have_a_second_target(client, operation):
    answer = client.ask(build(x_amz_target=f"DynamoDBStreams_20120810.{operation}", request={}))
    assert (answer.status, answer.error) == (400, "UnknownOperationException")


def test_streams_are_served_under_both_targets(client):
    for target in ("DynamoDBStreams_20120810", "DynamoDB_20120810"):
        assert client.ask(build(x_amz_target=f"{target}.ListStreams", request={})).json == {"Streams": []}


# -- what needs no operation


def test_the_root_is_a_health_check(client):
    answer = client.ask(build(method="GET"))
    assert (answer.status, answer.body) == (200, b"healthy: dynamodb.eu-west-2.amazonaws.com ")


@pytest.mark.parametrize(
    "request_",
    [
        build(method="GET", path="/elsewhere"),
        build(method="OPTIONS"),
        build(method="DELETE"),
        build("ListTables", {}, method="PUT", content_length="2"),
        build("ListTables", {}, content_type="text/plain"),
        build("ListTables", {}, content_type=None),
    ],
    ids=["another path", "OPTIONS", "DELETE", "PUT", "another type", "no type"],
)
def test_anything_else_is_not_found(client, request_):
    answer = client.ask(request_)
    assert (answer.status, answer.body) == (404, NOT_FOUND)
    assert answer.headers["x-amz-crc32"] == "3552371480"
    assert "content-type" not in answer.headers


def test_head_gets_no_body(client):
    client.send(build(method="HEAD"))
    answer = client.read(bodyless=True)
    assert (answer.status, answer.headers["content-length"]) == (404, str(len(NOT_FOUND)))
    assert client.ask(build(method="GET")).status == 200


def test_a_path_does_not_matter_to_an_operation(client):
    assert client.ask(build("ListTables", {}, path="/any/where")).status == 200


def test_metrics_are_served(client):
    client.ask(get("a"))
    answer = client.ask(build(method="GET", path="/metrics"))
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert b'hashrange_requests_total{operation="GetItem",status="200"} 1\n' in answer.body
    assert b"hashrange_open_connections 1\n" in answer.body


# -- cross-origin requests


def test_a_preflight_is_allowed_what_it_asks_for(client):
    answer = client.ask(
        build(
            method="OPTIONS",
            origin="http://page",
            access_control_request_headers="x-amz-target, authorization",
            access_control_request_method="POST",
        )
    )
    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["access-control-max-age"] == "172800"
    assert answer.headers["access-control-allow-headers"] == "x-amz-target, authorization"
    assert answer.headers["access-control-allow-methods"] == "POST"


@pytest.mark.parametrize("request_", [get("a", origin="x"), build(method="GET", origin="x"), build(origin="x")])
def test_every_answer_to_another_origin_may_be_read_by_it(client, request_):
    headers = client.ask(request_).headers
    assert headers["access-control-allow-origin"] == "*"
    exposed = headers["access-control-expose-headers"]
    assert exposed == "x-amzn-RequestId,x-amzn-ErrorType,x-amzn-ErrorMessage,Date"


def test_without_an_origin_nothing_is_said_about_it(client):
    assert not [name for name in client.ask(get("a")).headers if name.startswith("access-control")]


# -- JSON


@pytest.mark.parametrize(
    "body",
    [b"hi", b"{", b'{"a": NaN}', b'{"a": "\xff"}', b"{'a': 1}", b'{"a":' * 100_000, b"[", b"\xef\xbb\xbf{}"],
    ids=["text", "open", "NaN", "not UTF-8", "quotes", "deep", "list", "byte order mark"],
)
def test_what_is_not_json_is_a_serialization_exception_without_a_message(client, body):
    answer = client.ask(build("ListTables", body=body))
    assert (answer.status, answer.json) == (400, {"__type": "com.amazon.coral.service#SerializationException"})


@pytest.mark.parametrize("body", [b"[]", b"null", b"7", b'"text"', b"true"])
def test_json_that_is_not_an_object_is_one_too(client, body):
    answer = client.ask(build("ListTables", body=body))
    assert (answer.status, answer.json) == (400, {"__type": "com.amazon.coral.service#SerializationException"})


def test_an_empty_body_is_one_too(client):
    assert client.ask(build("ListTables", body=b"")).error == "SerializationException"


def test_of_a_repeated_member_the_last_counts(client):
    body = b'{"TableName": "others", "TableName": "things"}'
    assert client.ask(build("DescribeTable", body=body)).json["Table"]["TableName"] == "things"


# -- the order


def test_the_method_comes_before_everything(client):
    assert client.ask(build("Nonsense", body=b"hi", method="PUT", content_length="2")).status == 404


def test_the_content_type_comes_before_the_json(client):
    assert client.ask(build("ListTables", body=b"hi", content_type="text/plain")).status == 404


def test_the_json_comes_before_the_target(client):
    assert client.ask(build("Nonsense", body=b"hi")).error == "SerializationException"


@pytest.mark.parametrize("target", [None, ""])
def test_the_target_comes_before_the_signature(client, target):
    answer = client.ask(build(request={}, x_amz_target=target, authorization=None))
    assert (answer.status, answer.json) == (400, {"__type": "com.amazon.coral.service#UnknownOperationException"})


@pytest.mark.parametrize(
    ("target", "named"),
    [
        ("ListTables", "ListTables"),
        ("DynamoDB_20111205.ListTables", "DynamoDB_20111205.ListTables"),
        ("DynamoDB_20120810.Nonsense", "Nonsense"),
        ("DynamoDB_20120810.ImportTable", "ImportTable"),
    ],
)
def test_an_operation_that_is_not_served_is_named(client, target, named):
    answer = client.ask(build(request={}, x_amz_target=target, authorization=None))
    text = f"hashrange does not serve the operation {named}"
    assert answer.status == 400
    assert answer.json == {"__type": "com.amazon.coral.service#UnknownOperationException", "message": text}


def test_the_signature_comes_before_the_empty_body(client):
    answer = client.ask(build("ListTables", body=b"", authorization=None))
    assert answer.json == {
        "__type": "com.amazon.coral.service#MissingAuthenticationTokenException",
        "message": "Request is missing Authentication Token",
    }


def test_the_signature_comes_before_the_types(client):
    answer = client.ask(build("GetItem", {"TableName": 7}, authorization=None))
    assert answer.error == "MissingAuthenticationTokenException"


def test_an_unknown_target_without_body_or_type_is_answered_in_json(client):
    answer = client.ask(build(content_type=None))
    assert (answer.error, answer.headers["content-type"]) == ("UnknownOperationException", "application/json")


def test_errors_of_operations_have_their_status_and_type(client):
    answer = client.ask(build("DescribeTable", {"TableName": "nothing"}))
    assert answer.status == 400
    assert answer.json == {
        "__type": "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException",
        "message": "Requested resource not found: Table: nothing not found",
    }


def test_unsigned_requests_are_served_where_that_is_allowed(serve, connect):
    client = connect(serve(authenticate=check_signature_format_if_signed))
    assert client.ask(build("ListTables", {}, authorization=None)).status == 200


# -- compression and size


def test_a_gzipped_request_is_understood(client):
    body = gzip.compress(json.dumps({"TableName": "things", "Key": {"pk": {"S": "a"}}}).encode())
    assert client.ask(build("GetItem", body=body, content_encoding="gzip")).json == {}


def test_a_deflated_request_is_understood(client):
    body = zlib.compress(json.dumps({"TableName": "things", "Key": {"pk": {"S": "a"}}}).encode())
    assert client.ask(build("GetItem", body=body, content_encoding="deflate")).json == {}


@pytest.mark.parametrize(
    ("lines", "encoding"),
    [
        (b"Accept-Encoding: gzip\r\nAccept-Encoding: identity\r\n", "gzip"),
        (b"Accept-Encoding: identity\r\nAccept-Encoding: gzip\r\n", None),
        (b"accept-encoding: identity\r\nAccept-Encoding: gzip\r\n", None),
        (b"Accept-Encoding: identity, gzip\r\n", "gzip"),
    ],
)
def test_of_several_headers_that_accept_encodings_the_first_counts(client, lines, encoding):
    client.ask(put("big", text="x" * 5000))
    for _ in range(3):  # parsed, then taken from the cache of heads
        answer = client.ask(get("big").replace(b"\r\n", b"\r\n" + lines, 1))
        assert answer.headers.get("content-encoding") == encoding


def test_broken_gzip_is_an_internal_error(client):
    answer = client.ask(build("ListTables", {}, content_encoding="gzip"))
    assert (answer.status, answer.error) == (500, "InternalServerError")


@pytest.mark.parametrize("bomb", [gzip.compress(b" " * 32 * MIB), gzip.compress(b" " * MIB) * 1000])
def test_a_gzip_bomb_is_refused_before_it_fills_the_memory(client, bomb):
    answer = client.ask(build("ListTables", body=bomb, content_encoding="gzip"))
    assert (answer.status, answer.error) == (413, "RequestEntityTooLargeException")
    assert client.call("ListTables", {}) == {"TableNames": ["things"]}


def test_a_large_answer_is_compressed_for_who_accepts_it(client):
    client.ask(put("big", text="x" * 5000))
    answer = client.ask(get("big", accept_encoding="gzip"))
    assert answer.headers["content-encoding"] == "gzip"
    assert int(answer.headers["x-amz-crc32"]) == zlib.crc32(answer.body)
    assert json.loads(gzip.decompress(answer.body))["Item"]["text"]["S"] == "x" * 5000
    assert "content-encoding" not in client.ask(get("big")).headers


def test_a_request_may_have_sixteen_mebibytes(client):
    body = b'{"Limit": 1' + b" " * (16 * MIB - 12) + b"}"
    assert client.ask(build("ListTables", body=body)).status == 200
