"""A contender is a server that can be started; a Running one is its process, watched from outside through /proc."""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.client import Client, Refused
from bench.settings import DATA_DIR, PEERS_DIR

START_LIMIT = 60.0
STOP_LIMIT = 10.0
PR_SET_PDEATHSIG = 1
TICKS = os.sysconf("SC_CLK_TCK")


class DidNotStart(Exception):
    """A contender ended, or did not answer in time, after it was started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A server by name, the durability class it runs in, and the command that starts it on a port and a directory."""

    name: str
    version: str
    durability: str
    command: Callable[[int, Path], list[str]]
    directory: Path | None = None

    @property
    def label(self) -> str:
        """Name and class, for file names and messages."""
        return f"{self.name.split()[0]}-{self.durability}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A contender that answers on a port."""

    contender: Contender
    process: subprocess.Popen[bytes]
    port: int
    start_seconds: float
    data: Path

    @property
    def name(self) -> str:
        """The contender's name."""
        return self.contender.name

    def connect(self) -> Client:
        """A new connection to it."""
        return Client(self.port)

    def rss_megabytes(self) -> float:
        """Resident memory now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) / 1024

    def cpu_seconds(self) -> float:
        """Processor time used so far, user and system."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS


@contextmanager
def start(contender: Contender, *, data: Path | None = None) -> Iterator[Running]:
    """Starts a contender, on an empty directory unless one is given, and ends it whatever happens."""
    directory = data or fresh_directory(contender.label)
    log = PEERS_DIR / "logs" / f"{contender.label}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    port = free_port()
    began = time.perf_counter()
    with log.open("wb") as output:
        process = subprocess.Popen(
            contender.command(port, directory),
            cwd=contender.directory,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            preexec_fn=die_with_parent,  # noqa: PLW1509  we start no threads
        )
    try:
        wait_until_it_answers(contender, process, port, log)
        seconds = time.perf_counter() - began
        yield Running(contender=contender, process=process, port=port, start_seconds=seconds, data=directory)
    finally:
        stop(process)
        if data is None:
            shutil.rmtree(directory, ignore_errors=True)


def die_with_parent() -> None:
    """In the child: asks the kernel to end it when the benchmark ends, even by kill -9."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ends a process, politely first."""
    process.terminate()
    try:
        process.wait(STOP_LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def wait_until_it_answers(contender: Contender, process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Returns at the first successful answer; asks every 2 ms."""
    deadline = time.monotonic() + START_LIMIT
    while time.monotonic() < deadline and process.poll() is None:
        client = Client(port, timeout=5)
        try:
            client.call("ListTables", {})
            return
        except (OSError, Refused):
            time.sleep(0.002)
        finally:
            client.close()
    said = log.read_text(errors="replace").split("\n")
    last = next((line for line in reversed(said) if line.strip()), "it said nothing")
    raise DidNotStart(f"{contender.label} did not start: {last} ({log})")


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def clear_leftovers() -> None:
    """Removes the directories of runs that were killed before they could."""
    for path in DATA_DIR.glob("*-*"):
        if not Path("/proc", path.name.rpartition("-")[2]).exists():
            shutil.rmtree(path, ignore_errors=True)


def fresh_directory(name: str) -> Path:
    """An empty directory on the disk of this checkout."""
    path = DATA_DIR / f"{name}-{os.getpid()}"
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path
