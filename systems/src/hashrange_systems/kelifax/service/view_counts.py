"""Views of resources: counted in memory, stored in batches, and flushed into `viewCount` and `lastViewed`.

- `count(slug)`: a visitor looked at a resource; call it for visitors only, not for admins and robots. Does no I/O.
- `store()`: writes what was counted since the last time; the worker calls it every few seconds, and at the end.
- `flush()`: moves stored counts into the resources, each exactly once; the worker calls it every few minutes.
- `trend(slug, days)`: the views of each day, oldest first.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, timedelta

from hashrange import Clock, Conflict, Unreadable
from hashrange_systems.kelifax.schema import Approved, Kelifax
from hashrange_systems.kelifax.visitor_item import Views
from hashrange_systems.shared.epoch import from_ms, to_second

MAX_COUNTED = 10_000  # resources in memory
TREND_DAYS = 400


@dataclass(slots=True)
class ViewCounts:
    """Counts views."""

    db: Kelifax
    clock: Clock
    _counted: Counter[str] = field(default_factory=Counter)

    def count(self, slug: str) -> None:
        """Count a view of a published resource."""
        if slug in self._counted or len(self._counted) < MAX_COUNTED:
            self._counted[slug] += 1

    async def store(self) -> int:
        """Write the counts; return how many resources had views. A count that cannot be written is kept."""
        counted, self._counted = self._counted, Counter()
        now = to_second(self.clock.millis())
        expires = now + timedelta(days=TREND_DAYS)
        stored = 0
        try:
            for slug, views in list(counted.items()):
                await self.db.transact(
                    self.db.viewed(slug, views=views, last_viewed=now),
                    self.db.viewed_on(slug, now.date(), views=views, expires_at=expires),
                ).unread()
                del counted[slug]
                stored += 1
        finally:
            self._counted.update(counted)
        return stored

    async def flush(self) -> int:
        """Add the stored counts to their resources; return how many resources were written."""
        flushed = 0
        async for views in self.db.unflushed_views():
            with suppress(Conflict):  # viewed or changed meanwhile: next time
                flushed += await self._flush(views)
        return flushed

    async def _flush(self, views: Views) -> int:
        try:
            resource = await self.db.resource(views.slug)
        except Unreadable:
            return 0
        taken = self.db.flushed(views.slug, views=views.views)
        if not isinstance(resource, Approved):
            await taken
            return 0
        last = views.last_viewed or from_ms(self.clock.millis())
        counted = self.db.count_views(resource, view_count=views.views, last_viewed=last)
        await self.db.transact(counted, taken).unread()
        return 1

    async def trend(self, slug: str, days: int = 30) -> list[tuple[date, int]]:
        """Return the views of the latest days, oldest first, days without views included."""
        today = from_ms(self.clock.millis()).date()
        stored = {each.day: each.views for each in await self.db.trend(slug).limit(days)}
        span = [today - timedelta(days=back) for back in range(days - 1, -1, -1)]
        return [(day, stored.get(day, 0)) for day in span]
