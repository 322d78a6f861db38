"""What the head cache earns: the server's CPU time per GetItem with cached heads, and with every head parsed.

    python -m bench.heads

No network: packets as real clients send them go straight into two connections of one server, which take turns.
"""

import asyncio
import time
from collections.abc import Sequence

from hashrange.engine.engine import open_engine
from hashrange.operations import OPERATIONS
from hashrange.server.connection import ServerConnection
from hashrange.server.server import Server
from hashrange.server.settings import ServerSettings

ROUNDS, REPEATS = 100, 200
BODY = b'{"TableName":"shops","Key":{"pk":{"S":"k1"}}}'
SIGNED = "AWS4-HMAC-SHA256 Credential=a/20261116/eu-west-2/dynamodb/aws4_request, SignedHeaders=host;x-amz-date"
HASH = "175441d137118f3612bbb18dc49f865b4abcf53ab63c9439b091ee23a3aefeeb"
COMMON = {
    "Host": "127.0.0.1:8000",
    "Content-Type": "application/x-amz-json-1.0",
    "X-Amz-Target": "DynamoDB_20120810.GetItem",
    "X-Amz-Date": "20261116T152104Z",
    "Authorization": f"{SIGNED}, Signature={HASH}",
    "Content-Length": str(len(BODY)),
}
SDK = {
    "amz-sdk-invocation-id": "5903ea26-55e7-438f-9e28-61e8a6015125",
    "amz-sdk-request": "attempt=1; max=4",
    "User-Agent": "aws-sdk ua/2.1 os/linux#6.18 lang/js md/nodejs#20.20.2 api/dynamodb#3.1161.0 m/N,E,P,e",
}
JAVASCRIPT = {"x-amz-user-agent": "aws-sdk-js/3.1161.0", "x-amz-content-sha256": HASH, "Connection": "keep-alive"}


def write_head(headers: dict[str, str]) -> bytes:
    """Return the head of a request."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST / HTTP/1.1\r\n{lines}\r\n".encode()


CLIENTS: dict[str, Sequence[bytes]] = {  # the packets of one request
    "hashrange session": [write_head({**COMMON, "Accept-Encoding": "identity", "User-Agent": "hashrange"}) + BODY],
    "JavaScript SDK": [write_head({**COMMON, **SDK, **JAVASCRIPT}) + BODY],
    "boto3, which sends head and body apart": [write_head({**COMMON, **SDK, "Accept-Encoding": "identity"}), BODY],
}


class NoTransport(asyncio.Transport):
    """Throws responses away."""

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Ignore the limits."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Ignore the data."""


async def start_server() -> Server:
    """Return a running server with one item."""
    engine = open_engine(None, OPERATIONS)
    key = [{"AttributeName": "pk", "KeyType": "HASH"}]
    types = [{"AttributeName": "pk", "AttributeType": "S"}]
    table = {"TableName": "shops", "KeySchema": key, "AttributeDefinitions": types, "BillingMode": "PAY_PER_REQUEST"}
    engine.call("CreateTable", table)
    engine.call("PutItem", {"TableName": "shops", "Item": {"pk": {"S": "k1"}, "name": {"S": "x" * 100}}})
    server = Server(engine, ServerSettings(port=0, spin=0.0))
    await server.start()
    return server


def connect(server: Server, packets: Sequence[bytes], *, cached: bool) -> ServerConnection:
    """Return a warm connection, which has cached the head if it may."""
    connection = ServerConnection(server)
    connection.connection_made(NoTransport())
    server.heads_to_cache = 3 if cached else 0
    feed(connection, packets, 5)
    server.heads_to_cache = 0
    return connection


def feed(connection: ServerConnection, packets: Sequence[bytes], times: int) -> float:
    """Send the request so many times, and return the CPU seconds of one."""
    started = time.process_time()
    for _ in range(times):
        for packet in packets:
            connection.data_received(packet)
        connection.flush()
    return (time.process_time() - started) / times


async def measure() -> None:
    """Print a row for each client: the fastest rounds are those that nothing disturbed."""
    server = await start_server()
    for name, packets in CLIENTS.items():
        both = [connect(server, packets, cached=cached) for cached in (True, False)]
        rounds = [[feed(connection, packets, REPEATS) for connection in both] for _ in range(ROUNDS)]
        cached, parsed = (min(times) for times in zip(*rounds, strict=True))
        for connection in both:
            connection.connection_lost(None)
        print(f"{name}: cached {cached * 1e6:.1f} us, parsed {parsed * 1e6:.1f} us, {1 - cached / parsed:.0%} less")
    await server.stop()


if __name__ == "__main__":
    asyncio.run(measure())
