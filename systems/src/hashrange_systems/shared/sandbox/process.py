"""A process of the sandbox as its parent sees it: started, called, killed. Blocks: the sandbox calls it in threads."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from hashrange_systems.shared.sandbox.child import find_wall_time
from hashrange_systems.shared.sandbox.errors import Reason, SandboxError
from hashrange_systems.shared.sandbox.message import Answer, Call, Ready, Setup, receive, send

T = TypeVar("T")

START_S = 60.0  # importing takes a fraction of a second, but a loaded machine is slow
MAX_READY = 1000
PROGRAM = (  # -I: neither the environment nor the current directory says what is imported
    "import sys; sys.path[:] = sys.argv[2:]; "
    "from hashrange_systems.shared.sandbox.child import main; main(int(sys.argv[1]))"
)
KEPT = ("LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "TZ")  # of the environment: nothing that may be secret
TIMERS = {-signal.SIGPROF, -signal.SIGALRM, -signal.SIGXCPU}


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a process may use: memory in bytes, and the size of its answers."""

    memory: int
    max_answer: int


class SandboxProcess:
    """One process. It has one descriptor, which connects it to its parent, and none of the parent's environment."""

    def __init__(self, modules: Sequence[str], budget: Budget) -> None:
        self._budget = budget
        self._calls = 0
        self.retired = False
        ours, theirs = socket.socketpair()
        self._connection = ours
        command = [sys.executable, "-I", "-B", "-c", PROGRAM, str(theirs.fileno()), *find_path()]
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env={name: os.environ[name] for name in KEPT if name in os.environ},
                cwd="/",
                start_new_session=True,  # Ctrl-C of a terminal is for the parent
            )
        setup = Setup(list(modules), budget.memory, os.getpid())
        self.missing = tuple(self._decode(self._exchange(setup, START_S, MAX_READY), Ready).missing)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def calls(self) -> int:
        """How many calls it was given."""
        return self._calls

    def call(self, module: str, name: str, arguments: bytes, seconds: float) -> bytes:
        """Return the encoded result of a call; raise SandboxError, after which the process may be retired."""
        self._calls += 1
        message = Call(self._calls, module, name, seconds, arguments)
        content = self._exchange(message, find_wall_time(seconds), self._budget.max_answer)
        answer = self._decode(content, Answer)
        if answer.retire:  # never set to False: `kill` of another thread may have set it meanwhile
            self.retired = True
        if answer.number != self._calls:
            raise self._fail(Reason.CRASH, "the process answered another call")
        if answer.failure == Reason.MEMORY:
            raise SandboxError(Reason.MEMORY, "it needed more memory than allowed")
        if answer.failure:
            raise SandboxError(Reason.ERROR, answer.content.decode("utf-8", "replace"))
        return answer.content

    def _exchange(self, message: msgspec.Struct, seconds: float, max_bytes: int) -> bytes:
        deadline = time.monotonic() + seconds
        try:
            self._connection.settimeout(seconds)
            send(self._connection, message)
            return receive(self._connection, max_bytes, deadline)
        except TimeoutError as error:
            raise self._fail(Reason.TIME, "it took longer than allowed") from error
        except ValueError as error:
            raise self._fail(Reason.CRASH, "its result is too large") from error
        except (EOFError, OSError) as error:
            raise self._explain_end() from error

    def _decode(self, content: bytes, kind: type[T]) -> T:
        try:
            return msgspec.msgpack.decode(content, type=kind)
        except msgspec.MsgspecError as error:
            raise self._fail(Reason.CRASH, "the process answered nonsense") from error

    def _fail(self, reason: Reason, text: str) -> SandboxError:
        """End the process, and return the error."""
        self.end()
        return SandboxError(reason, text)

    def _explain_end(self) -> SandboxError:
        """Return why the process ended by itself."""
        code = self.end()  # the status of a process that is ending is not changed by the signal
        if code in TIMERS:
            return SandboxError(Reason.TIME, "it took longer than allowed")
        how = f"exit status {code}" if code >= 0 else signal.Signals(-code).name
        return SandboxError(Reason.CRASH, f"its process ended: {how}")

    def kill(self) -> None:
        """Kill the process and everything it started; any thread may do that, also during a call."""
        self.retired = True
        if self._process.returncode is None:  # else its id may be another process's
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> int:
        """Kill the process, release what it has, and return its exit status; only the thread of its calls does that."""
        self.kill()
        self._connection.close()
        return self._process.wait()


def find_path() -> list[str]:
    """Return where this process imports from, so that its children import the same."""
    return [folder or str(Path.cwd()) for folder in sys.path]
