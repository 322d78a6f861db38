"""A scripted web server on a loopback port, and a fetch from it."""

import asyncio
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager

from hashrange_systems.shared.fetching.connector import Limits
from hashrange_systems.shared.fetching.errors import NameUnresolved
from hashrange_systems.shared.fetching.fetcher import Fetcher
from hashrange_systems.shared.fetching.http_message import Request
from hashrange_systems.shared.fetching.policy import Policy, parse_exemptions

Script = Callable[["Exchange"], Awaitable[None]]
LOOPBACK = Policy(exempt=parse_exemptions(["127.0.0.1"]))
ENOUGH = 200.0  # seconds that only a broken test waits for


class Exchange:
    """One request to the server, and the possible responses."""

    def __init__(self, head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.head = head
        self.path = head.split(" ")[1]
        self.port = writer.get_extra_info("sockname")[1]
        self._reader = reader
        self._writer = writer

    def header(self, name):
        prefix = f"{name.lower()}: "
        return next((line[len(prefix) :] for line in self.head.split("\r\n") if line.lower().startswith(prefix)), None)

    async def body(self):
        return await self._reader.readexactly(int(self.header("content-length") or 0))

    async def say(self, data):
        self._writer.write(data)
        await self._writer.drain()

    async def respond(self, body=b"", *, status=200, **headers):
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.say(build(status, [*lines, f"Content-Length: {len(body)}"], body))

    async def redirect(self, location, status=302):
        await self.respond(status=status, location=location)

    async def stay_silent(self):
        await asyncio.Event().wait()

    def reset(self):
        """Close the connection with a reset."""
        raw = self._writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()


def build(status, lines, body=b""):
    return "\r\n".join([f"HTTP/1.1 {status} Whatever", *lines, "", ""]).encode() + body


class ScriptedResolver:
    """Returns the scripted answers in order; the last one repeats."""

    def __init__(self, **responses: list[list[str]]) -> None:
        self._answers = {name.replace("_", "."): list(lists) for name, lists in responses.items()}
        self.asked = []

    async def resolve(self, host):
        self.asked.append(host)
        if host not in self._answers:
            raise NameUnresolved(host, temporary=False)
        responses = self._answers[host]
        return responses.pop(0) if len(responses) > 1 else responses[0]


class SilentResolver:
    async def resolve(self, host):
        await asyncio.Event().wait()


@asynccontextmanager
async def serving(script: Script, *, tls: ssl.SSLContext | None = None, host="127.0.0.1"):
    """Run the script for each request; gives the port."""

    async def handle(reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        await script(Exchange(head.decode("latin-1"), reader, writer))

    async with accepting(handle, tls=tls, host=host) as port:
        yield port


@asynccontextmanager
async def accepting(handle, *, tls: ssl.SSLContext | None = None, host="127.0.0.1"):
    """Run the handler for each connection; gives the port."""
    tasks = set()

    async def run(reader, writer):
        tasks.add(asyncio.current_task())
        try:
            await handle(reader, writer)
            writer.close()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            writer.transport.abort()  # the client closed the connection, as expected by some tests

    server = await asyncio.start_server(run, host, 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks)
        await asyncio.sleep(0)


def fetch(script, url="http://127.0.0.1:{port}/", *, tls=None, policy=LOOPBACK, resolver=None, limits=None, **request):
    """Fetch a URL while the script serves it."""
    more = {"now": request.pop("now")} if "now" in request else {}
    fetcher = Fetcher(policy, resolver=resolver or ScriptedResolver(), limits=limits or Limits(), **more)

    async def run():
        async with asyncio.timeout(ENOUGH), serving(script, tls=tls) as port:
            return await fetcher.fetch(Request(url=url.format(port=port), **request))

    return asyncio.run(run())


async def never_reached(exchange):
    raise AssertionError(f"the server was reached: {exchange.head}")
