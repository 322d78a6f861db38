"""Public pages from memory: rendered once for many, the same for everybody, and limited for each address."""

import asyncio

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from hashrange_systems.shared.web.response_cache import ResponseCache


@pytest.fixture
def rendered():
    return []


@pytest.fixture
def site(clock, rendered):
    async def show(request):
        rendered.append(request.url.path)
        await asyncio.sleep(0)
        return PlainTextResponse(f"{request.query_params} {request.cookies} {len(rendered)}")

    async def is_signed_in(scope):
        return Request(scope).cookies.get("s") == "owner"

    routes = [Route("/status/{slug}", show), Route("/private", show)]
    cached = ResponseCache(Starlette(routes=routes), clock, "/status/", {"of"}, burst=5, is_signed_in=is_signed_in)
    return Starlette(routes=[Mount("/checks", cached)])


def ask(site, *paths, peer="10.0.0.1", **cookies):
    async def run():
        transport = httpx.ASGITransport(site, client=(peer, 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://test/checks", cookies=cookies) as client:
            return await asyncio.gather(*(client.get(path) for path in paths))

    return asyncio.run(run())


def test_a_thousand_requests_cost_one_rendering_and_show_nobody_else(site, rendered):
    responses = ask(site, *["/status/a"] * 1000)
    assert {response.text for response in responses} == {" {} 1"}
    assert rendered == ["/checks/status/a"]


def test_an_owner_sees_changes_at_once_and_so_do_others_from_then_on(site, rendered):
    assert ask(site, "/status/a")[0].text == " {} 1"
    assert ask(site, "/status/a", s="owner")[0].text == " {} 2"
    assert ask(site, "/status/a")[0].text == " {} 2"


def test_a_page_is_rendered_without_the_cookies_of_who_asks(site):
    assert ask(site, "/status/a", s="owner", t="1")[0].text == " {} 1"
    assert ask(site, "/private", s="owner")[0].text == " {'s': 'owner'} 2"


def test_a_cookie_that_is_no_session_does_not_cost_a_rendering(site, rendered):
    for number in range(100):
        assert ask(site, "/status/a", s=f"made up {number}")[0].text == " {} 1"
    assert len(rendered) == 1


def test_an_owner_who_looks_too_often_gets_the_cached_page(site, rendered):
    responses = ask(site, *["/status/a"] * 20, s="owner")
    assert {response.status_code for response in responses} == {200}
    assert len(rendered) == 5


def test_a_page_is_rendered_anew_after_some_seconds(site, rendered, clock):
    ask(site, "/status/a")
    clock.advance(14)
    ask(site, "/status/a")
    clock.advance(1)
    ask(site, "/status/a")
    assert len(rendered) == 2


def test_only_parameters_that_make_a_difference_do(site, rendered):
    ask(site, "/status/a?x=1", "/status/a?x=2", "/status/a?of=uptime&x=3", "/status/a?of=uptime")
    assert len(rendered) == 2


def test_other_pages_are_not_cached(site, rendered):
    assert [response.status_code for response in ask(site, "/private", "/private")] == [200, 200]
    assert len(rendered) == 2


def test_renderings_are_limited_for_each_address(site, rendered):
    responses = ask(site, *(f"/status/{n}" for n in range(20)))
    assert sorted({response.status_code for response in responses}) == [200, 429]
    assert len(rendered) == 5
    assert ask(site, "/status/x", peer="10.0.0.2")[0].status_code == 200


def test_the_addresses_of_an_ipv6_network_share_the_limit_of_renderings(site):
    codes = [ask(site, f"/status/{number}", peer=f"2001:db8::{number:x}")[0].status_code for number in range(6)]
    assert codes == [200] * 5 + [429]
    assert ask(site, "/status/other", peer="2001:db8:0:1::1")[0].status_code == 200
