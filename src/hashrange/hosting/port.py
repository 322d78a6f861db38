"""A port to listen on, or why it cannot be had: by whom it is taken, as far as the machine tells, and what to do."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path

from hashrange.core.errors import HashrangeError

BACKLOG = 1024
LISTENING = "0A"  # in /proc/net/tcp
LONGEST_COMMAND = 80


class PortRefused(HashrangeError):
    """An address that cannot be listened on."""


def listen(host: str, port: int, option: str) -> socket.socket:
    """Return a socket that listens there; `option` is the one to choose another port with."""
    with explaining(host, port, option):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=BACKLOG)


@contextmanager
def explaining(host: str, port: int, option: str) -> Iterator[None]:
    """Say in words why an address cannot be had."""
    try:
        yield
    except OSError as error:
        raise PortRefused(_explain(error, host, port, option)) from error


def read_url(listening: socket.socket) -> str:
    """Return an address that a browser on this machine reaches the socket at."""
    host, port, *_ = listening.getsockname()
    if ip_address(host).is_unspecified:
        host = "::1" if ":" in host else "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _explain(error: OSError, host: str, port: int, option: str) -> str:
    if error.errno == errno.EADDRINUSE:
        owner = find_owner(port) or "another program"
        another = f"{option} {port % 65535 + 1} (or {option} 0 for any free one)"
        return f"Port {port} on {host} is taken by {owner}. Stop that one, or choose another port: {another}."
    if error.errno == errno.EACCES:
        return f"Port {port} is not for ordinary users. Choose one above 1023 with {option}."
    return f"Cannot listen on {host}:{port}: {error.strerror or error}. Is {host} an address of this machine?"


def find_owner(port: int) -> str | None:
    """Return who listens on a port, in words; None where the machine does not tell (only Linux does)."""
    sockets = {f"socket:[{inode}]" for table in ("tcp", "tcp6") for inode in _find_inodes(table, port)}
    for process in Path("/proc").glob("[0-9]*"):
        if sockets & set(_read_files(process)):
            command = _read(process / "cmdline").replace("\0", " ").strip()
            return f"process {process.name} ({command[:LONGEST_COMMAND]})"
    return None


def _find_inodes(table: str, port: int) -> Iterator[str]:
    for line in _read(Path("/proc/net") / table).splitlines()[1:]:
        (
            _,
            local,
            _,
            state,
            *_,
        ) = fields = line.split()
        if state == LISTENING and int(local.rpartition(":")[2], 16) == port:
            yield fields[9]


def _read_files(process: Path) -> Iterator[str]:
    try:
        for file in (process / "fd").iterdir():
            yield str(file.readlink())
    except OSError:  # it belongs to somebody else, or has ended
        return


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", errors="replace")
    except OSError:
        return ""
