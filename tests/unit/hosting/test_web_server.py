"""The pages are only served under the names of this machine."""

import asyncio
import socket

import httpx
import pytest

from hashrange.hosting.web_server import HostCheck, WebServer
from hashrange.server.cross_origin import CrossOriginCheck


def ask(*hosts, kind="http", version="1.1", **options):
    """Return what an application behind the check sends to a request with these Host headers."""
    sent = []

    async def app(scope, receive, send):
        sent.append("served")

    async def send(message):
        sent.append(message)

    scope = {"type": kind, "http_version": version, "headers": [(b"host", host) for host in hosts]}
    asyncio.run(HostCheck(app, CrossOriginCheck(["127.0.0.1"], **options))(scope, None, send))
    return sent


@pytest.mark.parametrize("host", [b"localhost:8002", b"127.0.0.1:8002", b"[::1]:8002", b"pages.localhost"])
def test_the_names_of_this_machine_are_served(host):
    assert ask(host) == ["served"]


@pytest.mark.parametrize("hosts", [[b"rebound.example:8002"], [b"192.168.1.7"], [b"localhost", b"localhost"], []])
def test_other_hosts_are_refused(hosts):
    start, body = ask(*hosts)
    assert start["status"] in {400, 403}
    assert body["body"].endswith(b"\n")


def test_a_web_socket_of_another_host_is_closed():
    assert ask(b"rebound.example", kind="websocket") == [{"type": "websocket.close"}]


def test_a_host_can_be_allowed():
    assert ask(b"pages.example", hosts=["pages.example"]) == ["served"]


@pytest.mark.parametrize(("trusted", "seen"), [(None, "127.0.0.1"), ("127.0.0.1", "9.9.9.9")])
def test_the_address_of_a_client_is_taken_from_trusted_proxies_only(monkeypatch, trusted, seen):
    monkeypatch.delenv("FORWARDED_ALLOW_IPS", raising=False)
    if trusted:
        monkeypatch.setenv("FORWARDED_ALLOW_IPS", trusted)

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": scope["client"][0].encode()})

    async def ask_for_address():
        listener = socket.create_server(("127.0.0.1", 0))
        server = WebServer(app, listener)
        await server.start()
        async with httpx.AsyncClient() as client:
            url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
            response = await client.get(url, headers={"X-Forwarded-For": "9.9.9.9"})
        await server.stop()
        return response.text

    assert asyncio.run(ask_for_address()) == seen
