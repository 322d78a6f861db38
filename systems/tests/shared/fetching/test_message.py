import pytest

from hashrange_systems.shared.fetching.errors import BadHeader, BadRequest
from hashrange_systems.shared.fetching.http_message import Request, Response
from hashrange_systems.shared.fetching.progress import Phases


def respond(body, content_type=None):
    headers = (("content-type", content_type),) if content_type else ()
    return Response(
        status=200, headers=headers, body=body, truncated=False, url="http://a/", address="1.1.1.1", phases=Phases()
    )


@pytest.mark.parametrize(
    "header",
    [
        ("X", "a\r\nY: b"),
        ("X", "a\nb"),
        ("X", "a\0"),
        ("X\r\nY", "a"),
        ("X Y", "a"),
        ("X:", "a"),
        ("", "a"),
        ("X", "€"),
        *((name, "a") for name in ("Host", "content-length", "Transfer-Encoding", "Connection", "Upgrade", "TE")),
    ],
)
def test_a_header_that_could_break_the_message_is_refused(header):
    with pytest.raises(BadHeader):
        Request(url="http://example.com/", headers=(header,))


@pytest.mark.parametrize(
    "options",
    [
        {"method": "CONNECT"},
        {"method": "get"},
        {"method": "GET / HTTP/1.1\r\n"},
        {"timeout_s": 0},
        {"timeout_s": 1e9},
        {"timeout_s": float("nan")},
        {"max_bytes": -1},
        {"max_bytes": 10**12},
        {"max_redirects": 21},
    ],
)
def test_a_request_beyond_all_limits_is_refused(options):
    with pytest.raises(BadRequest):
        Request(url="http://example.com/", **options)


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        ("ä".encode(), None, "ä"),
        ("ä".encode("latin-1"), "text/html; charset=ISO-8859-1", "ä"),
        ("ä".encode("utf-16"), 'text/html; charset="utf-16"', "ä"),
        ("語".encode("shift_jis"), "text/html;charset=Shift_JIS", "語"),
        (b"a\xffb", "text/html", "a\ufffdb"),
        (b"abc", "text/html; charset=punycode", "abc"),
        (b"616263", "text/html; charset=hex", "616263"),
        (b"abc", "text/html; charset=iso-8859-99", "abc"),
    ],
)
def test_text_is_read_in_the_charset_of_the_web_page(body, content_type, text):
    assert respond(body, content_type).text == text


def test_a_header_is_found_whatever_its_case():
    assert respond(b"", "text/html").header("Content-Type") == "text/html"
    assert respond(b"").header("Content-Type") is None
