"""How many runs a user may ask for besides the schedule: a budget for each hour, by tier.

A run by hand counts, and the run of a check that is added or resumed, which is due at once. The budget is in the
database, so all processes share it: one number for each user, the time at which the budget is full again. A run moves
it by an interval, on the condition that it stays within a third of an hour; so no read is needed, and races are safe.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from hashrange import Conflict
from hashrange_systems.checks.deployment_schema import ManualRunBudget
from hashrange_systems.checks.model.tier import Tier
from hashrange_systems.checks.schema import Checks
from hashrange_systems.shared.epoch import HOUR_MS, from_ms
from hashrange_systems.shared.errors import TooManyRequests

if TYPE_CHECKING:
    from hashrange import Clock

KEPT = timedelta(hours=2)
ATTEMPTS = 10  # of processes that race for the same budget


@dataclass(frozen=True, slots=True)
class ManualRunLimit:
    """A budget for each user; a third of an hour's runs may follow each other at once."""

    db: Checks
    clock: Clock

    async def consume(self, userid: str, tier: Tier) -> None:
        """Count a run; raise TooManyRequests if the budget is spent."""
        interval = HOUR_MS // tier.manual_runs
        burst = max(1, tier.manual_runs // 3)
        wait_ms = interval
        for _ in range(ATTEMPTS):
            now = self.clock.millis()
            latest = now + (burst - 1) * interval
            refilled_at = await self._spend(userid, interval, now, latest)
            if refilled_at is None:
                return
            if refilled_at > latest:
                wait_ms = refilled_at - latest
                break
        raise TooManyRequests(max(1, -(-wait_ms // 1000)))

    async def _spend(self, userid: str, interval: int, now: int, latest: int) -> int | None:
        """Return None if a run was counted, else the time that is stored."""
        expires_at = from_ms(now) + KEPT
        try:
            await self.db.spend_first_run(userid, refilled_at=now + interval, expires_at=expires_at, now=now)
        except Conflict:
            pass
        else:
            return None
        try:
            await self.db.spend_run(userid, refilled_at=interval, expires_at=expires_at, now=now, latest=latest)
        except Conflict as conflict:
            return conflict.current.refilled_at if isinstance(conflict.current, ManualRunBudget) else now
        return None

    async def try_consume(self, userid: str, tier: Tier) -> bool:
        """Count a run that is due at once; return whether the budget allows it."""
        try:
            await self.consume(userid, tier)
        except TooManyRequests:
            return False
        return True
