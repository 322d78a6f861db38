"""The bytes of a response."""

import gzip
import re
import zlib

import pytest
from msgspec.structs import replace

from hashrange.core.clock import ManualClock
from hashrange.server.http_response import Responder, find_response_form

JSON = b"application/x-amz-json-1.0"


def render(body=b"{}", *, status=200, accepted=None, cross_origin=False, connection=None, bodyless=False):
    form = replace(find_response_form(JSON, cross_origin, accepted, connection), bodyless=bodyless)
    head, _, sent = Responder(ManualClock(1_773_500_966)).render(form, status, body).partition(b"\r\n\r\n")
    return head.decode().split("\r\n"), sent


def test_a_response_has_dynamodbs_headers():
    head, body = render(b'{"Table":{}}')
    request_id = head.pop(4)
    assert head == [
        "HTTP/1.1 200 OK",
        "Server: Server",
        "Date: Sat, 14 Mar 2026 15:09:26 GMT",
        "Content-Type: application/x-amz-json-1.0",
        f"x-amz-crc32: {zlib.crc32(body)}",
        "Content-Length: 12",
    ]
    assert re.fullmatch(r"x-amzn-RequestId: [0-9A-Z]{52}", request_id)
    assert body == b'{"Table":{}}'


def test_every_response_has_its_own_request_id():
    responder = Responder(ManualClock())
    form = find_response_form(JSON, False, None, None)
    made = {responder.render(form, 200, b"{}") and responder.request_id for _ in range(1000)}
    assert len(made) == 1000


def test_the_date_stands_until_it_is_refreshed():
    clock = ManualClock(1_773_500_966)
    responder, form = Responder(clock), find_response_form(JSON, False, None, None)
    clock.advance(1)
    assert b"15:09:26 GMT" in responder.render(form, 200, b"{}")
    responder.refresh_date()
    assert b"15:09:27 GMT" in responder.render(form, 200, b"{}")


def test_a_body_over_four_kilobytes_is_compressed_when_the_client_accepts_it():
    head, body = render(b"x" * 4097, accepted=b"gzip")
    assert "Content-Encoding: gzip" in head
    assert f"Content-Length: {len(body)}" in head
    assert f"x-amz-crc32: {zlib.crc32(body)}" in head
    assert gzip.decompress(body) == b"x" * 4097


def test_a_smaller_body_is_not_compressed():
    assert render(b"x" * 4096, accepted=b"gzip")[1] == b"x" * 4096
    assert render(b"x" * 4097, accepted=b"identity")[1] == b"x" * 4097


def test_the_answer_to_head_tells_a_length_but_has_no_body():
    head, body = render(b"0123456789", bodyless=True)
    assert "Content-Length: 10" in head
    assert body == b""


def test_the_request_decides_some_of_the_headers():
    head, _ = render(cross_origin=True, connection=b"close")
    exposed = "Access-Control-Expose-Headers: x-amzn-RequestId,x-amzn-ErrorType,x-amzn-ErrorMessage,Date"
    assert head[4:7] == ["Access-Control-Allow-Origin: *", exposed, "Connection: close"]


@pytest.mark.parametrize(
    ("sent", "understood", "response"),
    [
        (b"application/json", b"application/json", b"application/json"),
        (b" application/X-AMZ-json-1.0; charset=utf-8", JSON, JSON),
        (b"text/plain", None, b"application/json"),
        (None, None, b"application/json"),
    ],
)
def test_the_media_type_is_echoed_if_it_is_one_of_dynamodbs(sent, understood, response):
    form = find_response_form(sent, False, None, None)
    assert (form.media_type, form.headers) == (understood, b"Content-Type: " + response + b"\r\n")
