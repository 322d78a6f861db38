"""Runs functions on untrusted bytes in other processes, each call with a budget of time and memory.

`await sandbox.run(function, *arguments, tenant=...)`: the function is one of a module, with typed parameters and a
typed result, which are sent as msgpack. A call that exceeds its budget is killed and raises a SandboxError with the
reason. Processes are started without fork, used again, and replaced after some calls or after a failure.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock
from typing import Generic, TypeVar, TypeVarTuple

import msgspec

from hashrange_systems.shared.sandbox.errors import Reason, SandboxError
from hashrange_systems.shared.sandbox.message import Signature, encode, read_signature
from hashrange_systems.shared.sandbox.process import Budget, SandboxProcess
from hashrange_systems.shared.work.fair_semaphore import FairSemaphore, SemaphoreFull

log = logging.getLogger(__name__)

Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")

MEBIBYTE = 1 << 20
MAX_SECONDS = 120.0


class Sandbox:
    """Processes that work on untrusted input.

    `processes` calls run at the same time, at most half of them for one tenant; others wait up to `wait_s` seconds.
    `seconds` is the CPU time of a call; by the clock it may take four times as long. `modules` are imported by each
    process before its memory is limited.
    """

    def __init__(
        self,
        *,
        processes: int | None = None,
        seconds: float = 5.0,
        memory_mib: int = 256,
        max_answer: int = MEBIBYTE,
        calls_per_process: int = 500,
        wait_s: float = 20.0,
        waiting: int = 200,
        modules: Sequence[str] = (),
    ) -> None:
        count = processes or max(2, os.cpu_count() or 2)
        self._permits = FairSemaphore(count, max(1, count // 2), waiting, max(1, waiting // 4))
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="sandbox")
        self._seconds, self._wait_s = seconds, wait_s
        self._calls_per_process = calls_per_process
        self._modules, self._budget = modules, Budget(memory=memory_mib * MEBIBYTE, max_answer=max_answer)
        self._lock = Lock()
        self._idle: list[SandboxProcess] = []
        self._busy: set[SandboxProcess] = set()
        self._closed = False
        self.missing_limits: tuple[str, ...] = ()

    async def run(
        self,
        function: Callable[[*Arguments], Result],
        *arguments: *Arguments,
        tenant: str = "",
        seconds: float | None = None,
    ) -> Result:
        """Return the result of a function that runs in another process; raise SandboxError with the reason."""
        signature = read_signature(function)
        budget = min(seconds or self._seconds, MAX_SECONDS)
        try:
            async with self._permits.enter(tenant, timeout_s=self._wait_s):
                return await self._run_in_thread(SandboxCall(function, signature, arguments, budget))
        except SemaphoreFull as error:
            raise SandboxError(Reason.BUSY, str(error)) from error
        except SandboxError as error:
            fields = {"function": function.__name__, "tenant": tenant, "reason": error.reason.value, "text": str(error)}
            log.warning("a sandboxed call failed", extra={"fields": fields})
            raise

    async def _run_in_thread(self, call: SandboxCall[Result]) -> Result:
        """Wait for a call in its thread; kill its process when the caller goes away."""
        if self._closed:
            raise SandboxError(Reason.CLOSED, "the sandbox is closed")
        future = asyncio.get_running_loop().run_in_executor(self._threads, self._perform, call)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            call.cancel()
            await asyncio.wait([future])
            future.exception()
            raise

    # ── in a thread ──────────────────────────────────────────────────────────────────────────────────────────────────
    def _perform(self, call: SandboxCall[Result]) -> Result:
        process = self._take()
        try:
            return call.perform(process)
        except SandboxError as error:
            raise SandboxError(Reason.CLOSED, "the sandbox is closed") if self._closed else error from error
        finally:
            self._give_back(process)

    def _take(self) -> SandboxProcess:
        """Return an idle process, or a new one."""
        with self._lock:
            process = self._idle.pop() if self._idle else None
        if process is None:
            process = SandboxProcess(self._modules, self._budget)
            self._report_missing(process.missing)
        with self._lock:
            self._busy.add(process)
            closed = self._closed
        if closed:
            process.kill()
        return process

    def _give_back(self, process: SandboxProcess) -> None:
        retires = process.retired or process.calls >= self._calls_per_process
        with self._lock:
            self._busy.discard(process)
            retires = retires or self._closed
            if not retires:
                self._idle.append(process)
        if retires:
            process.end()

    def _report_missing(self, missing: tuple[str, ...]) -> None:
        if missing != self.missing_limits:
            self.missing_limits = missing
            log.warning("this system does not limit the %s of a process", " and ".join(missing))

    def close(self) -> None:
        """Kill all processes; calls that run end with the reason `closed`."""
        with self._lock:
            self._closed = True
            idle, busy = self._idle, list(self._busy)
            self._idle = []
        for process in idle:
            process.end()
        for process in busy:
            process.kill()
        self._threads.shutdown(wait=True, cancel_futures=True)


@dataclass(slots=True, eq=False)
class SandboxCall(Generic[Result]):
    """One call, which its caller may cancel at any time."""

    function: Callable[..., Result]
    signature: Signature
    arguments: tuple[object, ...]
    seconds: float
    cancelled: bool = False
    process: SandboxProcess | None = None
    lock: Lock = field(default_factory=Lock)

    def perform(self, process: SandboxProcess) -> Result:
        """Return the result of the call in this process."""
        content = encode(self.arguments)
        self._use(process)
        try:
            answer = process.call(self.function.__module__, self.function.__name__, content, self.seconds)
        finally:
            self._use(None)
        try:
            result: Result = msgspec.msgpack.decode(answer, type=self.signature.result)
        except msgspec.MsgspecError as error:
            process.kill()
            raise SandboxError(Reason.CRASH, "its result is not of the declared type") from error
        return result

    def _use(self, process: SandboxProcess | None) -> None:
        with self.lock:
            self.process = process
            if self.cancelled and process is not None:
                process.kill()

    def cancel(self) -> None:
        """Kill the process of the call, if it has begun and not ended."""
        with self.lock:
            self.cancelled = True
            if self.process is not None:
                self.process.kill()
