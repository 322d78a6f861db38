"""ICMP echoes to an address that the policy has checked: by a datagram socket, or a raw one where that is forbidden."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
import time
from dataclasses import dataclass

from hashrange_systems.shared.fetching.public_address import Address

PAYLOAD = b"hashrange checks"
REQUEST_V4, REPLY_V4 = 8, 0
REQUEST_V6, REPLY_V6 = 128, 129
HEADER = struct.Struct("!BBHHH")


class EchoForbidden(Exception):
    """The system does not let this process send echoes."""


@dataclass(frozen=True, slots=True)
class EchoSocket:
    """A socket for echoes; `raw` if packets have an IP header and must be told apart by their id."""

    connection: socket.socket
    version: int
    raw: bool

    def write(self, token: int, number: int) -> bytes:
        """Return an echo request; the kernel sets the checksum of IPv6, and the id of a datagram socket."""
        kind = REQUEST_V4 if self.version == 4 else REQUEST_V6
        packet = HEADER.pack(kind, 0, 0, token, number) + PAYLOAD
        return HEADER.pack(kind, 0, sum_up(packet) if self.version == 4 else 0, token, number) + PAYLOAD

    def answers(self, data: bytes, token: int, number: int) -> bool:
        """Return whether a packet is the reply to this request."""
        skipped = (data[0] & 0x0F) * 4 if self.raw and self.version == 4 and data else 0
        if len(data) < skipped + HEADER.size:
            return False
        kind, _, _, replied, sequence = HEADER.unpack_from(data, skipped)
        mine = replied == token or not self.raw
        return kind == (REPLY_V4 if self.version == 4 else REPLY_V6) and mine and sequence == number


def open_echo_socket(address: Address) -> EchoSocket:
    """Return a socket connected to the address; raise EchoForbidden."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    protocol = socket.IPPROTO_ICMP if address.version == 4 else socket.IPPROTO_ICMPV6
    for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
        try:
            connection = socket.socket(family, kind, protocol)
        except OSError:  # EPERM or EACCES, or a system without such sockets
            continue
        connection.setblocking(False)
        connection.connect((str(address), 0))
        return EchoSocket(connection, address.version, kind == socket.SOCK_RAW)
    raise EchoForbidden


async def send_echoes(address: Address, count: int, wait_s: float) -> list[float | None]:
    """Return the seconds until each echo was answered, None if it was not."""
    echo = open_echo_socket(address)
    token = int.from_bytes(os.urandom(2))
    try:
        return [await _send_echo(echo, token, number, wait_s) for number in range(count)]
    finally:
        echo.connection.close()


async def _send_echo(echo: EchoSocket, token: int, number: int, wait_s: float) -> float | None:
    loop, begun = asyncio.get_running_loop(), time.monotonic()
    try:
        async with asyncio.timeout(wait_s):
            await loop.sock_sendall(echo.connection, echo.write(token, number))
            while not echo.answers(await loop.sock_recv(echo.connection, 2048), token, number):
                pass
    except OSError:  # unreachable, or the timeout
        return None
    return time.monotonic() - begun


def sum_up(packet: bytes) -> int:
    """Return the Internet checksum of a packet of even length."""
    total: int = sum(struct.unpack(f"!{len(packet) // 2}H", packet))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
