"""The interface of an engine for its parts, which `engine.engine` combines and which must not import it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from hashrange.core.clock import Clock
from hashrange.core.errors import StorageError
from hashrange.engine import sql
from hashrange.engine.arn import DEFAULT_ACCOUNT, DEFAULT_REGION
from hashrange.engine.clock_log import ClockLog
from hashrange.engine.job_state import JobState
from hashrange.engine.store import SqliteError, Store

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """The options that an engine is opened with."""

    region: str = ""  # in ARNs; empty is the directory's own, for a new one DEFAULT_REGION
    account: str = DEFAULT_ACCOUNT
    status_delay: int = 0  # how long, in ms, CREATING, UPDATING and DELETING last


class JobQueue(Protocol):
    """Where parts start work that takes long; `engine.jobs` has the implementation."""

    def start(self, n: int, state: JobState, *, at_once: bool | None = None) -> None:
        """Begin a job on a table inside the caller's transaction."""
        ...

    def drop(self, n: int, state_type: type[JobState] | None = None) -> None:
        """Delete the jobs of a table: all of them, or those of a type."""
        ...


class EngineContext(Protocol):
    """An engine, as far as the catalog uses it."""

    store: Store
    clock: Clock
    settings: EngineSettings
    written: int
    closed: bool
    last_wall_time: int
    clock_log: ClockLog

    @property
    def jobs(self) -> JobQueue:
        """The jobs under way."""
        ...

    def now(self) -> int:
        """Return the time in milliseconds; it never decreases."""
        ...

    def wall_time(self) -> int:
        """Return the clock's time in milliseconds; record it if the clock was set back."""
        ...

    def next_sequence(self) -> int:
        """Return the next number of the change log."""
        ...

    def begin_transaction(self) -> None:
        """Make sure that there is an open write transaction."""
        ...

    def run_in_group(self, work: Callable[[], T]) -> T:
        """Run some work inside a commit group of its own."""
        ...

    def run_or_roll_back(self, work: Callable[[], T]) -> T:
        """Run background work inside the group; whatever it fails with, undo the whole group."""
        ...


def resolve_region(store: Store, settings: EngineSettings) -> EngineSettings:
    """Return the settings with the region that the directory was made for; its ARNs hold in no other."""
    kept = store.run(sql.FIND_META, ("region",)).get
    if kept is None:
        kept = settings.region or DEFAULT_REGION
        with contextlib.suppress(SqliteError):  # a full disk must not keep anyone from reading
            store.run(sql.SAVE_META, ("region", kept))
    if settings.region not in ("", kept):
        message = (
            f"{store.directory} was made for the region {kept}, and the ARNs in it say so. Open it with that region "
            f"(or with none), or choose another directory for {settings.region}."
        )
        raise StorageError(message)
    return replace(settings, region=kept)
