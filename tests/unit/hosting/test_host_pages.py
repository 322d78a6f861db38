"""The applications of the systems are mounted apart from each other."""

import asyncio
from types import SimpleNamespace
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from hashrange.hosting.host_pages import HostAddress, HostPages


def make_hosted(name) -> Any:
    """A hosted system with a page that names the address of its page `entry`."""
    show = Route("/", lambda request: PlainTextResponse(str(request.url_for("entry", number=7))))
    entry = Route("/entries/{number}", lambda request: PlainTextResponse(name), name="entry")
    running = SimpleNamespace(app=Starlette(routes=[show, entry]))
    return SimpleNamespace(system=SimpleNamespace(name=name), running=running)


async def fetch(app, *paths):
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as client:
        return [(await client.get(path)).text for path in paths]


def test_url_for_finds_the_routes_of_its_own_system():
    address = HostAddress(endpoint="", region="", web="", data="", is_local=True)
    app = HostPages(address, [make_hosted("first"), make_hosted("second")]).make_app()
    first, second, entry = asyncio.run(fetch(app, "/first/", "/second/", "/second/entries/7"))
    assert first == "http://testserver/first/entries/7"
    assert second == "http://testserver/second/entries/7"
    assert entry == "second"
