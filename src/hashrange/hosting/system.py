"""The interface between a system and its host: a system has a name, tables, and a function that starts it.

A package registers its systems as entry points; `hosting.discovery` finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeAlias, runtime_checkable

from hashrange.hosting.port import WEB_PORT
from hashrange.server.settings import HOST

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from hashrange.client.transport import Transport
    from hashrange.core.clock import Clock
    from hashrange.provision import Declared


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What the host provides to a system."""

    DEFAULT_URL: ClassVar[str] = f"http://{HOST}:{WEB_PORT}"  # of the pages of `hashrange up`, without its options

    database: Transport
    clock: Clock
    directory: Path | None  # an existing directory for its files and keys; None when everything is in memory
    base_url: str  # of its pages, without a slash at the end: http://127.0.0.1:8002/stock
    demo: bool
    own_ports: frozenset[int]  # of this process: requests on behalf of users must not reach them
    environment: Mapping[str, str]
    owns_database: bool = False  # this process alone has it open: before `start`, nobody else writes to it


ReportProgress: TypeAlias = Callable[[str, int, int], None]  # what is worked on, how many are done, of how many


class RunningSystem(Protocol):
    """A started system. All systems share one event loop, so nothing in it may block for long."""

    @property
    def app(self) -> ASGIApp:
        """Its pages, mounted under /<name>; it receives no lifespan events, `close` is called instead."""
        ...

    async def work(self) -> None:
        """Do its background work until cancelled, then finish the current step within seconds; return if it has none.

        When it raises, the error is logged and it is called again, after a pause that doubles each time.
        """
        ...

    async def fill_demo(self) -> None:
        """Write the demo data: always the same, and once, however often it is called or interrupted."""
        ...

    async def close(self) -> None:
        """Release its resources; `work` has ended by then, and the pages are no longer served."""
        ...


@runtime_checkable
class HealthReporter(Protocol):
    """A running system that knows more about its health than whether its work runs; `/health` shows it."""

    async def report_health(self) -> Mapping[str, object]:
        """Return facts for the operator; `"healthy": False` makes the status of the process degraded."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A system that can be hosted."""

    name: str  # of its entry point, its path on the web and its command
    title: str
    summary: str  # one sentence
    patterns: tuple[Declared, ...]  # its tables are created from these
    start: Callable[[Host], RunningSystem]  # called once, on the event loop, after the tables were created
    prepare: Callable[[Host, ReportProgress], None] | None = None  # called before, in a thread: moves what is stored

    @property
    def package(self) -> str:
        """The package of its code, whose log lines the host shows."""
        return self.start.__module__.partition(".")[0]
