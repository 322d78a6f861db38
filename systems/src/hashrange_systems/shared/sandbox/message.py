"""What the sandbox and its processes send each other: msgpack in frames, decoded by type. Nothing in it is executed.

frame   := length (4 bytes, big endian) payload
sandbox → process: first a Setup, then Calls.   process → sandbox: first a Ready, then an Answer to each Call.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import FunctionType
from typing import Any, get_type_hints

import msgspec

LENGTH = struct.Struct(">I")
PIECE = 1 << 18
encode = msgspec.msgpack.encode


class Setup(msgspec.Struct, frozen=True, array_like=True):
    """The first message to a process: what to import before the limits apply, and its memory budget in bytes."""

    modules: list[str]
    memory: int
    parent: int


class Ready(msgspec.Struct, frozen=True, array_like=True):
    """The answer to a Setup: the limits that this operating system does not have."""

    missing: list[str]


class Call(msgspec.Struct, frozen=True, array_like=True):
    """One call; `seconds` is its CPU time, `arguments` are encoded on their own."""

    number: int
    module: str
    name: str
    seconds: float
    arguments: bytes


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """The result of a call, encoded on its own, or a text if `failure` is set; `retire`: use the process no more."""

    number: int
    failure: str
    content: bytes
    retire: bool = False


class Signature(msgspec.Struct, frozen=True):
    """The types of a function's parameters and of its result."""

    parameters: tuple[Any, ...]
    result: Any

    def read_arguments(self, content: bytes) -> list[Any]:
        """Decode arguments, each by the type of its parameter."""
        parts = msgspec.msgpack.decode(content, type=list[msgspec.Raw])
        return [msgspec.msgpack.decode(part, type=kind) for part, kind in zip(parts, self.parameters, strict=True)]


@cache
def read_signature(function: Callable[..., object]) -> Signature:
    """Return the types of a module-level function; raise TypeError for anything else, or if a type is missing."""
    if (
        not isinstance(function, FunctionType)
        or vars(import_module(function.__module__)).get(function.__qualname__) is not function
    ):
        raise TypeError(f"{function!r} cannot run in a sandbox: only functions of a module can")
    hints = get_type_hints(function)
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    missing = [name for name in (*names, "return") if name not in hints]
    if missing:
        raise TypeError(f"{function.__module__}.{function.__name__} has no type for {', '.join(missing)}")
    return Signature(tuple(hints[name] for name in names), hints["return"])


def find_function(module: str, name: str) -> Callable[..., object]:
    """Return a function of a module."""
    found: Callable[..., object] = getattr(import_module(module), name)
    return found


# ── frames ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def send(connection: socket.socket, message: msgspec.Struct) -> None:
    """Send a message within the timeout of the connection."""
    content = encode(message)
    connection.sendall(LENGTH.pack(len(content)))
    connection.sendall(content)


def receive(connection: socket.socket, max_bytes: int, deadline: float | None = None) -> bytes:
    """Return the next payload; raise EOFError at the end, TimeoutError at the deadline, ValueError if too long."""
    (length,) = LENGTH.unpack(_receive_exactly(connection, LENGTH.size, deadline))
    if length > max_bytes:
        raise ValueError(f"a message of {length} bytes")
    return _receive_exactly(connection, length, deadline)


def _receive_exactly(connection: socket.socket, length: int, deadline: float | None) -> bytes:
    content = bytearray()
    while len(content) < length:
        if deadline is not None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            connection.settimeout(left)
        piece = connection.recv(min(PIECE, length - len(content)))
        if not piece:
            raise EOFError
        content += piece
    return bytes(content)
