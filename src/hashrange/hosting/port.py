"""Opens listening sockets; if a port is not available, the error says which process uses it and what to do."""

from __future__ import annotations

import errno
import resource
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path

from hashrange.core.errors import HashrangeError
from hashrange.server.settings import BACKLOG

WEB_PORT = 8002  # of the pages, where no other is chosen
DEFAULT_PORTS = range(8000, 8100)  # the endpoint, the pages and the demos of systems listen on some of these
MAX_PORT, TRIED_PORTS = 65535, 200
LISTENING = "0A"  # in /proc/net/tcp
MAX_COMMAND_LENGTH = 80
MIN_OPEN_FILES = 32


class PortRefused(HashrangeError):
    """An address that is not available to listen on."""


def listen(host: str, port: int, option: str, *, later: int = 0) -> socket.socket:
    """Return a listening socket.

    If the port is taken, the error names `option` with a port that is free; `later` is one that this process will take.
    """
    with explain_errors(host, port, option, later=later):
        return _listen(host, port)


def check_port(host: str, port: int, option: str) -> None:
    """Raise PortRefused if a port is taken or too few files can be opened; called before a directory is created."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if 0 <= files < MIN_OPEN_FILES:
        raise PortRefused(
            f"This process may open {files} files at once, and a server needs {MIN_OPEN_FILES} at least, one more for "
            "each connection. Raise the limit, for example with: ulimit -n 1024."
        )
    if port:
        listen(host, port, option).close()


@contextmanager
def explain_errors(host: str, port: int, option: str, *, later: int = 0) -> Iterator[None]:
    """Turn an OSError into a PortRefused that explains it."""
    try:
        yield
    except OSError as error:
        raise PortRefused(_explain(error, host, port, option, later)) from error


def read_url(listening: socket.socket) -> str:
    """Return a URL at which a browser on this machine reaches the socket."""
    host, port, *_ = listening.getsockname()
    if ip_address(host).is_unspecified:
        host = "::1" if ":" in host else "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=BACKLOG)


def _explain(error: OSError, host: str, port: int, option: str, later: int) -> str:
    if error.errno == errno.EADDRINUSE:
        owner = find_owner(port) or "another program"
        free = find_free_port(host, port, later)
        another = f"{option} {free} (or {option} 0 for any free one)" if free else f"{option} 0 for any free one"
        return f"Port {port} on {host} is taken by {owner}. Stop that one, or choose another port: {another}."
    if error.errno == errno.EACCES:
        return f"Port {port} is not for ordinary users. Choose one above 1023 with {option}."
    return f"Cannot listen on {host}:{port}: {error.strerror or error}. Is {host} an address of this machine?"


def find_free_port(host: str, taken: int, later: int = 0) -> int | None:
    """Return a port to advise instead of a taken one: it is free, and nothing of ours listens on it by default."""
    first = taken + 1000 if taken in DEFAULT_PORTS else taken + 1
    for port in range(first, min(first + TRIED_PORTS, MAX_PORT + 1)):
        if port != later and port not in DEFAULT_PORTS:
            with suppress(OSError):
                _listen(host, port).close()
                return port
    return None


def find_owner(port: int) -> str | None:
    """Describe the process that listens on a port; None where it cannot be found (only Linux has it)."""
    sockets = {f"socket:[{inode}]" for table in ("tcp", "tcp6") for inode in _find_inodes(table, port)}
    for process in Path("/proc").glob("[0-9]*"):
        if sockets & set(_read_files(process)):
            command = _read(process / "cmdline").replace("\0", " ").strip()
            return f"process {process.name} ({command[:MAX_COMMAND_LENGTH]})"
    return None


def _find_inodes(table: str, port: int) -> Iterator[str]:
    for line in _read(Path("/proc/net") / table).splitlines()[1:]:
        fields = line.split()
        local, state = fields[1], fields[3]
        if state == LISTENING and int(local.rpartition(":")[2], 16) == port:
            yield fields[9]


def _read_files(process: Path) -> Iterator[str]:
    try:
        for file in (process / "fd").iterdir():
            yield str(file.readlink())
    except OSError:  # the process belongs to another user, or has ended
        return


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", errors="replace")
    except OSError:
        return ""
