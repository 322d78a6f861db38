"""Receives the signals of jobs: stores them on the check, and makes it due, so that a worker evaluates them.

A worker that runs the check at the same moment is not disturbed: the signal is stored, and the check due afterwards.
"""

from __future__ import annotations

import asyncio
import hmac
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hashrange import Conflict
from hashrange_systems.checks.model.signals import (
    Signal,
    Signals,
    find_deadline,
    read_signals,
    receive,
    write_signals,
)
from hashrange_systems.checks.registry import read_attributes
from hashrange_systems.checks.schema import Check, Checks, Scheduled
from hashrange_systems.checks.types.heartbeat import Heartbeat
from hashrange_systems.shared.epoch import from_ms, to_ms
from hashrange_systems.shared.errors import ResourceMissing
from hashrange_systems.shared.identifier import is_valid_id
from hashrange_systems.shared.work.retry import Sleep, retry_on_conflict

if TYPE_CHECKING:
    from hashrange import Clock

WAITS = 20
WAIT_S = 0.1  # for a run that is just being finished


@dataclass(frozen=True, slots=True)
class Heartbeats:
    """The signals of all jobs."""

    db: Checks
    clock: Clock
    sleep: Sleep = asyncio.sleep

    async def receive(self, checkid: str, key: str, signal: Signal, message: str = "") -> bool:
        """Store a signal; return whether it counts: that of a paused check does not. Raise ResourceMissing."""
        check = await self._find(checkid, key)
        if not isinstance(check, Scheduled):
            return False
        at = self.clock.millis()
        due = await retry_on_conflict(lambda: self._store(checkid, key, signal, at, message), "check")
        for _ in range(0 if due else WAITS):  # after them, it is evaluated at its next due time
            await self.sleep(WAIT_S)
            if await self._make_due(checkid):
                break
        return True

    async def _find(self, checkid: str, key: str) -> Check:
        check = await self.db.check(checkid).consistent() if is_valid_id(checkid) else None
        known = check.signal_key if check is not None else None
        if check is None or known is None or not hmac.compare_digest(known.encode(), key.encode()):
            raise ResourceMissing("heartbeat")
        return check

    async def _store(self, checkid: str, key: str, signal: Signal, at: int, message: str) -> bool:
        """Store a signal; return whether the check is due, which it cannot be made while a worker holds it."""
        check = await self._find(checkid, key)
        if not isinstance(check, Scheduled):
            return True
        signals = receive(read_signals(check.signals), signal, at, message)
        if is_running(check, at):
            await self.db.receive(check, seen=check.signals, signals=write_signals(signals))
            return False
        due = from_ms(find_due_time(check, signals, signal, at))
        await self.db.receive(check, seen=check.signals, signals=write_signals(signals), next_run_at=due)
        return True

    async def _make_due(self, checkid: str) -> bool:
        """Make a check due; return whether that is done, or no longer needed."""
        check = await self.db.check(checkid).consistent()
        now = self.clock.millis()
        if not isinstance(check, Scheduled):
            return True
        if is_running(check, now):
            return False
        with suppress(Conflict):  # another signal, or a worker, was faster
            await self.db.reschedule(check, next_run_at=from_ms(now))
        return True


def is_running(check: Scheduled, now: int) -> bool:
    """Return whether a worker holds the check."""
    return check.due_at is not None and to_ms(check.next_run_at) > now


def find_due_time(check: Scheduled, signals: Signals, signal: Signal, at: int) -> int:
    """Return when to evaluate the signals: an end at once, a start when it is late."""
    if signal is not Signal.START:
        return at
    attributes = read_attributes(check.check_type, check.attributes).attributes
    deadline = find_deadline(attributes.schedule, signals) if isinstance(attributes, Heartbeat) else None
    return min(to_ms(check.next_run_at), deadline if deadline is not None else at)
