"""Two ways to wait for the network: on the thread that calls, or on its event loop.

Everything above is written once, as coroutines over a Driver. Those of Blocking never suspend, so that `run_blocking`
finishes in one step whatever stands on it. The sockets belong to neither: both drivers can use the same one in turn.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from queue import SimpleQueue
from typing import Any, Protocol, TypeVar

T = TypeVar("T")

CHUNK = 64 * 1024
Address = tuple[Any, ...]  # as getaddrinfo gives it: family, kind, protocol, name, address


class NetworkBackend(Protocol):
    """How to wait; a deadline is a moment of `time.monotonic`, and TimeoutError says that it is over."""

    async def resolve(self, host: str, port: int, deadline: float) -> Sequence[Address]:
        """Return the addresses of a name."""
        ...

    async def connect(self, sock: socket.socket, address: Any, deadline: float) -> None:
        """Connect the socket."""
        ...

    async def send(self, sock: socket.socket, data: bytes, deadline: float) -> None:
        """Send everything."""
        ...

    async def receive(self, sock: socket.socket, deadline: float) -> bytes:
        """Return what has come, at least one byte; nothing at the end."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        ...

    async def run(self, work: Callable[[], T]) -> T:
        """Return what a function returns that may take long."""
        ...

    async def acquire(self) -> None:
        """Wait until one more connection may be used."""
        ...

    def release(self) -> None:
        """Take note that one connection less is used."""
        ...


def run_blocking(work: Coroutine[Any, Any, T]) -> T:
    """Finish a coroutine that waits by means of Blocking only."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    work.close()
    raise RuntimeError("a coroutine that should block has suspended")


def _remaining(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _limit(sock: socket.socket, deadline: float) -> None:
    """Let the socket's operations end at about the deadline; each change is a system call, so it may be a tenth off."""
    left, limit = _remaining(deadline), sock.gettimeout()
    if not limit or not left <= limit <= 1.1 * left:
        sock.settimeout(left)


class BlockingBackend:
    """Waits on the calling thread."""

    def __init__(self, most: int, sleep: Callable[[float], None] = time.sleep) -> None:
        self._permits: SimpleQueue[None] = SimpleQueue()  # as a semaphore; threading has one in Python, much slower
        for _ in range(most):
            self._permits.put(None)
        self._sleep = sleep

    async def resolve(self, host: str, port: int, deadline: float) -> Sequence[Address]:
        """Return the addresses of a name; how long that may take is the system's choice."""
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)

    async def connect(self, sock: socket.socket, address: Any, deadline: float) -> None:
        """Connect the socket."""
        sock.settimeout(_remaining(deadline))
        sock.connect(address)

    async def send(self, sock: socket.socket, data: bytes, deadline: float) -> None:
        """Send everything."""
        _limit(sock, deadline)
        sock.sendall(data)

    async def receive(self, sock: socket.socket, deadline: float) -> bytes:
        """Return what has come."""
        _limit(sock, deadline)
        return sock.recv(CHUNK)

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self._sleep(seconds)

    async def run(self, work: Callable[[], T]) -> T:
        """Return what the function returns."""
        return work()

    async def acquire(self) -> None:
        """Wait until one more connection may be used."""
        self._permits.get()

    def release(self) -> None:
        """Take note that one connection less is used."""
        self._permits.put(None)


class AsyncioBackend:
    """Waits on the running event loop; each loop has its own."""

    def __init__(self, most: int, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._loop = asyncio.get_running_loop()
        self._permits = asyncio.Semaphore(most)
        self._sleep = sleep

    async def resolve(self, host: str, port: int, deadline: float) -> Sequence[Address]:
        """Return the addresses of a name."""
        async with asyncio.timeout(_remaining(deadline)):
            return await self._loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)

    async def connect(self, sock: socket.socket, address: Any, deadline: float) -> None:
        """Connect the socket."""
        sock.setblocking(False)
        async with asyncio.timeout(_remaining(deadline)):
            await self._loop.sock_connect(sock, address)

    async def send(self, sock: socket.socket, data: bytes, deadline: float) -> None:
        """Send everything."""
        if sock.gettimeout() != 0:
            sock.setblocking(False)
        try:
            sent = sock.send(data)  # nearly always all of it, and a timeout costs more than that
        except (BlockingIOError, InterruptedError):
            sent = 0
        if sent < len(data):
            async with asyncio.timeout(_remaining(deadline)):
                await self._loop.sock_sendall(sock, memoryview(data)[sent:])

    async def receive(self, sock: socket.socket, deadline: float) -> bytes:
        """Return what has come."""
        async with asyncio.timeout(_remaining(deadline)):
            return await self._loop.sock_recv(sock, CHUNK)

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        await self._sleep(seconds)

    async def run(self, work: Callable[[], T]) -> T:
        """Return what the function returns, on another thread."""
        return await self._loop.run_in_executor(None, work)

    async def acquire(self) -> None:
        """Wait until one more connection may be used."""
        await self._permits.acquire()

    def release(self) -> None:
        """Take note that one connection less is used."""
        self._permits.release()
