"""The process of a sandbox: limits itself, then answers one call after another. Run by `process.py`; prints nothing.

The kernel ends it when a call exceeds its CPU time (SIGPROF, SIGXCPU) or its wall time (SIGALRM), whatever it is doing.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import socket
import sys
import time
from importlib import import_module
from pathlib import Path

import msgspec

from hashrange_systems.shared.sandbox.errors import Reason
from hashrange_systems.shared.sandbox.message import (
    Answer,
    Call,
    Ready,
    Setup,
    encode,
    find_function,
    read_signature,
    receive,
    send,
)

MAX_CALL = 1 << 30
MAX_FILES = 64  # imports open some
LIFETIME_S = 600  # of CPU time
WALL_FACTOR = 4  # a call may take so much longer than its CPU time, by the clock
WALL_SLACK_S = 1.0
MAX_TEXT = 300
PR_SET_PDEATHSIG = 1
STATM = Path("/proc/self/statm")


def main(descriptor: int) -> None:
    """Answer calls until the sandbox closes the connection."""
    connection = socket.socket(fileno=descriptor)
    setup = msgspec.msgpack.decode(receive(connection, MAX_CALL), type=Setup)
    for module in setup.modules:
        import_module(module)
    send(connection, Ready(limit_process(setup)))
    used = measure_memory()
    with contextlib.suppress(EOFError):
        while True:
            call = msgspec.msgpack.decode(receive(connection, MAX_CALL), type=Call)
            answer = perform(call)
            stop_timers()
            grown = measure_memory() - used > setup.memory // 4
            retires = grown or answer.failure == Reason.MEMORY or time.process_time() > LIFETIME_S / 2
            send(connection, msgspec.structs.replace(answer, retire=retires))


# ── limits ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def limit_process(setup: Setup) -> list[str]:
    """Limit this process for good; return the names of the limits that do not work here."""
    end_with_parent(setup.parent)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # writing to a file is an error, not the end
    files = min(MAX_FILES, resource.getrlimit(resource.RLIMIT_NOFILE)[1] % (1 << 62))
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    resource.setrlimit(resource.RLIMIT_CPU, (LIFETIME_S, LIFETIME_S))
    if not STATM.exists():
        return ["memory"]  # macOS accepts RLIMIT_AS and ignores it
    most = measure_memory() + setup.memory
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    return []


def end_with_parent(parent: int) -> None:
    """Let Linux kill this process when its parent dies; elsewhere it ends with its call, or with the connection."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)


def measure_memory() -> int:
    """Return the size of the address space in bytes; 0 where the system does not report it."""
    if not STATM.exists():
        return 0
    return int(STATM.read_bytes().split()[0]) * resource.getpagesize()


def start_timers(seconds: float) -> None:
    """Let the kernel end this process after so much CPU time, or after the wall time that belongs to it."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, find_wall_time(seconds) + WALL_SLACK_S)  # the sandbox kills it before


def stop_timers() -> None:
    """Stop the timers of a call."""
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)


def find_wall_time(seconds: float) -> float:
    """Return how long a call may take by the clock: a busy machine is slow, and a call may wait."""
    return seconds * WALL_FACTOR + WALL_SLACK_S


# ── calls ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def perform(call: Call) -> Answer:
    """Return the answer to a call; nothing is raised."""
    for name in (signal.SIGPROF, signal.SIGALRM, signal.SIGXCPU):
        signal.signal(name, signal.SIG_DFL)
    start_timers(call.seconds)
    try:
        function = find_function(call.module, call.name)
        result = function(*read_signature(function).read_arguments(call.arguments))
        return Answer(call.number, "", encode(result))
    except MemoryError:
        return Answer(call.number, Reason.MEMORY, b"")
    except BaseException as error:  # noqa: BLE001 - the outermost handler: SystemExit is a failure as well
        return Answer(call.number, Reason.ERROR, describe_error(error))


def describe_error(error: BaseException) -> bytes:
    """Return the class and the text of an exception, cut."""
    with contextlib.suppress(Exception):
        return f"{type(error).__name__}: {error}"[:MAX_TEXT].encode("utf-8", "replace")
    return type(error).__name__.encode("utf-8", "replace")
