"""Hosts everything in one process, on one event loop: the wire server, the pages and the workers, until a signal.

Starts the parts in order, and stops them so that work and requests in progress are finished.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from hashrange.client.transport import Transport
from hashrange.core.clock import Clock, SystemClock
from hashrange.core.errors import HashrangeError
from hashrange.engine.data_directory import require_single_database
from hashrange.engine.engine import open_engine
from hashrange.hosting.discovery import ExtraMissing, SystemInvalid
from hashrange.hosting.host_pages import HostAddress, HostedSystem, HostPages
from hashrange.hosting.port import WEB_PORT, check_port, explain_errors, listen, read_url
from hashrange.hosting.schema_module import SchemaModule
from hashrange.hosting.shared_database import SharedDatabase
from hashrange.hosting.supervisor import Supervisor
from hashrange.hosting.system import Host, System
from hashrange.hosting.web_connection import WebLimits, limit_web_connections
from hashrange.hosting.web_server import HostCheck, WebServer
from hashrange.operations import OPERATIONS
from hashrange.provision import Declared, apply, create_tables, plan
from hashrange.schema.declare.table import Table
from hashrange.server.authentication import Authenticate, check_signature_format
from hashrange.server.cross_origin import CrossOriginCheck
from hashrange.server.log_format import share_logging
from hashrange.server.runner import find_loop_factory, limit_connections, on_signals
from hashrange.server.server import Server
from hashrange.server.settings import HOST, PORT, ServerSettings
from hashrange.server.sigv4 import SignatureVerifier

log = logging.getLogger(__name__)

LACKS_ITEMS = "; it lacks the items that exist until hashrange backfill is run"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostingOptions:
    """What is hosted, and where."""

    systems: Sequence[System]
    schemas: Sequence[SchemaModule] = ()
    host: str = HOST
    port: int = PORT
    web_port: int = WEB_PORT
    data: Path | None = None  # None keeps everything in memory
    fsync: bool = False
    target: str | None = None  # an existing database to use instead of our own: a URL, or "aws"
    serve: bool = True  # False: our own DynamoDB is for the systems alone, and has no endpoint
    credentials: tuple[str, str] | None = None  # key id and secret that requests to our endpoint must be signed with
    cors: tuple[str, ...] = ()  # as of ServerSettings
    allow_hosts: tuple[str, ...] = ()
    demo: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """The database that the systems use."""

    database: Transport
    clock: Clock
    endpoint: str
    region: str
    server: Server | None = None  # None when the endpoint is not ours

    @property
    def ports(self) -> frozenset[int]:
        """The ports that it listens on in this process."""
        return frozenset([int(self.endpoint.rpartition(":")[2])] if self.server and self.endpoint else [])


@dataclass(frozen=True, slots=True, kw_only=True)
class StartReport:
    """What has been started, for the caller to print."""

    address: HostAddress
    hosted: Sequence[HostedSystem]
    schemas: Sequence[SchemaModule]
    created: Sequence[str]  # names of tables
    changed: Sequence[str]  # what was added to tables that existed
    is_open: bool  # other machines can reach the endpoint


@dataclass(slots=True)
class Shutdown:
    """The request to stop: the first signal asks for it, a second one stops without waiting."""

    requested: asyncio.Event = field(default_factory=asyncio.Event)
    stop_now: list[Callable[[], None]] = field(default_factory=list)

    def request(self) -> None:
        """Handle a signal."""
        if self.requested.is_set():
            for stop_now in self.stop_now:
                stop_now()
        self.requested.set()


def run(options: HostingOptions, announce: Callable[[StartReport], None]) -> None:
    """Host until SIGTERM or SIGINT, finish work in progress, and return; a second signal stops without waiting."""
    with asyncio.Runner(loop_factory=find_loop_factory()) as runner:
        runner.run(_host(options, announce))


async def _host(options: HostingOptions, announce: Callable[[StartReport], None]) -> None:
    shutdown = Shutdown()
    on_signals(shutdown.request)
    share_logging(system.package for system in options.systems)
    async with AsyncExitStack() as stack:
        listener = stack.enter_context(listen(options.host, options.web_port, "--web-port", later=options.port))
        limits = limit_web_connections(WebLimits())
        backend = await _open_backend(options, limits, stack)
        declared: list[Declared | Table] = [patterns for system in options.systems for patterns in system.patterns]
        declared += [each for schema in options.schemas for each in schema.declared]
        created = await asyncio.to_thread(create_tables, backend.database, *declared)
        changed = [] if options.target else await asyncio.to_thread(_change_tables, backend.database, declared)
        address = _describe_address(options, backend, read_url(listener))
        hosted = [await _start(system, options, backend, address, stack) for system in options.systems]
        check = CrossOriginCheck([options.host, listener.getsockname()[0]], hosts=options.allow_hosts)
        app = HostCheck(HostPages(address, hosted, options.schemas).make_app(), check)
        web = WebServer(app, listener, limits)
        await web.start()
        for each in hosted:
            each.supervisor.start()
        is_open = backend.server is not None and not (backend.server.is_private or options.credentials)
        announce(
            StartReport(
                address=address,
                hosted=hosted,
                schemas=options.schemas,
                created=created,
                changed=changed,
                is_open=is_open,
            )
        )
        await _wait_and_stop(shutdown, backend, web, [each.supervisor for each in hosted])
    log.info("stopped")


def _change_tables(database: Transport, declared: Sequence[Declared | Table]) -> list[str]:
    """Add what tables of our own database lack of their declaration, and lose nothing; return what was added."""
    return [
        f"{step.table}: {step.action}" + (LACKS_ITEMS if step.needs_backfill else "")
        for step in apply(database, plan(database, *declared))
    ]


async def _open_backend(options: HostingOptions, limits: WebLimits, stack: AsyncExitStack) -> Backend:
    if options.target is not None:
        return _connect(options.target, stack)
    if options.data is not None:
        require_single_database(options.data)
    if options.serve:
        check_port(options.host, options.port, "--port")
    engine = open_engine(options.data, OPERATIONS, fsync=options.fsync)
    stack.callback(engine.close)
    chosen = ServerSettings(
        host=options.host,
        port=options.port,
        listen=options.serve,
        cors=options.cors,
        allow_hosts=options.allow_hosts,
    )
    server = Server(engine, limit_connections(chosen, limits.reserved_files), _choose_authentication(options))
    with explain_errors(options.host, options.port, "--port"):
        await server.start()
    stack.push_async_callback(server.stop)  # also when the start fails later: it may hold the engine
    database = SharedDatabase(engine, server)
    return Backend(database=database, clock=engine.clock, endpoint=server.url, region=server.region, server=server)


def _choose_authentication(options: HostingOptions) -> Authenticate:
    if options.credentials is None:
        return check_signature_format
    return SignatureVerifier(dict([options.credentials]), SystemClock())


def _connect(target: str, stack: AsyncExitStack) -> Backend:
    from hashrange.client.target import connect_target

    try:
        remote = connect_target(target)
    except ImportError as missing:
        raise ExtraMissing(str(missing)) from missing
    stack.callback(remote.close)
    return Backend(database=remote, clock=SystemClock(), endpoint=remote.endpoint, region=remote.region)


def _describe_address(options: HostingOptions, backend: Backend, web: str) -> HostAddress:
    data = str(options.data) if options.data else "in memory, lost on exit (--data DIR keeps it)"
    return HostAddress(
        endpoint=backend.endpoint,
        region=backend.region,
        web=web,
        data=data,
        is_local=backend.server is not None,
        key_id=options.credentials[0] if options.credentials else None,
    )


async def _start(
    system: System, options: HostingOptions, backend: Backend, address: HostAddress, stack: AsyncExitStack
) -> HostedSystem:
    directory = options.data / system.name if options.data else None
    if directory is not None:
        directory.mkdir(parents=True, exist_ok=True)
    host = Host(
        database=backend.database,
        clock=backend.clock,
        directory=directory,
        base_url=f"{address.web}/{system.name}",
        demo=options.demo,
        own_ports=backend.ports | {int(address.web.rpartition(":")[2])},
        environment=dict(os.environ),
    )
    try:
        running = system.start(host)
    except HashrangeError:
        raise
    except Exception as error:  # whatever the system's own code raises
        log.debug("the system %s cannot be started", system.name, exc_info=True)
        raise SystemInvalid(
            f"The system {system.name} cannot be started: {type(error).__name__}: {error}. "
            "--only names the systems to run; --log-level debug shows where it fails."
        ) from error
    stack.push_async_callback(running.close)
    return HostedSystem(system=system, running=running, supervisor=Supervisor(system.name, running, demo=options.demo))


async def _wait_and_stop(
    shutdown: Shutdown, backend: Backend, web: WebServer, supervisors: Sequence[Supervisor]
) -> None:
    """Wait for a signal, then stop all parts at the same time."""
    assert web.ended is not None
    web.ended.add_done_callback(lambda _: shutdown.requested.set())  # if the web server fails, stop everything
    await shutdown.requested.wait()
    stops = [web.stop(), *(each.stop() for each in supervisors)]
    shutdown.stop_now += [web.stop_now, *(each.stop_now for each in supervisors)]
    if backend.server is not None:
        stops.append(backend.server.stop())
        shutdown.stop_now.append(backend.server.stop_now)
    log.info("stopping: a second signal stops without waiting")
    for failure in await asyncio.gather(*stops, return_exceptions=True):
        if failure is not None:
            raise failure
