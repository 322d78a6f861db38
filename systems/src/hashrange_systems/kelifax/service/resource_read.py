"""Reads single resources for services that change them, and the time of the next decision."""

from __future__ import annotations

from datetime import datetime, timedelta

from hashrange import Clock, Unreadable
from hashrange_systems.kelifax.model.slug import is_routable
from hashrange_systems.kelifax.schema import AnyResource, Kelifax
from hashrange_systems.kelifax.service.tolerant_read import DamagedItem
from hashrange_systems.shared.epoch import from_ms
from hashrange_systems.shared.errors import ResourceMissing, StateConflict


async def find_resource(db: Kelifax, slug: str) -> AnyResource:
    """Return a resource in any state; raise ResourceMissing, or StateConflict if it is damaged."""
    found = await find_any(db, slug)
    if isinstance(found, DamagedItem):
        raise StateConflict(f"This resource is damaged and can only be rejected or deleted: {found.reason}")
    return found


async def find_any(db: Kelifax, slug: str) -> AnyResource | DamagedItem:
    """Return a resource in any state, or a damaged one; raise ResourceMissing."""
    try:
        found = await db.resource(slug).consistent() if is_routable(slug) else None
    except Unreadable as error:
        return DamagedItem.from_error(error)
    if found is None:
        raise ResourceMissing("resource")
    return found


async def next_moment(db: Kelifax, clock: Clock, slug: str) -> datetime:
    """Return the time of a decision: now, and after the latest one, also if the clock went back."""
    now = from_ms(clock.millis())
    latest = await db.decisions(slug).consistent().first()
    return now if latest is None else max(now, latest.decided_at + timedelta(milliseconds=1))
