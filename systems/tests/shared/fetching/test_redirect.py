import pytest

from hashrange_systems.shared.fetching.http_url import parse_url
from hashrange_systems.shared.fetching.redirect import RedirectRequest, record, redirect

SECRETS = (("Authorization", "Bearer x"), ("Cookie", "a=b"), ("X-Api-Key", "y"))
HARMLESS = (("Accept", "text/html"), ("User-Agent", "me"))


def send(url, method="GET", body=None, headers=SECRETS + HARMLESS):
    return RedirectRequest(target=parse_url(url), method=method, headers=headers, body=body)


@pytest.mark.parametrize(
    ("before", "after", "trusted"),
    [
        ("https://a.example/", "/login", True),
        ("https://a.example/", "https://A.example:443/", True),
        ("http://a.example/", "https://a.example/", True),
        ("https://a.example/", "http://a.example/", False),
        ("https://a.example/", "https://b.example/", False),
        ("https://a.example/", "https://sub.a.example/", False),
        ("https://a.example/", "https://a.example:8443/", False),
        ("http://a.example:8080/", "https://a.example/", False),
        ("http://a.example/", "https://b.example/", False),
    ],
)
def test_secrets_are_sent_on_to_the_same_origin_only(before, after, trusted):
    assert redirect(send(before), 302, after).headers == (SECRETS + HARMLESS if trusted else HARMLESS)


@pytest.mark.parametrize(
    ("status", "method", "expected"),
    [
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (303, "POST", "GET"),
        (303, "PUT", "GET"),
        (303, "HEAD", "HEAD"),
        (301, "HEAD", "HEAD"),
        (302, "PUT", "PUT"),
        (307, "POST", "POST"),
        (308, "POST", "POST"),
    ],
)
def test_the_method_changes_as_in_browsers(status, method, expected):
    headers = (("Content-Type", "text/plain"),)
    following = redirect(send("http://a.example/", method, b"x", headers), status, "/b")
    assert following.method == expected
    kept = expected == method and status != 303
    assert (following.body, following.headers) == ((b"x", headers) if kept else (None, ()))


@pytest.mark.parametrize(("before", "after", "downgraded"), [("https", "http", True), ("http", "https", False)])
def test_a_step_from_https_to_http_is_recorded(before, after, downgraded):
    outgoing = send(f"{before}://a.example/")
    step = record(outgoing, 301, redirect(outgoing, 301, f"{after}://a.example/x"))
    assert step.downgraded is downgraded
    assert (step.url, step.location) == (f"{before}://a.example/", f"{after}://a.example/x")
