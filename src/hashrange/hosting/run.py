"""Everything in one process, on one event loop: the wire server, the pages, the workers; until a signal comes.

The parts are beside it; here they are started in order, and stopped in such a way that nothing begun is lost.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from hashrange.client.transport import Transport
from hashrange.core.clock import Clock, SystemClock
from hashrange.engine.engine import open_engine
from hashrange.hosting.discover import ExtraMissing
from hashrange.hosting.port import explaining, listen, read_url
from hashrange.hosting.shared import SharedDatabase
from hashrange.hosting.site import Hosted, Place, Site
from hashrange.hosting.system import Host, System
from hashrange.hosting.web import Web
from hashrange.hosting.worker import Worker
from hashrange.operations import OPERATIONS
from hashrange.provision import create_tables
from hashrange.server.runner import find_loop_factory, limit_connections, on_signals
from hashrange.server.server import Server
from hashrange.server.settings import ServerSettings

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What is hosted, and where."""

    systems: Sequence[System]
    host: str = "127.0.0.1"
    port: int = 8000
    web_port: int = 8002
    data: Path | None = None  # None keeps everything in memory
    fsync: bool = False
    endpoint: str | None = None  # an existing DynamoDB to use instead of one of our own: a URL, or "aws"
    demo: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """The database that the systems stand on."""

    database: Transport
    clock: Clock
    endpoint: str
    region: str
    server: Server | None = None  # of our own

    @property
    def ports(self) -> frozenset[int]:
        """The ports that it takes."""
        return frozenset([int(self.endpoint.rpartition(":")[2])] if self.server else [])


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What has been started, for who tells it to people."""

    place: Place
    hosted: Sequence[Hosted]
    created: Sequence[str]  # tables
    is_open: bool  # others than this machine can reach the endpoint


class Part(Protocol):
    """Something that runs until it is told to stop."""

    async def stop(self) -> None:
        """Finish what was begun, and end."""
        ...

    def stop_now(self) -> None:
        """Cut short what `stop` waits for."""
        ...


@dataclass(slots=True)
class Ending:
    """The wish to stop: the first signal says so, and a second one that there is no time."""

    asked: asyncio.Event = field(default_factory=asyncio.Event)
    hurries: list[Callable[[], None]] = field(default_factory=list)

    def ask(self) -> None:
        """Take note of a signal."""
        if self.asked.is_set():
            for stop_now in self.hurries:
                stop_now()
        self.asked.set()


def run(choices: Choices, announce: Callable[[Report], None]) -> None:
    """Host until SIGTERM or SIGINT, finish what was begun, and return; a second signal cuts the waiting short."""
    with asyncio.Runner(loop_factory=find_loop_factory()) as runner:
        runner.run(_live(choices, announce))


async def _live(choices: Choices, announce: Callable[[Report], None]) -> None:
    ending = Ending()
    on_signals(ending.ask)
    async with AsyncExitStack() as stack:
        ground = await _lay_ground(choices, stack)
        listener = stack.enter_context(listen(choices.host, choices.web_port, "--web-port"))
        declared = [patterns for system in choices.systems for patterns in system.patterns]
        created = await asyncio.to_thread(create_tables, ground.database, *declared)
        place = _describe(choices, ground, read_url(listener))
        hosted = [await _start(system, choices, ground, place, stack) for system in choices.systems]
        web = Web(Site(place, hosted).make_app(), listener)
        await web.start()
        for each in hosted:
            each.worker.start()
        is_open = ground.server is not None and not ground.server.is_private
        announce(Report(place=place, hosted=hosted, created=created, is_open=is_open))
        await _stay(ending, ground, web, [each.worker for each in hosted])
    log.info("stopped")


async def _lay_ground(choices: Choices, stack: AsyncExitStack) -> Ground:
    if choices.endpoint is not None:
        return _reach(choices.endpoint, stack)
    engine = open_engine(choices.data, OPERATIONS, fsync=choices.fsync)
    stack.callback(engine.close)
    settings = limit_connections(ServerSettings(host=choices.host, port=choices.port))
    server = Server(engine, settings)
    with explaining(choices.host, choices.port, "--port"):
        await server.start()
    stack.push_async_callback(server.stop)  # also when the start fails later: it may hold the engine
    database = SharedDatabase(engine, server)
    return Ground(database=database, clock=engine.clock, endpoint=server.url, region=server.region, server=server)


def _reach(endpoint: str, stack: AsyncExitStack) -> Ground:
    from hashrange.client.remote import connect

    try:
        remote = connect(None if endpoint == "aws" else endpoint)
    except ImportError as missing:
        raise ExtraMissing(str(missing)) from missing
    stack.callback(remote.close)
    return Ground(database=remote, clock=SystemClock(), endpoint=remote.endpoint, region=remote.region)


def _describe(choices: Choices, ground: Ground, web: str) -> Place:
    kept = str(choices.data) if choices.data else "in memory, gone when this ends (--data DIR keeps it)"
    return Place(endpoint=ground.endpoint, region=ground.region, web=web, data=kept, is_local=ground.server is not None)


async def _start(system: System, choices: Choices, ground: Ground, place: Place, stack: AsyncExitStack) -> Hosted:
    directory = choices.data / system.name if choices.data else None
    if directory is not None:
        directory.mkdir(parents=True, exist_ok=True)
    running = system.start(
        Host(
            database=ground.database,
            clock=ground.clock,
            directory=directory,
            base_url=f"{place.web}/{system.name}",
            demo=choices.demo,
            own_ports=ground.ports | {int(place.web.rpartition(":")[2])},
            environment=dict(os.environ),
        )
    )
    stack.push_async_callback(running.close)
    return Hosted(system=system, running=running, worker=Worker(system.name, running, demo=choices.demo))


async def _stay(ending: Ending, ground: Ground, web: Web, workers: Sequence[Worker]) -> None:
    """Wait for the end, then have everything finish at the same time."""
    parts: list[Part] = [web, *workers, *([ground.server] if ground.server else [])]
    assert web.ended is not None
    web.ended.add_done_callback(lambda _: ending.asked.set())  # without its pages it cannot go on
    await ending.asked.wait()
    ending.hurries.extend(part.stop_now for part in parts)
    log.info("stopping: a second signal cuts it short")
    outcomes = await asyncio.gather(*(part.stop() for part in parts), return_exceptions=True)
    for failure in outcomes:
        if failure is not None:
            raise failure
