"""What a fetch returns from servers that behave."""

import asyncio
import gzip
import itertools
import socket
from typing import Any

import pytest

from hashrange_systems.shared.fetching.errors import RedirectLoop, TooLarge, TooManyRedirects
from hashrange_systems.shared.fetching.fetcher import Fetcher
from hashrange_systems.shared.fetching.http_message import Request
from hashrange_systems.shared.fetching.policy import Policy, parse_exemptions
from hashrange_systems.shared.fetching.progress import Phases
from systems.tests.shared.fetching.target import LOOPBACK, ScriptedResolver, build, fetch, serving


def can_use_ipv6():
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


HERE = {"resolver": ScriptedResolver(a_example=[["127.0.0.1"]], b_example=[["127.0.0.1"]])}


def test_a_response_comes_back_whole():
    async def script(exchange):
        await exchange.respond(b"hello", status=203, content_type="text/plain")

    response = fetch(script)
    assert (response.status, response.body, response.truncated) == (203, b"hello", False)
    assert response.header("Content-Type") == "text/plain"
    assert (response.address, response.certificate, response.redirects) == ("127.0.0.1", None, ())


def test_an_error_status_is_a_response_too():
    async def script(exchange):
        await exchange.respond(b"sorry", status=503)

    assert fetch(script).status == 503


def test_the_name_is_sent_as_host_and_the_path_as_written():
    heads = []

    async def script(exchange):
        heads.append(exchange)
        await exchange.respond()

    fetch(script, "http://A.example.:{port}/x%2fy/ü?q=1&r#frag", **HERE)
    assert heads[0].path == "/x%2fy/%C3%BC?q=1&r"
    assert heads[0].header("host") == f"a.example:{heads[0].port}"
    assert heads[0].header("connection") == "close"


def test_method_headers_and_body_are_sent():
    seen = []

    async def script(exchange):
        seen.append((exchange.head.split(" ")[0], exchange.header("x-a"), await exchange.body()))
        await exchange.respond()

    fetch(script, method="POST", headers=(("X-A", " b "),), body=b"payload")
    fetch(script, method="PUT")
    assert seen == [("POST", "b", b"payload"), ("PUT", None, b"")]


def test_the_callers_user_agent_replaces_ours():
    seen = []

    async def script(exchange):
        seen.append(exchange.header("user-agent"))
        await exchange.respond()

    fetch(script)
    fetch(script, headers=(("user-agent", "Mozilla"),))
    assert seen == ["hashrange", "Mozilla"]


def test_a_head_response_has_no_body_to_wait_for():
    async def script(exchange):
        await exchange.say(build(200, ["Content-Length: 1000", "Content-Encoding: gzip"]))
        await exchange.stay_silent()

    assert fetch(script, method="HEAD").body == b""


def test_a_compressed_body_is_decoded():
    async def script(exchange):
        assert exchange.header("accept-encoding") == "gzip, deflate"
        await exchange.respond(gzip.compress(b"hello" * 1000), content_encoding="gzip")

    assert fetch(script).body == b"hello" * 1000


def test_chunks_and_the_end_of_the_connection_end_a_body():
    async def script(exchange):
        if exchange.path == "/chunked":
            await exchange.say(build(200, ["Transfer-Encoding: chunked"], b"5\r\nhello\r\n0\r\n\r\n"))
        else:
            await exchange.say(b"HTTP/1.0 200 OK\r\n\r\nhello")

    assert fetch(script, "http://127.0.0.1:{port}/chunked").body == b"hello"
    assert fetch(script).body == b"hello"


def test_proxies_and_cookies_of_the_environment_are_not_used(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    cookies = []

    async def script(exchange):
        cookies.append(exchange.header("cookie"))
        if exchange.path == "/":
            await exchange.respond(status=302, location="/next", set_cookie="a=b")
        else:
            await exchange.respond()

    assert fetch(script).status == 200
    assert cookies == [None, None]


def test_redirects_are_followed_and_told():
    async def script(exchange):
        if exchange.path == "/":
            await exchange.redirect("/two", 301)
        elif exchange.path == "/two":
            await exchange.redirect(f"http://b.example:{exchange.port}/drei/\u00e4", 308)
        else:
            await exchange.respond(b"there")

    response = fetch(script, "http://a.example:{port}/", **HERE)
    assert response.body == b"there"
    assert response.url.endswith("/drei/%C3%A4")
    assert [(step.status, step.location) for step in response.redirects] == [
        (301, response.url.replace("b.example", "a.example").replace("/drei/%C3%A4", "/two")),
        (308, response.url),
    ]


def test_secrets_do_not_travel_to_another_origin():
    seen = {}

    async def script(exchange):
        seen[exchange.path] = exchange.header("authorization"), exchange.header("x-key"), exchange.header("accept")
        steps = {"/": "/same", "/same": f"http://b.example:{exchange.port}/other"}
        if exchange.path in steps:
            await exchange.redirect(steps[exchange.path])
        else:
            await exchange.respond()

    headers = (("Authorization", "Bearer x"), ("X-Key", "y"), ("Accept", "text/html"))
    fetch(script, "http://a.example:{port}/", headers=headers, **HERE)
    assert seen["/same"] == ("Bearer x", "y", "text/html")
    assert seen["/other"] == (None, None, "text/html")


def test_a_redirect_is_returned_when_it_is_not_to_be_followed():
    async def script(exchange):
        await exchange.respond(b"moved", status=302, location="http://169.254.169.254/")

    response = fetch(script, follow=False)
    assert (response.status, response.body) == (302, b"moved")


@pytest.mark.parametrize("status", [300, 304, 302])
def test_a_redirect_to_nowhere_is_a_response(status):
    async def script(exchange):
        await exchange.say(build(status, ["Content-Length: 0"]))

    assert fetch(script).status == status


def test_the_body_of_a_redirect_is_not_waited_for():
    async def script(exchange):
        if exchange.path == "/":
            await exchange.say(build(302, ["Location: /b", "Content-Length: 1000"]))
            await exchange.stay_silent()
        await exchange.respond(b"b")

    assert fetch(script).body == b"b"


def test_a_circle_of_redirects_is_seen_at_its_second_round():
    paths = []

    async def script(exchange):
        paths.append(exchange.path)
        await exchange.redirect({"/": "/b", "/b": "/c", "/c": "/b"}[exchange.path])

    with pytest.raises(RedirectLoop) as loop:
        fetch(script)
    assert paths == ["/", "/b", "/c"]
    assert [step.status for step in loop.value.redirects] == [302, 302, 302]


def test_redirects_without_end_end():
    paths = []

    async def script(exchange):
        paths.append(exchange.path)
        await exchange.redirect(exchange.path + "x")

    with pytest.raises(TooManyRedirects, match="more than 3"):
        fetch(script, max_redirects=3)
    assert len(paths) == 4


def test_a_body_is_cut_at_its_limit_or_refused():
    async def script(exchange):
        await exchange.respond(bytes(1001))

    assert not fetch(script, max_bytes=1001).truncated
    cut = fetch(script, max_bytes=1000)
    assert (len(cut.body), cut.truncated) == (1000, True)
    with pytest.raises(TooLarge, match="more than 1000 bytes"):
        fetch(script, max_bytes=1000, truncate=False)


def test_each_phase_is_measured():
    """A clock that moves by one second at each look makes the measurements countable."""

    async def script(exchange):
        await exchange.respond(b"x")

    ticks = itertools.count()
    phases = fetch(script, "http://a.example:{port}/", now=lambda: float(next(ticks)), **HERE).phases
    assert (phases.dns_ms, phases.connect_ms, phases.tls_ms, phases.first_byte_ms) == (1000, 1000, None, 1000)
    assert phases.body_ms is not None
    assert phases.total_ms > phases.dns_ms + phases.connect_ms + phases.first_byte_ms + phases.body_ms


def test_an_address_needs_no_dns():
    async def script(exchange):
        await exchange.respond()

    assert fetch(script).phases.dns_ms is None


@pytest.mark.skipif(not can_use_ipv6(), reason="this machine has no IPv6")
def test_an_ipv6_server_is_reached_and_named_in_brackets():
    hosts = []

    async def script(exchange):
        hosts.append(exchange.header("host"))
        await exchange.respond()

    async def run():
        async with serving(script, host="::1") as port:
            fetcher = Fetcher(Policy(exempt=parse_exemptions(["::1"])))
            return await fetcher.fetch(Request(url=f"http://[0::1]:{port}/"))

    response = asyncio.run(run())
    assert response.address == "::1"
    assert [f"http://{hosts[0]}/"] == [response.url]


def test_an_error_tells_how_far_the_request_came():
    async def script(exchange):
        if exchange.path == "/":
            await exchange.redirect("/b")
        await exchange.redirect("http://nowhere.example/")

    with pytest.raises(Exception, match=r"nowhere\.example does not exist") as failure:
        fetch(script, "http://a.example:{port}/", policy=LOOPBACK, **HERE)
    error: Any = failure.value
    assert error.url == "http://nowhere.example/"
    assert len(error.redirects) == 2
    assert isinstance(error.phases, Phases)
    assert (error.phases.connect_ms, error.phases.first_byte_ms) == (None, None)
