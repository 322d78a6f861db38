"""What a fetch makes of servers that are broken, slow or hostile. The waits are short because each ends a test."""

import asyncio
import gzip
import socket
import sys
import time

import pytest

from hashrange_systems.shared.fetching.connector import Limits
from hashrange_systems.shared.fetching.errors import (
    BodyDamaged,
    CompressionBomb,
    ConnectFailed,
    ConnectionLost,
    ResponseMalformed,
    TimedOut,
    TooLarge,
    TooManyChunks,
)
from hashrange_systems.shared.fetching.fetcher import Fetcher
from hashrange_systems.shared.fetching.http_message import Request
from hashrange_systems.shared.fetching.policy import Policy, parse_exemptions
from systems.tests.shared.fetching.target import (
    LOOPBACK,
    ScriptedResolver,
    SilentResolver,
    build,
    fetch,
    never_reached,
    serving,
)

SHORT = 0.1
ENOUGH = 1.0  # for the first bytes to arrive, also on a busy machine


def test_a_name_that_takes_too_long_to_look_up():
    with pytest.raises(TimedOut) as failure:
        fetch(never_reached, "http://a.example/", resolver=SilentResolver(), limits=Limits(dns_s=SHORT))
    assert failure.value.phase == "dns"


def test_a_server_that_never_answers():
    async def script(exchange):
        await exchange.stay_silent()

    with pytest.raises(TimedOut) as failure:
        fetch(script, limits=Limits(answer_s=SHORT))
    assert (failure.value.phase, failure.value.limit_s) == ("answer", SHORT)
    assert failure.value.phases.first_byte_ms is None


def test_headers_that_drip():
    async def script(exchange):
        await exchange.say(b"HTTP/1.1 200 OK\r\n")
        while True:
            await exchange.say(b"X: y\r\n")
            await asyncio.sleep(SHORT / 5)

    with pytest.raises(TimedOut) as failure:
        fetch(script, limits=Limits(answer_s=ENOUGH))
    assert failure.value.phase == "answer"
    assert failure.value.phases.first_byte_ms is not None


def test_a_body_that_drips_is_ended_by_the_total():
    async def script(exchange):
        await exchange.say(build(200, ["Content-Length: 1000000"]))
        while True:
            await exchange.say(b"x")
            await asyncio.sleep(SHORT / 5)

    with pytest.raises(TimedOut, match="the end of the body") as failure:
        fetch(script, timeout_s=ENOUGH)
    assert failure.value.phase == "body"


def test_the_total_counts_through_all_redirects():
    async def script(exchange):
        await asyncio.sleep(SHORT / 4)
        await exchange.redirect(exchange.path + "x")

    with pytest.raises(TimedOut) as failure:
        fetch(script, timeout_s=SHORT, max_redirects=20)
    assert len(failure.value.redirects) < 5
    assert failure.value.limit_s == SHORT


def test_informational_answers_without_end():
    async def script(exchange):
        while True:
            await exchange.say(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 100)

    with pytest.raises((TimedOut, TooLarge)):
        fetch(script, timeout_s=5, max_bytes=1000)


def test_a_body_without_end_is_cut():
    async def script(exchange):
        await exchange.say(build(200, []))
        while True:
            await exchange.say(bytes(10_000))

    response = fetch(script, max_bytes=100_000)
    assert (len(response.body), response.truncated) == (100_000, True)


def test_a_body_of_tiny_chunks_with_large_frames():
    async def script(exchange):
        await exchange.say(build(200, ["Transfer-Encoding: chunked"]))
        while True:
            await exchange.say(b"1;" + b"x" * 10_000 + b"\r\na\r\n")

    with pytest.raises(TooLarge, match="far more bytes than its content"):
        fetch(script, max_bytes=1000)


def test_a_body_in_single_bytes_is_given_up():
    async def script(exchange):
        await exchange.say(build(200, ["Transfer-Encoding: chunked"]))
        while True:
            await exchange.say(b"1\r\na\r\n" * 5000)

    with pytest.raises(TooManyChunks, match="too many pieces"):
        fetch(script, max_bytes=100_000)


def test_tiny_chunks_cost_no_more_than_a_page_and_let_others_have_their_turn():
    async def send_chunks(exchange):
        await exchange.say(build(200, ["Transfer-Encoding: chunked"]) + b"1\r\na\r\n" * 100_000)
        await exchange.stay_silent()

    async def send_page(exchange):
        await exchange.respond(b"a" * 2_000_000)

    async def measure(script):
        turns = 0

        async def take_turns():
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        other = asyncio.create_task(take_turns())
        before = time.thread_time()
        async with serving(script) as port:
            try:
                await Fetcher(LOOPBACK).fetch(Request(url=f"http://127.0.0.1:{port}/", max_bytes=2_000_000))
            except TooManyChunks:
                return time.thread_time() - before, turns
            finally:
                other.cancel()
        return time.thread_time() - before, turns

    page, _ = min(asyncio.run(measure(send_page)) for _ in range(3))
    chunks, turns = min(asyncio.run(measure(send_chunks)) for _ in range(3))
    assert chunks < 5 * page, "41 000 of them were parsed before: 20 times as much"
    assert turns >= 20, "others had a turn after every fifty chunks"


def test_a_body_in_chunks_of_a_usual_size_is_read():
    async def script(exchange):
        await exchange.say(build(200, ["Transfer-Encoding: chunked"]) + b"200\r\n" + b"a" * 512)
        await exchange.say(b"\r\n200\r\n" + (b"a" * 512 + b"\r\n200\r\n") * 1998 + b"a" * 512 + b"\r\n0\r\n\r\n")

    assert len(fetch(script).body) == 512 * 2000


def test_a_header_bomb():
    async def script(exchange):
        await exchange.say(b"HTTP/1.1 200 OK\r\n")
        while True:
            await exchange.say(b"X-Filler: " + b"x" * 1000 + b"\r\n")

    with pytest.raises(TooLarge, match="headers"):
        fetch(script)


def test_a_compression_bomb():
    bomb = gzip.compress(bytes(30_000_000))

    async def script(exchange):
        await exchange.respond(bomb, content_encoding="gzip")

    with pytest.raises(CompressionBomb):
        fetch(script)
    cut = fetch(script, max_bytes=1000)
    assert (len(cut.body), cut.truncated) == (1000, True)


def test_a_body_that_is_not_what_it_says():
    async def script(exchange):
        await exchange.respond(b"plain", content_encoding="gzip")

    with pytest.raises(BodyDamaged, match="not valid gzip"):
        fetch(script)


def test_a_compressed_body_that_lacks_its_end():
    async def script(exchange):
        await exchange.respond(gzip.compress(b"hello")[:-4], content_encoding="gzip")

    with pytest.raises(BodyDamaged, match="ends in the middle"):
        fetch(script)


def test_a_reset_in_the_body():
    async def script(exchange):
        await exchange.say(build(200, ["Content-Length: 1000"], b"half"))
        await asyncio.sleep(SHORT)  # else the reset overtakes the headers
        exchange.reset()

    with pytest.raises(ConnectionLost, match="reset"):
        fetch(script)


def test_a_reset_before_the_answer():
    async def script(exchange):
        exchange.reset()

    with pytest.raises(ConnectionLost):
        fetch(script)


def test_a_reset_in_the_middle_of_an_upload():
    async def script(exchange):
        exchange.reset()

    with pytest.raises(ConnectionLost):
        fetch(script, method="POST", body=bytes(5_000_000))


def test_an_end_before_the_answer():
    async def script(exchange):
        pass

    with pytest.raises(ConnectionLost, match="closed before"):
        fetch(script)


@pytest.mark.parametrize("lines", [["Content-Length: 1000"], ["Transfer-Encoding: chunked"]])
def test_a_body_that_ends_too_early(lines):
    async def script(exchange):
        await exchange.say(build(200, lines, b"5\r\nhello\r\n"))

    with pytest.raises(ConnectionLost):
        fetch(script)


def test_a_body_longer_than_it_says_is_what_it_says():
    async def script(exchange):
        await exchange.say(build(200, ["Content-Length: 5"], b"hello, and more"))

    assert fetch(script).body == b"hello"


@pytest.mark.parametrize(
    "garbage",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"\x16\x03\x01\x02\x00",
        b"HTTP/1.1 abc\r\n\r\n",
        b"<html>",
        b"\r\n\r\n",
        b"HTT\0",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n",
        b"HTTP/9.9 200 OK\r\n\r\n",
        build(200, ["Content-Length: -1"]),
        build(200, ["Content-Length: 1", "Content-Length: 2"]),
        build(200, ["Transfer-Encoding: chunked"], b"xyz\r\n"),
        build(101, ["Upgrade: x", "Connection: Upgrade"]),
    ],
)
def test_what_is_not_http_is_told_at_once(garbage):
    async def script(exchange):
        await exchange.say(garbage)
        await exchange.stay_silent()

    with pytest.raises(ResponseMalformed):
        fetch(script, timeout_s=5)


def test_a_port_where_nobody_listens():
    with socket.socket() as idle:
        idle.bind(("127.0.0.1", 0))
        port = idle.getsockname()[1]
        with pytest.raises(ConnectFailed, match="refused"):
            asyncio.run(Fetcher(LOOPBACK).fetch(Request(url=f"http://127.0.0.1:{port}/")))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse when the queue is full")
def test_a_server_that_accepts_no_connection():
    """Fill the queue of a listener: the system drops what else arrives."""
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for client in (first, second):
            client.setblocking(False)
            client.connect_ex(full.getsockname())
        url = f"http://127.0.0.1:{full.getsockname()[1]}/"
        with pytest.raises(TimedOut) as failure:
            asyncio.run(Fetcher(LOOPBACK, limits=Limits(connect_s=SHORT)).fetch(Request(url=url)))
    assert failure.value.phase == "connect"


def test_the_second_address_is_tried_when_the_first_refuses():
    async def script(exchange):
        await exchange.respond()

    response = fetch(
        script,
        "http://a.example:{port}/",
        resolver=ScriptedResolver(a_example=[["::1", "127.0.0.1"]]),
        policy=Policy(exempt=parse_exemptions(["127.0.0.0/8", "::1/128"])),
    )
    assert response.address == "127.0.0.1"


def test_a_cancelled_fetch_leaves_no_connection_open():
    closed = asyncio.Event()

    async def run():
        async def script(exchange):
            started.set()
            assert await exchange._reader.read() == b""
            closed.set()

        started = asyncio.Event()
        async with asyncio.timeout(100), serving(script) as port:
            task = asyncio.create_task(Fetcher(LOOPBACK).fetch(Request(url=f"http://127.0.0.1:{port}/")))
            await started.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await closed.wait()

    asyncio.run(run())
    assert closed.is_set()
