"""What changed: the feed of all shops, and of one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from hashrange import Page
from hashrange_systems.aura.work_schema import NewChange, NotifiedChange, Work
from hashrange_systems.shared.epoch import from_ms

if TYPE_CHECKING:
    from hashrange import Clock

AnyChange = NewChange | NotifiedChange
FEED_DAYS = 30


@dataclass(frozen=True, slots=True)
class Changes:
    """The recorded changes."""

    work: Work
    clock: Clock

    async def latest(
        self, limit: int = 100, *, days: int = FEED_DAYS, country: str | None = None, before: datetime | None = None
    ) -> list[AnyChange]:
        """Return the newest changes of the last days; `before` continues after the last one of an earlier call.

        Changes of the same millisecond are returned together, if need be beyond the limit: `before` would skip them.
        """
        found: list[AnyChange] = []
        async for change in self.walk(days=days, before=before):
            if len(found) >= limit and change.at != found[-1].at:
                break
            if country in {None, change.shop_country}:
                found.append(change)
        return found

    async def walk(self, *, days: int = FEED_DAYS, before: datetime | None = None) -> AsyncIterator[AnyChange]:
        """Yield the changes of the last days, newest first: one partition for each day."""
        last = before or from_ms(self.clock.millis())
        for back in range(days):
            async for change in self.work.changes_on(last - timedelta(days=back)):
                if before is None or change.at < before:
                    yield change

    async def of_shop(self, domain: str, cursor: str | None = None, limit: int = 50) -> Page[AnyChange]:
        """Return a page of the changes of a shop, newest first."""
        return await self.work.changes_of(domain).page(limit, after=cursor)
