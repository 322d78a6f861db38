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
    response = client.ask(get("a"))
    assert int(response.headers["x-amz-crc32"]) == zlib.crc32(response.body)
    assert re.fullmatch("[0-9A-Z]{52}", response.headers["x-amzn-requestid"])
    assert response.headers["server"] == "Server"
    assert response.headers["date"].endswith(" GMT")


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
    response = client.ask(get("a", content_type=sent))
    assert (response.status, response.headers["content-type"]) == (200, echoed)


@pytest.mark.parametrize(("path", "status"), [("", 200), ("/", 200), ("/metrics", 200), ("/other", 404)])
def test_a_target_may_be_a_whole_url_as_proxies_send_it(client, path, status):
    assert client.ask(build(method="GET", path=f"http://localhost:8000{path}")).status == status
    assert client.ask(build("ListTables", {}, path=f"http://localhost:8000{path}")).status == 200


def test_identity_is_no_encoding(client):
    assert client.ask(get("a", content_encoding="identity")).json == {}


@pytest.mark.parametrize("operation", ["GetItem", "PutItem"])
def test_streams_operations_alone_have_a_second_target(client, operation):
    response = client.ask(build(x_amz_target=f"DynamoDBStreams_20120810.{operation}", request={}))
    assert (response.status, response.error) == (400, "UnknownOperationException")


def test_streams_are_served_under_both_targets(client):
    for target in ("DynamoDBStreams_20120810", "DynamoDB_20120810"):
        assert client.ask(build(x_amz_target=f"{target}.ListStreams", request={})).json == {"Streams": []}


# -- what needs no operation


def test_the_root_is_a_health_check(client):
    response = client.ask(build(method="GET"))
    assert (response.status, response.body) == (200, b"healthy: dynamodb.eu-west-2.amazonaws.com ")


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
    response = client.ask(request_)
    assert (response.status, response.body) == (404, NOT_FOUND)
    assert response.headers["x-amz-crc32"] == "3552371480"
    assert "content-type" not in response.headers


def test_head_gets_no_body(client):
    client.send(build(method="HEAD"))
    response = client.read(bodyless=True)
    assert (response.status, response.headers["content-length"]) == (404, str(len(NOT_FOUND)))
    assert client.ask(build(method="GET")).status == 200


def test_a_path_does_not_matter_to_an_operation(client):
    assert client.ask(build("ListTables", {}, path="/any/where")).status == 200


def test_metrics_are_served(client):
    client.ask(get("a"))
    response = client.ask(build(method="GET", path="/metrics"))
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert b'hashrange_requests_total{operation="GetItem",status="200"} 1\n' in response.body
    assert b"hashrange_open_connections 1\n" in response.body


# -- cross-origin requests


@pytest.fixture
def open_client(serve, connect):
    """A client of a server that takes requests of every page."""
    return connect(serve(cors=("*",)))


def test_a_preflight_is_allowed_what_it_asks_for(open_client):
    response = open_client.ask(
        build(
            method="OPTIONS",
            origin="http://page",
            access_control_request_headers="x-amz-target, authorization",
            access_control_request_method="POST",
            access_control_request_private_network="true",
        )
    )
    assert (response.status, response.body) == (200, b"")
    assert response.headers["access-control-allow-origin"] == "*"
    assert response.headers["access-control-max-age"] == "172800"
    assert response.headers["access-control-allow-headers"] == "x-amz-target, authorization"
    assert response.headers["access-control-allow-methods"] == "POST"
    assert response.headers["access-control-allow-private-network"] == "true"


@pytest.mark.parametrize("request_", [get("a", origin="x"), build(method="GET", origin="x"), build(origin="x")])
def test_every_answer_to_another_origin_may_be_read_by_it(open_client, request_):
    headers = open_client.ask(request_).headers
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
    response = client.ask(build("ListTables", body=body))
    assert (response.status, response.json) == (400, {"__type": "com.amazon.coral.service#SerializationException"})


@pytest.mark.parametrize("body", [b"[]", b"null", b"7", b'"text"', b"true"])
def test_json_that_is_not_an_object_is_one_too(client, body):
    response = client.ask(build("ListTables", body=body))
    assert (response.status, response.json) == (400, {"__type": "com.amazon.coral.service#SerializationException"})


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
    response = client.ask(build(request={}, x_amz_target=target, authorization=None))
    assert (response.status, response.json) == (400, {"__type": "com.amazon.coral.service#UnknownOperationException"})


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
    response = client.ask(build(request={}, x_amz_target=target, authorization=None))
    text = f"hashrange does not serve the operation {named}"
    assert response.status == 400
    assert response.json == {"__type": "com.amazon.coral.service#UnknownOperationException", "message": text}


def test_the_signature_comes_before_the_empty_body(client):
    response = client.ask(build("ListTables", body=b"", authorization=None))
    assert response.json == {
        "__type": "com.amazon.coral.service#MissingAuthenticationTokenException",
        "message": "Request is missing Authentication Token",
    }


def test_the_signature_comes_before_the_types(client):
    response = client.ask(build("GetItem", {"TableName": 7}, authorization=None))
    assert response.error == "MissingAuthenticationTokenException"


def test_an_unknown_target_without_body_or_type_is_answered_in_json(client):
    response = client.ask(build(content_type=None))
    assert (response.error, response.headers["content-type"]) == ("UnknownOperationException", "application/json")


def test_errors_of_operations_have_their_status_and_type(client):
    response = client.ask(build("DescribeTable", {"TableName": "nothing"}))
    assert response.status == 400
    assert response.json == {
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
        response = client.ask(get("big").replace(b"\r\n", b"\r\n" + lines, 1))
        assert response.headers.get("content-encoding") == encoding


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
@pytest.mark.parametrize(
    "body",
    [b"{}", b"", gzip.compress(b"{}", mtime=0)[:-1], zlib.compress(b"{}")[:-1]],
    ids=["plain", "empty", "gzip", "zlib"],
)
def test_a_broken_compressed_body_is_an_internal_error_as_on_aws(client, encoding, body):
    response = client.ask(build("ListTables", body=body, content_encoding=encoding))
    assert (response.status, response.error) == (500, "InternalServerError")
    assert client.call("ListTables", {}) == {"TableNames": ["things"]}


@pytest.mark.parametrize("bomb", [gzip.compress(b" " * 32 * MIB), gzip.compress(b" " * MIB) * 1000])
def test_a_gzip_bomb_is_refused_before_it_fills_the_memory(client, bomb):
    response = client.ask(build("ListTables", body=bomb, content_encoding="gzip"))
    assert (response.status, response.error) == (413, "RequestEntityTooLargeException")
    assert client.call("ListTables", {}) == {"TableNames": ["things"]}


def test_a_large_answer_is_compressed_for_who_accepts_it(client):
    client.ask(put("big", text="x" * 5000))
    response = client.ask(get("big", accept_encoding="gzip"))
    assert response.headers["content-encoding"] == "gzip"
    assert int(response.headers["x-amz-crc32"]) == zlib.crc32(response.body)
    assert json.loads(gzip.decompress(response.body))["Item"]["text"]["S"] == "x" * 5000
    assert "content-encoding" not in client.ask(get("big")).headers


def test_a_request_may_have_sixteen_mebibytes(client):
    body = b'{"Limit": 1' + b" " * (16 * MIB - 12) + b"}"
    assert client.ask(build("ListTables", body=body)).status == 200
