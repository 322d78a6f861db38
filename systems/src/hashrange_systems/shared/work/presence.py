"""Presence of workers: each writes its presence, so that pages, `/health` and metrics can say when none is working.

A system declares the item on a table of its own, with the fields from here, and two patterns:

    class WorkerPresence(PresenceFields, Item, table=users, PK="WORKERS", SK="WORKER#{worker_id}"): ...

    def workers(self) -> Query[WorkerPresence]: ...
    def forget_worker(self, worker_id: str) -> Delete[WorkerPresence]: ...
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Generic, Protocol, TypeVar

from pydantic import BaseModel

from hashrange import Clock, HashrangeError, Key, __version__
from hashrange_systems.shared.epoch import DAY_MS, from_ms, to_ms
from hashrange_systems.shared.errors import ResourceMissing
from hashrange_systems.shared.identifier import make_id
from hashrange_systems.shared.text import format_duration, format_time

log = logging.getLogger(__name__)

INTERVAL_S = 10.0
SILENT_AFTER = 4  # times the interval
AHEAD_MS = (
    300_000  # by which the clock of another process may be ahead; its last sign would otherwise count for as long
)
LATE_AFTER_MS = 30_000
KEPT_MS = 7 * DAY_MS


class PresenceFields(BaseModel, frozen=True):
    """The fields of the item; processes without background work write it for their addresses."""

    worker_id: Key[str]
    host: str
    pid: int
    version: str
    works: bool = True
    started_at: datetime
    seen_at: datetime
    ended_at: datetime | None = None  # it stopped in an orderly way
    interval_ms: int
    activity: str = ""  # what it is doing, in a few words
    late_ms: int = 0  # by how much its work is overdue
    addresses: list[str] = []  # where it listens: requests on behalf of users must not reach these


P = TypeVar("P", bound=PresenceFields)


class WorkerMissing(ResourceMissing):
    """No worker has this id."""

    def __init__(self, known: Iterable[PresenceFields]) -> None:
        super().__init__("worker")
        shown = (f"{each.worker_id} ({each.host}, seen {format_time(to_ms(each.seen_at))})" for each in known)
        self.args = (f"{self} Known: {', '.join(shown) or 'none'}.",)


class PresencePatterns(Protocol):
    """The patterns that a system declares."""

    def workers(self) -> Any:
        """Query the items of all workers."""
        ...

    def put(self, item: Any) -> Any:
        """Write one of them."""
        ...

    def forget_worker(self, worker_id: str) -> Any:
        """Delete one of them."""
        ...


# ── what the presence says ────────────────────────────────────────────────────────────────────────────────────────────
class WorkState(StrEnum):
    """Whether the background work is done."""

    WORKING = "working"
    LATE = "late"  # it is done, but not in time
    INTERRUPTED = "interrupted"  # no worker is there


@dataclass(frozen=True, slots=True, kw_only=True)
class Monitoring:
    """The state of the background work; `since` is when the last worker was seen, None if there never was one."""

    state: WorkState
    since: int | None = None
    late_ms: int = 0
    workers: tuple[PresenceFields, ...] = ()  # those that are there

    @property
    def healthy(self) -> bool:
        """Whether everything is done in time."""
        return self.state is WorkState.WORKING

    def describe(self, what: str = "Monitoring") -> str:
        """Return a sentence for pages; empty if all is well."""
        if self.state is WorkState.LATE:
            return f"{what} is late by {format_duration(self.late_ms)}."
        if self.state is WorkState.INTERRUPTED and self.since is None:
            return f"{what} has not begun: no worker is running."
        if self.state is WorkState.INTERRUPTED:
            return f"{what} is interrupted: no worker is running."
        return ""


def assess_presence(items: Iterable[PresenceFields], now: int, late_after_ms: int = LATE_AFTER_MS) -> Monitoring:
    """Return the state of the background work, from the presence of the workers."""
    working = [item for item in items if item.works]
    present = tuple(item for item in working if is_present(item, now))
    since = max((to_ms(item.ended_at or item.seen_at) for item in working), default=None)
    if not present:
        return Monitoring(state=WorkState.INTERRUPTED, since=None if since is None else min(since, now))
    late_ms = max(item.late_ms for item in present)
    state = WorkState.LATE if late_ms > late_after_ms else WorkState.WORKING
    return Monitoring(state=state, since=since, late_ms=late_ms, workers=present)


def is_present(item: PresenceFields, now: int) -> bool:
    """Return whether a process has not ended, and has been seen recently, by a clock that is not far ahead."""
    return item.ended_at is None and -AHEAD_MS <= now - to_ms(item.seen_at) <= SILENT_AFTER * item.interval_ms


@dataclass(frozen=True, slots=True)
class Gap:
    """A time in which no worker was there."""

    since: int
    until: int


def find_last_gap(items: Iterable[PresenceFields], now: int) -> Gap | None:
    """Return the last time in which no worker was there, as far as the presence of the last days shows; it may last."""
    working = [item for item in items if item.works]
    spans = sorted((to_ms(item.started_at), to_ms(item.ended_at or item.seen_at)) for item in working)
    tolerance = max((SILENT_AFTER * item.interval_ms for item in working), default=0)
    found, covered = None, spans[0][1] if spans else now
    for start, end in [*spans, (now, now)]:
        if start - covered > tolerance:
            found = Gap(covered, start)
        covered = max(covered, end)
    return found


# ── writing and reading them ─────────────────────────────────────────────────────────────────────────────────────────
@dataclass(slots=True)
class Presence(Generic[P]):
    """The presence of this process, and what is known about all; `measure` returns what it does and how late it is."""

    db: PresencePatterns
    item: type[P]
    clock: Clock
    works: bool = True
    addresses: Sequence[str] = ()
    measure: Callable[[], tuple[str, int]] = lambda: ("", 0)
    interval_s: float = INTERVAL_S
    worker_id: str = field(default_factory=make_id)
    _started_at: int | None = None

    @property
    def is_starting(self) -> bool:
        """Whether this process is to do background work, and has not begun."""
        return self.works and self._started_at is None

    async def write(self) -> None:
        """Write that this process is there."""
        await self.db.put(self._describe())

    async def write_forever(self, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep) -> None:
        """Write it until cancelled, then that this process has ended; failures of the database are logged."""
        try:
            while True:
                await self._try(self.write())
                await sleep(self.interval_s)
        finally:
            await self._try(self.leave())

    async def leave(self) -> None:
        """Write that this process has ended."""
        item = self._describe()
        await self.db.put(item.model_copy(update={"ended_at": item.seen_at, "activity": ""}))

    async def read(self) -> Monitoring:
        """Return the state of the background work of all processes."""
        return assess_presence(await self.list_all(), self.clock.millis())

    async def find_last_gap(self) -> Gap | None:
        """Return the last time in which no worker was there."""
        return find_last_gap(await self.list_all(), self.clock.millis())

    async def list_all(self) -> list[P]:
        """Return the presence of all processes of the last days, and remove older ones."""
        items: list[P] = [item async for item in self.db.workers()]
        newest = max((item.seen_at for item in items), default=None)
        oldest = from_ms(self.clock.millis() - KEPT_MS)
        for item in items:
            if item.seen_at < oldest and item.seen_at != newest:
                await self._try(self.db.forget_worker(item.worker_id))
        return items

    async def forget(self, worker_id: str) -> None:
        """Remove the presence of a process that was killed; raise WorkerMissing, which names those that are known."""
        known = {item.worker_id: item for item in await self.list_all()}
        if worker_id not in known:
            raise WorkerMissing(known.values())
        await self.db.forget_worker(worker_id)

    def _describe(self) -> P:
        now = self.clock.millis()
        self._started_at = now if self._started_at is None else self._started_at
        activity, late_ms = self.measure()
        return self.item(
            worker_id=self.worker_id,
            host=socket.gethostname(),
            pid=os.getpid(),
            version=__version__,
            works=self.works,
            started_at=from_ms(self._started_at),
            seen_at=from_ms(now),
            interval_ms=round(self.interval_s * 1000),
            activity=activity,
            late_ms=late_ms,
            addresses=list(self.addresses),
        )

    @staticmethod
    async def _try(write: Awaitable[object]) -> None:
        try:
            await write
        except HashrangeError as error:
            log.warning("the presence of this process cannot be written", exc_info=error)
