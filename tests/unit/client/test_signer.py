"""Signatures: byte for byte those of botocore, and a clock that the endpoint may correct."""

import re
from datetime import UTC, datetime
from email.utils import formatdate

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotocoreCredentials
from hypothesis import given
from hypothesis import strategies as st

from hashrange.client.http.connection import HttpResponse
from hashrange.client.http.connector import parse_endpoint
from hashrange.client.signer import CONTENT_TYPE, Credentials, Signer
from hashrange.core.clock import ManualClock

VISIBLE = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=60)
URLS = st.sampled_from(
    [
        "http://127.0.0.1:8000",
        "http://localhost",
        "http://[::1]:8000/",
        "https://dynamodb.eu-west-2.amazonaws.com",
        "https://dynamodb.cn-north-1.amazonaws.com.cn:443/",
        "https://proxy.example:8443/some/path",
    ]
)
REGIONS = st.sampled_from(["eu-west-2", "us-east-1", "cn-north-1", "us-gov-west-1"])
KEYS = st.builds(Credentials, VISIBLE, VISIBLE, st.none() | VISIBLE)
SECONDS = st.integers(0, 4_000_000_000)
TARGET = "DynamoDB_20120810.PutItem"


def sign_by_botocore(url, region, keys, second, body):
    request = AWSRequest("POST", url, headers={"Content-Type": CONTENT_TYPE, "X-Amz-Target": TARGET}, data=body)
    moment = datetime.fromtimestamp(second, UTC)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("botocore.auth.get_current_datetime", lambda *_, **__: moment.replace(tzinfo=None))
        SigV4Auth(BotocoreCredentials(*keys), "dynamodb", region).add_auth(request)
    return dict(request.headers.items())


def read_head(request):
    head = request.partition(b"\r\n\r\n")[0].decode()
    return dict(line.split(": ", 1) for line in head.split("\r\n")[1:])


@given(URLS, REGIONS, KEYS, SECONDS, st.binary(max_size=200))
def test_signatures_are_those_of_botocore(url, region, keys, second, body):
    signer = Signer(parse_endpoint(url), region, ManualClock(second))
    sent = read_head(signer.write(keys, TARGET, body))
    expected = sign_by_botocore(url, region, keys, second, body)
    assert sent["Authorization"] == expected["Authorization"]
    assert sent["X-Amz-Date"] == expected["X-Amz-Date"]
    assert sent.get("X-Amz-Security-Token") == expected.get("X-Amz-Security-Token")


def test_a_request_says_how_long_it_is_and_ends_with_its_body():
    request = Signer(parse_endpoint("http://127.0.0.1:8000"), "eu-west-2").write(Credentials("k", "s"), TARGET, b"{}")
    assert request.startswith(b"POST / HTTP/1.1\r\nHost: 127.0.0.1:8000\r\n")
    assert read_head(request)["Content-Length"] == "2"
    assert request.endswith(b"\r\n\r\n{}")


def test_the_date_of_a_signature_moves_with_the_clock():
    clock = ManualClock(0)
    signer = Signer(parse_endpoint("http://x"), "eu-west-2", clock)
    first = read_head(signer.write(Credentials("k", "s"), TARGET, b""))
    clock.advance(86_400)
    second = read_head(signer.write(Credentials("k", "s"), TARGET, b""))
    assert (first["X-Amz-Date"], second["X-Amz-Date"]) == ("19700101T000000Z", "19700102T000000Z")
    assert re.search(r"/19700102/", second["Authorization"])


def refuse(name, date):
    headers = {b"date": date.encode()} if date else {}
    return HttpResponse(400, headers, f'{{"__type":"com.amazon.coral.service#{name}"}}'.encode())


@pytest.mark.parametrize("wrong", [-3600, 3600])
def test_the_clock_of_the_endpoint_is_taken_over(wrong):
    clock = ManualClock(1_800_000_000)
    signer = Signer(parse_endpoint("http://x"), "eu-west-2", clock)
    assert signer.correct_clock(refuse("InvalidSignatureException", formatdate(1_800_000_000 + wrong, usegmt=True)))
    stamp = read_head(signer.write(Credentials("k", "s"), TARGET, b""))["X-Amz-Date"]
    assert stamp == f"{datetime.fromtimestamp(1_800_000_000 + wrong, UTC):%Y%m%dT%H%M%SZ}"


@pytest.mark.parametrize(
    ("name", "date"),
    [
        ("InvalidSignatureException", formatdate(1_800_000_060, usegmt=True)),  # a wrong secret: the clock is right
        ("ValidationException", formatdate(1_800_003_600, usegmt=True)),
        ("InvalidSignatureException", "yesterday"),
        ("InvalidSignatureException", ""),
    ],
)
def test_other_refusals_leave_the_clock_alone(name, date):
    assert not Signer(parse_endpoint("http://x"), "eu-west-2", ManualClock(1_800_000_000)).correct_clock(
        refuse(name, date)
    )
