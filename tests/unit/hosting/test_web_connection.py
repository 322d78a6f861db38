"""A slow, endless or crowding client of the pages affects no other, over real sockets."""

import asyncio
import socket

import pytest

from hashrange.hosting.web_connection import WebLimits
from hashrange.hosting.web_server import WebServer
from hashrange.server.runner import find_loop_factory

SOON = 20.0  # seconds; only what fails takes so long
NEVER = 1000.0
HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\n"
GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def read_request(scope, receive, send):
    """An application that reads the body, and sends its length after the path's seconds."""
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size, more = size + len(message["body"]), message["more_body"]
    await asyncio.sleep(float(scope["query_string"] or 0))
    text = b"%d bytes" % size
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(text))]})
    await send({"type": "http.response.body", "body": text})


class Client:
    """A connection to the server."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    async def send(self, data):
        self.writer.write(data)
        await self.writer.drain()

    async def read_all(self):
        """Return what the server sends until it closes the connection."""
        return await asyncio.wait_for(self.reader.read(), SOON)

    async def read_status(self):
        """Return the status of a response that the connection survives."""
        head = await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), SOON)
        await self.reader.readexactly(int(head.lower().partition(b"content-length:")[2].split()[0]))
        return int(head.split()[1])

    async def close(self):
        self.writer.close()
        await self.writer.wait_closed()


def run(scenario, **limits):
    """Run the scenario with a function that connects to a server with these limits."""
    chosen = WebLimits(**{"head_timeout": NEVER, "body_timeout": NEVER, "linger": 0.1, **limits})

    async def live():
        listener = socket.create_server(("127.0.0.1", 0))
        server = WebServer(read_request, listener, chosen)
        await server.start()
        clients = []

        async def connect():
            clients.append(Client(*await asyncio.open_connection(*listener.getsockname())))
            return clients[-1]

        try:
            return await scenario(connect)
        finally:
            for client in clients:
                client.writer.transport.abort()
            await server.stop()

    with asyncio.Runner(loop_factory=find_loop_factory()) as runner:
        return runner.run(live())


def answer(*parts, **limits):
    """Return what the server sends for these parts, until it closes the connection."""

    async def scenario(connect):
        client = await connect()
        for part in parts:
            await client.send(part)
            await asyncio.sleep(0.01)  # so that the parts arrive one by one
        return await client.read_all()

    return run(scenario, **limits)


@pytest.mark.parametrize(
    "parts",
    [
        [HEAD + b"X: " + b"a" * 3000],
        [HEAD + b"X: ", *[b"a" * 600] * 5],
        [b"GET /" + b"a" * 3000],
        [b"GET /", *[b"a" * 600] * 5],
        [b"\r\n" * 1500],
        [HEAD + b"X: " + b"a" * 3000 + b"\r\n\r\n"],
        [b"GET /" + b"a" * 3000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"],
        [HEAD + b"".join(b"X: %d\r\n" % number for number in range(100)) + b"\r\n"],
    ],
    ids=["header", "header in parts", "line", "line in parts", "empty lines", "whole header", "whole line", "number"],
)
def test_a_head_over_the_limits_is_refused_before_it_ends(parts):
    response = answer(*parts, max_head=2048)
    assert response.startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n")
    assert response.endswith(b"has at most 2048 bytes and 100 headers\n")


def test_a_refused_client_that_keeps_sending_is_cut_off():
    async def scenario(connect):
        client = await connect()
        await client.send(HEAD + b"X: ")

        async def send_on():
            while True:
                await client.send(b"a" * 65536)

        with pytest.raises(ConnectionError):
            await asyncio.wait_for(send_on(), SOON)

    run(scenario, max_head=2048)


def test_endless_trailers_end_the_connection():
    chunked = HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX: "
    assert answer(chunked, *[b"a" * 600] * 5, max_head=2048) == b""


def test_heads_within_the_limits_and_large_bodies_are_served():
    async def scenario(connect):
        client = await connect()
        headers = b"".join(b"X: %d\r\n" % number for number in range(97))
        for _ in range(3):
            await client.send(
                HEAD + headers + b"X: " + b"a" * 500 + b"\r\nContent-Length: 200000\r\n\r\n" + b"b" * 200_000
            )
            assert await client.read_status() == 200
        await client.send(GET * 50)
        for _ in range(50):
            assert await client.read_status() == 200

    run(scenario, max_head=2048)


def test_a_head_that_does_not_arrive_in_time_is_refused():
    assert answer(HEAD, head_timeout=0.1).startswith(b"HTTP/1.1 408 ")


def test_the_head_of_a_second_request_has_to_arrive_in_time_too():
    responses = answer(GET, HEAD, head_timeout=0.1)
    assert responses.startswith(b"HTTP/1.1 200 ")
    assert b"HTTP/1.1 408 " in responses


def test_a_head_that_arrives_byte_by_byte_gets_no_more_time():
    async def scenario(connect):
        client = await connect()

        async def trickle():
            while True:
                await client.send(b"G")
                await asyncio.sleep(0.02)

        await client.send(HEAD + b"X: ")
        sending = asyncio.create_task(trickle())
        response = await client.read_all()
        sending.cancel()
        return response

    assert run(scenario, head_timeout=0.2).startswith(b"HTTP/1.1 408 ")


def test_a_connection_without_a_request_is_closed():
    assert answer(head_timeout=0.1).startswith(b"HTTP/1.1 408 ")


def test_a_body_without_progress_ends_the_connection():
    assert answer(HEAD + b"Content-Length: 10\r\n\r\n12345", body_timeout=0.1) == b""


def test_a_body_that_makes_progress_has_all_the_time_it_needs():
    async def scenario(connect):
        client = await connect()
        await client.send(HEAD + b"Content-Length: 20\r\n\r\n")
        for _ in range(20):
            await client.send(b"x")
            await asyncio.sleep(0.06)
        return await client.read_status()

    assert run(scenario, head_timeout=1.0, body_timeout=1.0) == 200


def test_a_response_may_take_longer_than_the_timeouts():
    async def scenario(connect):
        client = await connect()
        await client.send(b"GET /?0.5 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return await client.read_status()

    assert run(scenario, head_timeout=0.1, body_timeout=0.1) == 200


def test_connections_over_the_limit_are_refused_until_others_end():
    async def scenario(connect):
        held = [await connect() for _ in range(3)]
        for client in held:
            await client.send(HEAD)
        refused = await connect()
        response = await refused.read_all()
        assert response.startswith(b"HTTP/1.1 503 ")
        assert response.endswith(b"There are already 3 connections\n")
        await held[0].close()
        await asyncio.sleep(0.05)
        client = await connect()  # the refused one takes no one's place
        await client.send(GET)
        assert await client.read_status() == 200

    run(scenario, max_connections=3, linger=NEVER)


def test_a_crowd_over_the_limit_is_cut_off():
    async def scenario(connect):
        for _ in range(3):
            await connect()
        assert (await (await connect()).read_all()).startswith(b"HTTP/1.1 503 ")
        assert await (await connect()).read_all() == b""

    run(scenario, max_connections=3, refused_at_once=1, linger=NEVER)
