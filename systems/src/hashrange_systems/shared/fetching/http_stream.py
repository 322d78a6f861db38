"""A connection to a checked address, plain or TLS, as the network stream that httpcore uses.

It never resolves names: it connects to the given addresses, and uses the name for TLS only.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Iterable, Sequence

import httpcore

from hashrange_systems.shared.fetching.errors import (
    ConnectFailed,
    ConnectionLost,
    NotConnected,
    ResponseMalformed,
    TimedOut,
    TooLarge,
)
from hashrange_systems.shared.fetching.public_address import Address
from hashrange_systems.shared.fetching.timing import PhaseTimer

READ_AT_ONCE = 8 * 1024  # parsing this much in the smallest chunks takes about 20 ms of the event loop
HEAD_LIMIT = 256 * 1024  # status, headers, and any number of 1xx responses before them
PREAMBLE = b"HTTP/1."
LOCAL_ERRORS = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL}


class HttpStream(httpcore.AsyncNetworkStream):
    """An open connection that counts the bytes read: more than `limit` is TooLarge, however they are framed."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, timer: PhaseTimer) -> None:
        self._reader = reader
        self._writer = writer
        self._watch = timer
        self._received = 0
        self._preamble = b""
        self.ended = False
        self.limit = HEAD_LIMIT

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - httpcore's signature
        """Return the next bytes; empty at the end."""
        await asyncio.sleep(0)  # a reader with buffered bytes would never yield to other tasks
        try:
            data = await self._reader.read(min(max_bytes, READ_AT_ONCE))
        except OSError as error:
            raise ConnectionLost("the connection was reset before the response was complete") from error
        self.ended = not data
        self._count(data)
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - httpcore's signature
        """Send bytes; a server that stopped reading may already have answered, so httpcore continues to read."""
        try:
            self._writer.write(buffer)
            await self._writer.drain()
        except OSError as error:
            raise httpcore.WriteError(str(error)) from error

    async def aclose(self) -> None:
        """Close at once, without a TLS shutdown."""
        self._writer.transport.abort()
        await asyncio.sleep(0)

    @property
    def address(self) -> str:
        """The IP address of the peer; empty if the connection is already closed."""
        peer = self._writer.get_extra_info("peername")
        return str(peer[0]) if peer else ""

    @property
    def certificate(self) -> bytes | None:
        """The server's certificate in DER, if this is TLS."""
        tls: ssl.SSLObject | None = self._writer.get_extra_info("ssl_object")
        return tls.getpeercert(binary_form=True) if tls else None

    def _count(self, data: bytes) -> None:
        if data:
            self._watch.mark_bytes()
        self._received += len(data)
        if self._received > self.limit:
            raise TooLarge("the response takes far more bytes than its content has")
        if len(self._preamble) < len(PREAMBLE):
            self._preamble += data[: len(PREAMBLE) - len(self._preamble)]
            if not PREAMBLE.startswith(self._preamble):
                raise ResponseMalformed("the server does not answer in HTTP")


async def connect(addresses: Sequence[Address], port: int, limit_s: float) -> socket.socket:
    """Return a socket to the first address that accepts; each address gets an equal share of the time."""
    share = limit_s / len(addresses)
    failure: OSError | None = None
    for address in addresses:
        try:
            async with asyncio.timeout(share):
                return await _connect_one(address, port)
        except OSError as error:  # includes TimeoutError
            failure = error
    if isinstance(failure, TimeoutError):
        raise TimedOut("connect", limit_s) from failure
    if failure is not None and is_local(failure):
        raise NotConnected from failure
    raise ConnectFailed(_explain_refusal(failure)) from failure


async def _connect_one(address: Address, port: int) -> socket.socket:
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    connection = socket.socket(family, socket.SOCK_STREAM)
    try:
        connection.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connection, (str(address), port))
    except BaseException:
        connection.close()
        raise
    return connection


def is_local(error: OSError) -> bool:
    """Return whether an error is about this machine, and not about the one that it connects to."""
    return error.errno in LOCAL_ERRORS


def _explain_refusal(error: OSError | None) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "the connection was refused: nothing listens on this port"
    return f"no connection could be made: {error.strerror if error and error.strerror else error}"


def order(addresses: Iterable[Address], most: int) -> tuple[Address, ...]:
    """Return the first few distinct addresses."""
    return tuple(dict.fromkeys(addresses))[:most]
