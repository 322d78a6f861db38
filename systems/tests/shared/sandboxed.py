"""Functions that the tests run in a sandbox: useful ones, and harmful ones of each kind."""

import ctypes
import os
import socket
import sys
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    title: str
    size: int


def measure(title: str, body: bytes) -> Page:
    return Page(title=title, size=len(body))


def tell_pid() -> int:
    return os.getpid()


def spin() -> None:
    while True:
        pass


def spin_without_the_interpreter() -> int:
    return 3 ** (3**17)  # one operation: no signal handler of Python would run before it ends


def hang() -> None:
    time.sleep(3600)


def allocate(mebibytes: int) -> int:
    return len(bytearray(mebibytes << 20))


def crash() -> None:
    ctypes.string_at(0)


def leave() -> None:
    os._exit(3)


def exit_politely() -> None:
    sys.exit(4)


def shout() -> str:
    sys.stdout.write("\0" * 100_000)
    sys.stdout.flush()
    os.write(1, b"\xff" * 100_000)
    os.write(2, b"\xff" * 100_000)
    return "heard"


def read_environment() -> dict[str, str]:
    return dict(os.environ)


def list_sockets_and_files() -> list[str]:
    found = []
    for number in range(256):
        try:
            found.append(
                str(Path(f"/dev/fd/{number}").readlink()) if sys.platform == "linux" else str(os.fstat(number))
            )
        except OSError:
            continue
    return found


def write_file(path: str) -> None:
    Path(path).write_bytes(b"x" * 100_000)


def answer_with_nonsense() -> int:
    connection = socket.socket(fileno=find_connection())
    connection.sendall(b"\0\0\0\x04\xff\xff\xff\xff")
    connection.detach()
    return 1


def answer_for_the_next() -> int:
    """Write an answer that the next call might take for its own."""
    connection = socket.socket(fileno=find_connection())
    connection.sendall(b"\0\0\0\x06\x94\x07\xa0\xc4\x00\xc2")
    connection.detach()
    return 1


def find_connection() -> int:
    for number in range(3, 64):
        try:
            with socket.socket(fileno=os.dup(number)):
                return number
        except OSError:
            continue
    raise LookupError


def leave_a_child(pipe: str) -> None:
    """Tell the process id of a child by a named pipe, and leave it behind."""
    child = os.fork()
    if child == 0:
        time.sleep(3600)
    os.write(os.open(pipe, os.O_WRONLY), str(child).encode())
    os._exit(0)


def return_too_much() -> bytes:
    return bytes(50 << 20)


def lie() -> int:
    return "seven"


def fail(text: str) -> None:
    raise ValueError(text)


def has_no_types(x):
    return x
