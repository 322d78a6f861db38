"""Sends a DNS query and returns the answer as bytes, within limits of size and records. It parses no names.

Whoever parses the answer does so in a sandbox: names in DNS are compressed with pointers, and a hostile answer of
64 KB can keep a parser busy for minutes.
"""

from __future__ import annotations

import asyncio
import struct

MAX_DATAGRAM = 4096
MAX_ANSWER = 65_535  # over TCP: what its length field can say
MAX_RECORDS = 500  # real answers have some dozens
HEADER = struct.Struct(">HHHHHH")
LENGTH = struct.Struct(">H")
IS_ANSWER, IS_TRUNCATED, CODE = 0x8000, 0x0200, 0x000F


class AnswerTooLarge(Exception):
    """An answer that is larger than any real one; the text is for users."""


async def exchange(query: bytes, address: str, port: int) -> bytes:
    """Return the answer of a name server: over UDP, or if it is truncated over TCP; raise OSError if there is none."""
    answer = await exchange_datagrams(query, address, port)
    if read_flags(answer) & IS_TRUNCATED:
        answer = await exchange_stream(query, address, port)
    check_records(answer)
    return answer


async def exchange_datagrams(query: bytes, address: str, port: int) -> bytes:
    """Return the first datagram that answers the query; others are ignored."""
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.create_datagram_endpoint(lambda: Datagrams(query), remote_addr=(address, port))
    try:
        transport.sendto(query)
        return await protocol.answer
    finally:
        transport.close()


class Datagrams(asyncio.DatagramProtocol):
    """Waits for the answer to a query; the socket is connected, so that it receives from the server only."""

    def __init__(self, query: bytes) -> None:
        self.query = query
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def datagram_received(self, data: bytes, _peer: object) -> None:
        """Take the datagram if it is the answer."""
        if self.answer.done() or not is_answer(self.query, data):
            return
        if len(data) > MAX_DATAGRAM:
            self.answer.set_exception(AnswerTooLarge(f"the answer has more than {MAX_DATAGRAM} bytes"))
        else:
            self.answer.set_result(data)

    def error_received(self, error: Exception) -> None:
        """End the wait: nothing listens there."""
        if not self.answer.done():
            self.answer.set_exception(error)


async def exchange_stream(query: bytes, address: str, port: int) -> bytes:
    """Return the answer over TCP."""
    reader, writer = await asyncio.open_connection(address, port)
    try:
        writer.write(LENGTH.pack(len(query)) + query)
        await writer.drain()
        (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
        answer = await reader.readexactly(length)
    except asyncio.IncompleteReadError as error:
        raise ConnectionError("the name server closed the connection") from error
    finally:
        writer.transport.abort()
    if not is_answer(query, answer):
        raise ConnectionError("the name server answered something else")
    return answer


def is_answer(query: bytes, data: bytes) -> bool:
    """Return whether a message answers a query: the same number and question; errors may omit the question."""
    if len(data) < HEADER.size or data[:2] != query[:2] or not read_flags(data) & IS_ANSWER:
        return False
    questions = HEADER.unpack_from(data)[2]
    if questions == 0:
        return bool(read_flags(data) & CODE)
    return questions == 1 and data[HEADER.size : len(query)].lower() == query[HEADER.size :].lower()


def read_flags(message: bytes) -> int:
    """Return the flags of a message."""
    flags: int = HEADER.unpack_from(message)[1]
    return flags


def check_records(answer: bytes) -> None:
    """Raise AnswerTooLarge if an answer announces more records than any real one."""
    records = sum(HEADER.unpack_from(answer)[3:])
    if records > MAX_RECORDS:
        raise AnswerTooLarge(f"the answer has {records} records, at most {MAX_RECORDS} are read")
