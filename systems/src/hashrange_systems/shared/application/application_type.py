"""The application of a system, and the `System` that hashrange hosts.

APPLICATION = ApplicationType(Application, Settings, (Stock,))  # in application.py
SYSTEM = make_system(APPLICATION, title="Stock", summary="...", make_app=make_app)  # in system.py
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

from hashrange import Hook, Host, System
from hashrange.provision import Declared
from hashrange_systems.shared.application.runtime import Runtime
from hashrange_systems.shared.application.settings import SystemSettings
from hashrange_systems.shared.work.loops import Loops
from hashrange_systems.shared.work.presence import Presence

if TYPE_CHECKING:
    from starlette.types import ASGIApp


class SystemApplication(Protocol):
    """The application of a system: one of each of its services, and these."""

    @property
    def runtime(self) -> Runtime[Any]:
        """What it was built from."""
        ...

    @property
    def loops(self) -> Loops:
        """Its background work."""
        ...


A = TypeVar("A", bound=SystemApplication)
ReportProgress: TypeAlias = Callable[[str, int, int], None]  # what is worked on, how many are done, of how many
Prepare: TypeAlias = Callable[[Runtime[Any], ReportProgress], None]


@dataclass(frozen=True, slots=True)
class ApplicationType(Generic[A]):
    """What the application of a system is built with: for its host, its commands and its tests."""

    build: Callable[[Runtime[Any]], A]  # the class
    settings: type[SystemSettings]
    patterns: tuple[Declared, ...]  # all tables

    @property
    def name(self) -> str:
        """The name of the system."""
        return self.settings.system

    def open(self, host: Host, *, is_command: bool = False, hooks: Sequence[Hook] = ()) -> A:
        """Return the application of a host; `application.runtime.close()` releases what it has opened."""
        return self.build(Runtime.open(host, self.settings, is_command=is_command, hooks=hooks))


async def write_no_demo(_application: SystemApplication) -> None:
    """Write nothing: the demo of a system without demo data."""


async def report_presence(presence: Presence[Any]) -> dict[str, object]:
    """Return what `/health` says about the background work: whether it is done, by how many, and how late."""
    monitoring = await presence.read()
    return {
        "healthy": monitoring.healthy,
        "status": "ok" if monitoring.healthy else monitoring.state.value,
        "workers": len(monitoring.workers),
        "lateMs": monitoring.late_ms,
    }


async def report_work(application: SystemApplication) -> Mapping[str, object]:
    """Return what `/health` says about a system that knows no more of its health than the work of its processes."""
    return await report_presence(application.loops.presence)


class RunningApplication(Generic[A]):
    """A system as its host runs it: its application with pages, demo data and health."""

    def __init__(
        self,
        application: A,
        app: ASGIApp,
        fill_demo: Callable[[A], Awaitable[None]],
        report_health: Callable[[A], Awaitable[Mapping[str, object]]],
    ) -> None:
        self.application, self.app = application, app
        self._fill_demo, self._report_health = fill_demo, report_health

    async def work(self) -> None:
        """Work until cancelled: the presence, and the loops that this process runs."""
        await self.application.loops.work()

    async def fill_demo(self) -> None:
        """Write the demo data."""
        await self._fill_demo(self.application)

    async def report_health(self) -> Mapping[str, object]:
        """Return facts for the operator."""
        return await self._report_health(self.application)

    async def close(self) -> None:
        """Release what the application has opened."""
        await self.application.runtime.close()


def make_system(
    application: ApplicationType[A],
    *,
    title: str,
    summary: str,
    make_app: Callable[[A], ASGIApp],
    fill_demo: Callable[[A], Awaitable[None]] = write_no_demo,
    report_health: Callable[[A], Awaitable[Mapping[str, object]]] = report_work,
    prepare: Prepare | None = None,
) -> System:
    """Return the system that hashrange hosts; `make_app` returns the pages of its application.

    `prepare` moves what an older release has stored, in a thread, before anything is served.
    """

    def start(host: Host) -> RunningApplication[A]:
        built = application.open(host)
        return RunningApplication(built, make_app(built), fill_demo, report_health)

    def prepare_host(host: Host, report: ReportProgress) -> None:
        if prepare is not None:
            prepare(Runtime.open(host, application.settings), report)

    return System(
        name=application.name,
        title=title,
        summary=summary,
        patterns=application.patterns,
        start=start,
        prepare=None if prepare is None else prepare_host,
    )
