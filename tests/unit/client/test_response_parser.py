"""Answers of the service: every error of ours comes back as itself, unknown ones keep their name."""

import gzip
import json
import zlib

import pytest

from hashrange.client import response_parser
from hashrange.client.errors import ResponseCorrupt, ResponseTooLarge
from hashrange.client.http.connection import HttpResponse
from hashrange.client.response_parser import CLASSES, UnlistedError, parse_response
from hashrange.core import errors
from hashrange.core.errors import RequestInvalid, ServiceError, TransactionCanceledException, ValidationException

REASONS = [{"Code": "None"}, {"Code": "ConditionalCheckFailed", "Item": {"pk": {"S": "1"}}}]
LISTED = [
    found
    for found in vars(errors).values()
    if isinstance(found, type) and issubclass(found, ServiceError) and found is not ServiceError
]


def make(cls):
    """An error of that class, as the engine raises it."""
    if cls is TransactionCanceledException:
        return cls(REASONS)
    return cls("what is wrong")


def send(error):
    """What comes back when a server answers with the error."""
    with pytest.raises(ServiceError) as caught:
        parse_response(HttpResponse(error.status, {b"x-amzn-requestid": b"ABC"}, error.body()))
    return caught.value


def test_there_are_errors_to_map():
    assert len(LISTED) > 25


@pytest.mark.parametrize("cls", LISTED, ids=lambda cls: cls.__name__)
def test_every_error_comes_back_as_itself(cls):
    sent = make(cls)
    got = send(sent)
    assert type(got) is (ValidationException if cls is RequestInvalid else cls)
    assert (got.name, got.message, got.members, got.status) == (sent.name, sent.message, sent.members, sent.status)
    assert str(got) == str(sent)


def test_an_error_names_its_request():
    assert send(make(ValidationException)).__notes__ == ["request id ABC"]


@pytest.mark.parametrize("kind", ["com.amazonaws.dynamodb.v20120810#NewKind", "NewKind"])
@pytest.mark.parametrize("text", ["message", "Message"])
def test_an_unlisted_error_keeps_what_it_says(kind, text):
    body = json.dumps({"__type": kind, text: "what is wrong", "self": 1, "Item": {}}).encode()
    with pytest.raises(UnlistedError) as caught:
        parse_response(HttpResponse(402, {}, body))
    error = caught.value
    assert (error.name, error.message, error.status, error.retryable) == ("NewKind", "what is wrong", 402, False)
    assert error.members == {"self": 1, "Item": {}}
    assert str(error) == "what is wrong"


def test_unlisted_errors_do_not_share_their_names():
    first = response_parser.make_error("First", {}, 400)
    second = response_parser.make_error("Second", {}, 503)
    assert (first.name, first.retryable, second.name, second.retryable) == ("First", False, "Second", True)
    assert UnlistedError.name == "UnlistedError"


def test_classes_outside_the_list_of_errors_are_not_raised():
    assert "UnlistedError" not in CLASSES
    assert CLASSES["ValidationException"] is ValidationException


def test_an_empty_answer_is_an_empty_object():
    assert parse_response(HttpResponse(200, {}, b"")) == {}


@pytest.mark.parametrize(("encoding", "pack"), [(b"gzip", gzip.compress), (b"deflate", zlib.compress)])
def test_the_checksum_is_of_what_was_sent(encoding, pack):
    body = pack(b'{"a":1}')
    headers = {b"content-encoding": encoding, b"x-amz-crc32": str(zlib.crc32(body)).encode()}
    assert parse_response(HttpResponse(200, headers, body)) == {"a": 1}


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({b"x-amz-crc32": b"1"}, b"{}"),
        ({b"x-amz-crc32": b"garbage"}, b"{}"),
        ({b"content-encoding": b"br"}, b"{}"),
        ({b"content-encoding": b"gzip"}, b"{}"),
        ({b"content-encoding": b"gzip"}, gzip.compress(b"{}", mtime=0)[:-3]),
        ({}, b"{"),
        ({}, b"[]"),
    ],
)
def test_a_damaged_answer_is_not_believed(headers, body):
    with pytest.raises(ResponseCorrupt):
        parse_response(HttpResponse(200, headers, body))


def test_a_bomb_does_not_go_off(monkeypatch):
    monkeypatch.setattr(response_parser, "MAX_RESPONSE_BYTES", 1000)
    with pytest.raises(ResponseTooLarge):
        parse_response(HttpResponse(200, {b"content-encoding": b"gzip"}, gzip.compress(bytes(100_000))))
