"""Limits that hold for all processes: how often an address or a network may do something on a day.

The rate limit of the web, which is in memory, stops bursts; these counters stop slow repetition.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import timedelta

from hashrange import Clock, Conflict
from hashrange_systems.kelifax.schema import Kelifax
from hashrange_systems.shared.channels.message_budget import hash_target
from hashrange_systems.shared.epoch import DAY_MS, from_ms
from hashrange_systems.shared.errors import TooManyRequests


@dataclass(frozen=True, slots=True)
class Quotas:
    """Counts actions by day; names are stored as hashes."""

    db: Kelifax
    clock: Clock

    async def use_for_mailbox(self, action: str, address: str, limit: int) -> None:
        """Count an action that sends a mail to an address; all spellings of a mailbox share the limit."""
        await self.use(action, hash_target(address), limit)

    async def use(self, action: str, who: str, limit: int) -> None:
        """Count an action of somebody; raise TooManyRequests if the limit of the day is reached."""
        now = from_ms(self.clock.millis())
        name = f"{action}-{hashlib.sha256(who.casefold().encode('utf-8', 'replace')).hexdigest()[:24]}"
        try:
            await self.db.use_quota(name, now.date(), used=1, expires_at=now + timedelta(days=2), limit=limit)
        except Conflict:
            raise TooManyRequests((DAY_MS - self.clock.millis() % DAY_MS) // 1000 + 1) from None
