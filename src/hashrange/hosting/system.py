"""What a system is to whoever hosts it: a name, its tables, and how to start it.

A system lives in a folder of its own, with a module `system` that exports `SYSTEM`; `hosting.discover` finds it there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from hashrange.client.transport import Transport
    from hashrange.core.clock import Clock
    from hashrange.provision import Declared


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What a system is given to run on."""

    database: Transport
    clock: Clock
    directory: Path | None  # for its files and keys, it exists; None when everything is in memory
    base_url: str  # where its pages are, without a slash at the end: http://127.0.0.1:8002/checks
    demo: bool
    own_ports: frozenset[int]  # of this very process, which outbound requests must not reach
    environment: Mapping[str, str]


class Running(Protocol):
    """A system at work. All of it is on one event loop, beside the other systems: nothing in it may block for long."""

    @property
    def app(self) -> ASGIApp:
        """Its pages, mounted under /<name>; lifespan events do not reach it, `close` does."""
        ...

    async def work(self) -> None:
        """Do its work until cancelled; then finish the step under way, within seconds. Return if there is none.

        When it raises, that is logged and it is called again, later each time.
        """
        ...

    async def fill(self) -> None:
        """Write the demo data: always the same, and once, however often it is called or cut short."""
        ...

    async def close(self) -> None:
        """Let go of what it holds; `work` has ended by then, and the pages are no longer served."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A system that can be hosted."""

    name: str  # of its folder, its path on the web and its command
    title: str
    summary: str  # one sentence
    patterns: tuple[Declared, ...]  # its tables are created from these
    start: Callable[[Host], Running]  # called once, on the event loop, when the tables are there
