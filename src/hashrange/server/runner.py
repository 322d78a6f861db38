"""Runs a server: in its own process until a signal, or on a background thread."""

from __future__ import annotations

import asyncio
import gc
import logging
import resource
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hashrange.server.authentication import Authenticate, check_signature_format
from hashrange.server.server import REFUSED_AT_ONCE, Server
from hashrange.server.settings import ServerSettings

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine
    from hashrange.server.separate_databases import SeparateDatabases

log = logging.getLogger(__name__)

START_UP = 2.0  # seconds
OTHER_FILES = REFUSED_AT_ONCE + 64  # files that the process may open beside its connections


def serve(
    served: Engine | SeparateDatabases,
    settings: ServerSettings,
    authenticate: Authenticate = check_signature_format,
    *,
    announce: Callable[[Server], None] = lambda server: None,
) -> None:
    """Serve until SIGTERM, SIGINT or SIGHUP, finish what has begun to arrive, and return; a second signal ends that."""
    _run(_serve(Server(served, limit_connections(settings), authenticate), announce))


async def _serve(server: Server, announce: Callable[[Server], None]) -> None:
    asked = asyncio.Event()

    def stop() -> None:
        if asked.is_set():
            server.stop_now()
        asked.set()

    on_signals(stop)
    await server.start()
    announce(server)
    freezing = asyncio.get_running_loop().call_later(START_UP, _freeze_heap)
    await asked.wait()
    freezing.cancel()
    await server.stop()
    log.info("stopped")


def _freeze_heap() -> None:
    """Exclude the objects of the start-up, which stay for good, from later garbage collections."""
    gc.collect()
    gc.freeze()


@contextmanager
def serve_in_background(
    served: Engine | SeparateDatabases,
    settings: ServerSettings | None = None,
    authenticate: Authenticate = check_signature_format,
) -> Iterator[Server]:
    """Serve on a thread during the block, by default on any free port; the caller closes the engine."""
    server = Server(served, settings or ServerSettings(port=0), authenticate)
    started = threading.Event()
    failures: list[BaseException] = []
    ends: list[Callable[[], object]] = []

    async def live() -> None:
        loop, asked = asyncio.get_running_loop(), asyncio.Event()
        await server.start()
        ends.append(lambda: loop.call_soon_threadsafe(asked.set))
        started.set()
        await asked.wait()
        await server.stop()

    def work() -> None:
        try:
            _run(live())
        except BaseException as failure:  # noqa: BLE001 it is raised again in the caller's thread
            failures.append(failure)
        finally:
            started.set()

    thread = threading.Thread(target=work, name="hashrange-server", daemon=True)
    thread.start()
    started.wait()
    try:
        if not failures:
            yield server
    finally:
        if ends:
            ends[0]()
        thread.join()
    if failures:
        raise failures[0]


def _run(work: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=find_loop_factory()) as runner:
        runner.run(work)


def find_loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return the factory of uvloop's event loop, or None without uvloop."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def on_signals(stop: Callable[[], None]) -> None:
    """Call this at each SIGTERM, SIGINT and SIGHUP (unless `nohup` ignores that), on the running event loop."""
    loop = asyncio.get_running_loop()
    stopping = [signal.SIGTERM, signal.SIGINT]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        stopping.append(signal.SIGHUP)
    for number in stopping:
        loop.add_signal_handler(number, stop)


def limit_connections(settings: ServerSettings, reserved: int = 0) -> ServerSettings:
    """Return the settings with no more connections than the process may open files, apart from those `reserved`."""
    others = OTHER_FILES + reserved
    files = raise_file_limit(settings.max_connections + others)
    possible = max(1, min(settings.max_connections, files - others))
    if possible < settings.max_connections:
        log.warning(
            "the process may open %d files (ulimit -n), of which it needs %d itself: it accepts %d %s at a time "
            "instead of %d. Raise the limit to %d, or lower --max-connections",
            files, others, possible, "connection" if possible == 1 else "connections", settings.max_connections,
            settings.max_connections + others,
        )  # fmt: skip
    return replace(settings, max_connections=possible)


def raise_file_limit(wanted: int) -> int:
    """Raise the limit of open files to that many, as far as we may; return how many there may be, up to `wanted`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return limit
