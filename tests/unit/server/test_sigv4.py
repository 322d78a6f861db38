"""Signature Version 4: what botocore signs is accepted, and nothing else."""

from datetime import UTC, datetime
from urllib.parse import urlsplit

import pytest
from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from hashrange.core.clock import ManualClock
from hashrange.core.errors import (
    IncompleteSignatureException,
    InvalidSignatureException,
    ServiceError,
    UnrecognizedClientException,
)
from hashrange.server.http_request import add_header, make_request, split_headers
from hashrange.server.sigv4 import SignatureVerifier

KEY_ID, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
BODY = b'{"TableName": "things"}'
TARGET = "DynamoDB_20120810.DescribeTable"


@pytest.fixture
def clock():
    return ManualClock(datetime.now(UTC).timestamp())  # botocore signs with the machine's time


@pytest.fixture
def verify(clock):
    return SignatureVerifier({KEY_ID: SECRET}, clock)


def sign(*, secret=SECRET, key_id=KEY_ID, token=None, service="dynamodb", url="http://localhost:8000/", body=BODY):
    """What botocore sends for a call."""
    made = AWSRequest("POST", url, {"X-Amz-Target": TARGET, "Content-Type": "application/x-amz-json-1.0"}, body)
    SigV4Auth(Credentials(key_id, secret, token), service, "eu-west-2").add_auth(made)
    return to_request(made)


def presign(*, secret=SECRET, expires=60):
    made = AWSRequest("POST", "http://localhost:8000/", {"X-Amz-Target": TARGET}, b"")
    SigV4QueryAuth(Credentials(KEY_ID, secret), "dynamodb", "eu-west-2", expires=expires).add_auth(made)
    return to_request(made)


def to_request(made):
    parts = urlsplit(made.url)
    url = f"{parts.path}?{parts.query}" if parts.query else parts.path
    headers = {name.lower().encode(): value.encode() for name, value in made.headers.items()}
    headers.setdefault(b"host", parts.netloc.encode())
    return make_request(b"POST", url.encode(), headers, made.data or b"", keep_alive=True)


def replace(request, *, url=None, headers=None, body=None):
    """The request with another URL, other headers or another body."""
    url, headers, body = url or request.head.url, headers or request.headers, body or request.body
    return make_request(b"POST", url, headers, body, keep_alive=True)


def change(request, **headers):
    named = {name.replace("_", "-").encode(): value for name, value in headers.items()}
    return replace(request, headers={**request.headers, **named})


def change_authorization(request, old, new):
    return change(request, authorization=request.headers[b"authorization"].replace(old, new))


def refuse(verify, request, kind=InvalidSignatureException):
    with pytest.raises(ServiceError) as refusal:
        verify(request)
    assert type(refusal.value) is kind
    return refusal.value.message


# Requests are signed when their test runs: one that is signed when the tests are collected may have expired by then.
@pytest.mark.parametrize(
    "make_signed",
    [
        sign,
        lambda: sign(body=b""),
        lambda: sign(token="a session token"),
        lambda: sign(url="http://localhost:8000/?b=2&a=1&a=0&c=%2F%20x"),
        presign,
    ],
    ids=["header", "no body", "session token", "query string", "presigned"],
)
def test_what_the_key_signed_passes(verify, make_signed):
    verify(make_signed())


@pytest.mark.parametrize(
    "make_signed", [lambda: sign(secret="another"), lambda: presign(secret="another")], ids=["header", "presigned"]
)
def test_another_secret_is_refused(verify, make_signed):
    text = refuse(verify, make_signed())
    assert text.startswith(
        "The request signature we calculated does not match the signature you provided. "
        "Check your AWS Secret Access Key and signing method. Consult the service documentation for details.\n\n"
        "The Canonical String for this request should have been\n'POST\n/\n"
    )


@pytest.mark.parametrize(
    "make_changed",
    [
        lambda: replace(sign(), body=b'{"TableName": "others"}'),
        lambda: replace(sign(), url=b"/?a=b"),
        lambda: change(sign(), x_amz_target=b"DynamoDB_20120810.DeleteTable"),
        lambda: change(sign(), host=b"elsewhere"),
        lambda: change(sign(token="one"), x_amz_security_token=b"two"),
    ],
    ids=["body", "query", "target", "host", "token"],
)
def test_whatever_is_changed_after_signing_is_noticed(verify, make_changed):
    assert "does not match" in refuse(verify, make_changed())


def test_the_values_of_a_repeated_header_are_signed_together(verify):
    made = AWSRequest("POST", "http://localhost:8000/", {"X-Amz-Target": TARGET, "Accept-Encoding": "gzip,br"}, BODY)
    SigV4Auth(Credentials(KEY_ID, SECRET), "dynamodb", "eu-west-2").add_auth(made)
    headers = to_request(made).headers | {b"accept-encoding": b"gzip"}
    add_header(headers, b"accept-encoding", b"br")
    verify(make_request(b"POST", b"/", headers, BODY, keep_alive=True))
    lines = (f"{name}: {value}" for name, value in made.headers.items() if name != "Accept-Encoding")
    head = "\r\n".join(
        ("POST / HTTP/1.1", "Host: localhost:8000", *lines, "accept-encoding: gzip", "Accept-Encoding: br")
    )
    assert split_headers(head.encode() + b"\r\n\r\n") == headers


def test_spaces_in_a_signed_header_may_be_folded_on_the_way(verify):
    request = sign()
    spaced = request.headers[b"content-type"].join((b"  ", b"  "))
    verify(change(request, content_type=spaced))


def test_an_unknown_key_is_refused(verify):
    text = refuse(verify, sign(key_id="AKIDOTHER"), UnrecognizedClientException)
    assert text == "The security token included in the request is invalid."


def test_an_old_signature_has_expired(verify, clock):
    request = sign()
    clock.advance(14 * 60)
    verify(request)
    clock.advance(2 * 60)
    assert refuse(verify, request).startswith("Signature expired: ")
    assert refuse(verify, request).endswith(" - 15 min.)")


def test_a_signature_from_the_future_is_not_yet_current(verify, clock):
    request = sign()
    clock.advance(-14 * 60)
    verify(request)
    clock.advance(-2 * 60)
    assert refuse(verify, request).startswith("Signature not yet current: ")


def test_a_presigned_request_lives_as_long_as_it_says(verify, clock):
    request = presign(expires=3600)
    clock.advance(3590)
    verify(request)
    clock.advance(20)
    assert refuse(verify, request).startswith("Signature expired: ")


@pytest.mark.parametrize("expires", [0, -5, 604801, "soon"])
def test_a_presigned_request_lives_a_week_at_most(verify, expires):
    assert "X-Amz-Expires" in refuse(verify, presign(expires=expires))


def test_the_date_may_come_in_http_form(verify, clock):
    request = sign()
    date = datetime.strptime(request.headers[b"x-amz-date"].decode(), "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    headers = {**request.headers, b"date": f"{date:%a, %d %b %Y %H:%M:%S} GMT".encode()}
    del headers[b"x-amz-date"]
    # The signature covers x-amz-date, so it cannot match; the date was read, though.
    assert "does not match" in refuse(verify, replace(request, headers=headers))


def test_a_date_must_be_a_date(verify):
    text = refuse(verify, change(sign(), x_amz_date=b"201"), IncompleteSignatureException)
    assert text == "Date must be in ISO-8601 'basic format'. Got '201'. See http://en.wikipedia.org/wiki/ISO_8601"


@pytest.mark.parametrize(
    ("header", "text"),
    [
        (b"host;", "'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization."),
        (b";x-amz-target", "'X-Amz-Target' must be a 'SignedHeader' in the AWS Authorization."),
    ],
)
def test_host_and_target_must_be_signed(verify, header, text):
    assert refuse(verify, change_authorization(sign(), header, b"")) == text


def test_only_one_algorithm_is_known(verify):
    changed = change_authorization(sign(), b"AWS4-HMAC-SHA256", b"AWS4-HMAC-SHA25")
    assert refuse(verify, changed, IncompleteSignatureException) == (
        "Unsupported AWS 'algorithm': 'AWS4-HMAC-SHA25' (only AWS4-HMAC-SHA256 for now). "
    )


def test_a_credential_has_five_elements(verify):
    text = refuse(verify, change_authorization(sign(), b"/aws4_request", b""), IncompleteSignatureException)
    assert text.startswith(
        "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term"
    )


def test_everything_wrong_with_a_scope_is_told_at_once(verify):
    changed = change_authorization(sign(service="s3"), b"aws4_request", b"end")
    assert refuse(verify, changed) == (
        "Credential should be scoped to correct service: 'dynamodb'. "
        "Credential should be scoped with a valid terminator: 'aws4_request', not 'end'."
    )


def test_the_day_of_the_scope_is_that_of_the_date(verify):
    request = sign()
    today = request.headers[b"x-amz-date"][:8]
    text = refuse(verify, change_authorization(request, today, b"20010101"))
    assert text.startswith(
        "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '20010101' != "
    )
