"""Two ways to wait for the network: on the calling thread, or on its event loop.

The layers above are written once, as coroutines over a NetworkBackend. Those of BlockingBackend never suspend, so that
`run_blocking` finishes in one step. Both backends can use the same socket in turn.
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
Address = tuple[Any, ...]  # from getaddrinfo: family, type, protocol, name, address


class NetworkBackend(Protocol):
    """How to wait; a deadline is a time of `time.monotonic`, after which TimeoutError is raised."""

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
        """Return the received bytes, at least one; empty at the end of the stream."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Sleep."""
        ...

    async def run(self, work: Callable[[], T]) -> T:
        """Run a function that may block, and return its result."""
        ...

    async def acquire(self) -> None:
        """Wait for a permit to use one more connection."""
        ...

    def release(self) -> None:
        """Give the permit back."""
        ...


def run_blocking(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that waits only through BlockingBackend."""
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
    """Set the socket's timeout to the deadline; each change is a system call, so a tenth too long is accepted."""
    left, limit = _remaining(deadline), sock.gettimeout()
    if not limit or not left <= limit <= 1.1 * left:
        sock.settimeout(left)


class BlockingBackend:
    """Waits on the calling thread."""

    def __init__(self, most: int, sleep: Callable[[float], None] = time.sleep) -> None:
        self._permits: SimpleQueue[None] = SimpleQueue()  # a semaphore, much faster than that of threading
        for _ in range(most):
            self._permits.put(None)
        self._sleep = sleep

    async def resolve(self, host: str, port: int, deadline: float) -> Sequence[Address]:
        """Return the addresses of a name; the system sets the timeout."""
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
        """Return the received bytes."""
        _limit(sock, deadline)
        return sock.recv(CHUNK)

    async def sleep(self, seconds: float) -> None:
        """Sleep."""
        self._sleep(seconds)

    async def run(self, work: Callable[[], T]) -> T:
        """Run the function, and return its result."""
        return work()

    async def acquire(self) -> None:
        """Wait for a permit to use one more connection."""
        self._permits.get()

    def release(self) -> None:
        """Give the permit back."""
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
            sent = sock.send(data)  # nearly always all of it; a timeout would cost more
        except (BlockingIOError, InterruptedError):
            sent = 0
        if sent < len(data):
            async with asyncio.timeout(_remaining(deadline)):
                await self._loop.sock_sendall(sock, memoryview(data)[sent:])

    async def receive(self, sock: socket.socket, deadline: float) -> bytes:
        """Return the received bytes."""
        async with asyncio.timeout(_remaining(deadline)):
            return await self._loop.sock_recv(sock, CHUNK)

    async def sleep(self, seconds: float) -> None:
        """Sleep."""
        await self._sleep(seconds)

    async def run(self, work: Callable[[], T]) -> T:
        """Run the function on another thread, and return its result."""
        return await self._loop.run_in_executor(None, work)

    async def acquire(self) -> None:
        """Wait for a permit to use one more connection."""
        await self._permits.acquire()

    def release(self) -> None:
        """Give the permit back."""
        self._permits.release()
