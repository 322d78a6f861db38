"""URLs that may be checked, and those that are refused by their text alone."""

import pytest

from hashrange_systems.shared.errors import InvalidInput
from hashrange_systems.shared.user_url import validate_url


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com",
        "http://example.com:8080/path?q=1#x",
        "https://münchen.example/ö",
        "http://192.0.2.1/",
        "http://[2001:db8::1]:8080/",
        "http://127.0.0.1:9000/",  # the fetcher knows whether loopback is allowed
        "https://3com.example/",
    ],
)
def test_an_ordinary_address_is_kept_as_it_is(url):
    assert validate_url(url) == url


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("file:///etc/passwd", "must begin with http:// or https://, not file:"),
        ("gopher://example.com/", "must begin with http:// or https://, not gopher:"),
        ("example.com", "must begin with http:// or https://, not nothing:"),
        ("https://user:secret@example.com/", "must not carry a user name or password"),
        ("https://@example.com/", "must not carry a user name or password"),
        ("http://[fe80::1%25eth0]/", "must not carry an IPv6 zone"),
        ("http://2130706433/", "must write an IPv4 address as four decimal numbers"),
        ("http://0x7f000001/", "must write an IPv4 address as four decimal numbers"),
        ("http://0177.0.0.1/", "must write an IPv4 address as four decimal numbers"),
        ("http://127.1/", "must write an IPv4 address as four decimal numbers"),
        ("http://example.com:25/", "must not use port 25"),
        ("http://example.com:99999/", "is not an address"),
        ("http://[::1/", "is not an address"),
        ("https:///path", "must name a host"),
        ("http://example.com/a b", "must not contain spaces"),
        ("http://example.com/\r\nX-Evil: 1", "must not contain spaces"),
        ("http://example.com\\@evil.example/", "must not contain spaces"),
        ("http://example.com/" + "a" * 2000, "must be at most 2000 characters"),
    ],
)
def test_an_address_that_hides_something_is_refused_with_the_reason(url, reason):
    with pytest.raises(InvalidInput) as refused:
        validate_url(url)
    assert reason in str(refused.value)


def test_our_own_status_page_is_refused_because_it_would_check_itself():
    own = {"https://checks.example:8002"}
    with pytest.raises(InvalidInput, match="must not be a page of this service"):
        validate_url("https://CHECKS.example:8002/checks/status/u1", own)
    assert validate_url("https://other.example/", own)


@pytest.mark.parametrize("value", [None, "", 5, ["https://example.com"]])
def test_what_is_no_text_is_refused(value):
    with pytest.raises(InvalidInput, match="url must be an address"):
        validate_url(value)
