"""A server that answers every request with `{}` at once: measures the noise of machine and client."""

import asyncio
import sys
from pathlib import Path

from bench.contender import Contender

NAME = "nothing (noise)"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: 2\r\n\r\n{}"


class Nothing(asyncio.Protocol):
    """One connection; counts bodies by their length and looks at nothing else."""

    def __init__(self) -> None:
        self._transport: asyncio.WriteTransport | None = None
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keeps the way to answer."""
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answers once a request is whole; there is never more than one at a time."""
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        length = head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0]
        if found and self._transport and len(body) >= int(length or 0):
            self._received = b""
            self._transport.write(ANSWER)


def make_nothing() -> Contender:
    """Nothing, as a contender."""
    root = Path(__file__).resolve().parent.parent
    return Contender(
        name=NAME,
        version="-",
        durability="disk",
        command=lambda port, data: [sys.executable, "-m", "bench.nothing", str(port)],
        directory=root,
    )


async def serve(port: int) -> None:
    """Serves until it is ended."""
    server = await asyncio.get_running_loop().create_server(Nothing, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
