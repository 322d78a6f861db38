"""The form of signatures, which is checked whether or not secrets are."""

import pytest

from hashrange.core.errors import (
    IncompleteSignatureException,
    InvalidSignatureException,
    MissingAuthenticationTokenException,
)
from hashrange.server.authentication import check_signature_format, check_signature_format_if_signed
from hashrange.server.http_request import make_request

DATE = {b"x-amz-date": b"20260314T150926Z"}
WHOLE = b"AWS4-HMAC-SHA256 Credential=a/b/c/d/e, SignedHeaders=host, Signature=00"
NO_DATE = "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. "


def ask(url=b"/", **headers):
    named = {name.replace("_", "-").encode(): value for name, value in headers.items()}
    return make_request(b"POST", url, named, b"", keep_alive=True)


def explain(request, check=check_signature_format):
    with pytest.raises(IncompleteSignatureException) as refusal:
        check(request)
    return refusal.value.message


@pytest.mark.parametrize(
    "request_",
    [
        ask(authorization=WHOLE, x_amz_date=b"1"),
        ask(authorization=WHOLE, date=b"Sat, 14 Mar 2026 15:09:26 GMT"),
        ask(authorization=WHOLE.replace(b", ", b","), x_amz_date=b"1"),
        ask(b"/?a=b", authorization=WHOLE, x_amz_date=b"1"),
        ask(b"/?X-Amz-Algorithm=a&X-Amz-Credential=b&X-Amz-Signature=c&X-Amz-SignedHeaders=d&X-Amz-Date=e"),
    ],
    ids=["header", "Date header", "no spaces", "a query", "query"],
)
def test_a_signature_in_form_passes_whoever_made_it(request_):
    check_signature_format(request_)


@pytest.mark.parametrize("header", [None, b"", b"Basic dXNlcg==", b"AWS4", b"AWS AKID:signature"])
def test_a_request_without_a_signature_is_refused(header):
    headers = {} if header is None else {"authorization": header}
    with pytest.raises(MissingAuthenticationTokenException, match=r"^Request is missing Authentication Token$"):
        check_signature_format(ask(**headers))


def test_every_missing_part_is_named_and_the_header_shown():
    assert explain(ask(authorization=b"AWS4-")) == (
        "Authorization header requires 'Credential' parameter. "
        "Authorization header requires 'Signature' parameter. "
        "Authorization header requires 'SignedHeaders' parameter. "
        f"{NO_DATE}Authorization=AWS4-"
    )


def test_an_empty_part_is_missing():
    header = b"AWS4-HMAC-SHA256 Credential=, SignedHeaders=host, Signature=00"
    assert explain(ask(authorization=header, date=b"x")) == (
        f"Authorization header requires 'Credential' parameter. Authorization={header.decode()}"
    )


def test_a_date_is_needed():
    assert explain(ask(authorization=WHOLE)) == f"{NO_DATE}Authorization={WHOLE.decode()}"


def test_a_query_signature_must_be_whole():
    assert explain(ask(b"/?X-Amz-Algorithm=&X-Amz-Date=now&X-Amz-Signature")) == (
        "AWS query-string parameters must include 'X-Amz-Algorithm'. "
        "AWS query-string parameters must include 'X-Amz-Credential'. "
        "AWS query-string parameters must include 'X-Amz-Signature'. "
        "AWS query-string parameters must include 'X-Amz-SignedHeaders'. "
        "Re-examine the query-string parameters."
    )


def test_one_request_cannot_be_signed_in_both_places():
    with pytest.raises(InvalidSignatureException) as refusal:
        check_signature_format(ask(b"/?X-Amz-Algorithm=AWS4-HMAC-SHA256", authorization=WHOLE, x_amz_date=b"1"))
    assert refusal.value.message == (
        "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header."
    )


def test_unsigned_requests_pass_when_they_are_allowed():
    check_signature_format_if_signed(ask())


def test_a_bad_signature_is_refused_even_when_none_is_needed():
    explain(ask(authorization=b"AWS4-"), check_signature_format_if_signed)
    explain(ask(b"/?X-Amz-Algorithm=AWS4-HMAC-SHA256"), check_signature_format_if_signed)
