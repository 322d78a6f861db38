"""Hosts everything in one process, on one event loop: the wire server, the pages and the workers, until a signal.

Starts the parts in order, and stops them so that work and requests in progress are finished.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

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

OTHERS = "--only names the systems to run"
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
    region: str
    other_endpoint: str = ""  # of a database that is not ours
    server: Server | None = None  # None when the endpoint is not ours

    @property
    def endpoint(self) -> str:
        """The URL of the endpoint; empty if there is none, or none yet."""
        return self.server.url if self.server else self.other_endpoint

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


ReportPreparation: TypeAlias = Callable[[str, str, int, int], None]  # the system, and what its own report is given


class StopRequested(BaseException):
    """A signal during a preparation; no `except Exception` of a system's code holds it up."""


def run(
    options: HostingOptions, announce: Callable[[StartReport], None], report: ReportPreparation | None = None
) -> None:
    """Host until SIGTERM or SIGINT, finish work in progress, and return; a second signal stops without waiting.

    `report` is called, from another thread, with the progress of systems that prepare their data.
    """
    with asyncio.Runner(loop_factory=find_loop_factory()) as runner, suppress(StopRequested):
        runner.run(_host(options, announce, report))
    log.info("stopped")


async def _host(
    options: HostingOptions, announce: Callable[[StartReport], None], report: ReportPreparation | None
) -> None:
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
        for system in options.systems:
            await _prepare(system, _make_host(system, options, backend, read_url(listener)), report, shutdown)
        if backend.server is not None:
            with explain_errors(options.host, options.port, "--port"):
                await backend.server.listen()
        address = _describe_address(options, backend, read_url(listener))
        hosted = [
            await _start(system, _make_host(system, options, backend, address.web), stack) for system in options.systems
        ]
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
    server.begin()  # it listens when the data is prepared: until then nobody else writes
    stack.push_async_callback(server.stop)  # also when the start fails later: it may hold the engine
    database = SharedDatabase(engine, server)
    return Backend(database=database, clock=engine.clock, region=server.region, server=server)


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
    return Backend(database=remote, clock=SystemClock(), region=remote.region, other_endpoint=remote.endpoint)


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


def _make_host(system: System, options: HostingOptions, backend: Backend, web: str) -> Host:
    """Return what the host provides to a system; before the endpoint listens, its port is not known."""
    directory = options.data / system.name if options.data else None
    if directory is not None:
        directory.mkdir(parents=True, exist_ok=True)
    return Host(
        database=backend.database,
        clock=backend.clock,
        directory=directory,
        base_url=f"{web}/{system.name}",
        demo=options.demo,
        own_ports=backend.ports | {int(web.rpartition(":")[2])},
        environment=dict(os.environ),
        owns_database=backend.server is not None,
    )


async def _prepare(system: System, host: Host, report: ReportPreparation | None, shutdown: Shutdown) -> None:
    """Let a system prepare its data, before any system is started and anybody else can write."""

    def report_progress(what: str, done: int, total: int) -> None:
        if shutdown.requested.is_set():
            raise StopRequested
        if report is not None:
            report(system.name, what, done, total)

    if system.prepare is None:
        return
    try:
        await asyncio.to_thread(system.prepare, host, report_progress)
    except HashrangeError as error:
        error.add_note(f"The system {system.name} needs that before anything is started; {OTHERS}.")
        raise
    except Exception as error:  # whatever the system's own code raises
        raise _explain_failure(system, "prepare its data", error) from error
    if shutdown.requested.is_set():
        raise StopRequested


async def _start(system: System, host: Host, stack: AsyncExitStack) -> HostedSystem:
    try:
        running = system.start(host)
    except HashrangeError:
        raise
    except Exception as error:  # whatever the system's own code raises
        raise _explain_failure(system, "be started", error) from error
    stack.push_async_callback(running.close)
    return HostedSystem(system=system, running=running, supervisor=Supervisor(system.name, running, demo=host.demo))


def _explain_failure(system: System, action: str, error: Exception) -> SystemInvalid:
    log.debug("the system %s cannot %s", system.name, action, exc_info=error)
    return SystemInvalid(
        f"The system {system.name} cannot {action}: {type(error).__name__}: {error}. {OTHERS}; "
        "--log-level debug shows where it fails."
    )


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
