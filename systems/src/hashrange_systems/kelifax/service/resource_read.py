"""Reads single resources for services that change them, and the time of the next decision."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from hashrange import Clock, Unreadable, load_item
from hashrange_systems.kelifax.model.damage import WRONG_STATUS
from hashrange_systems.kelifax.model.slug import is_routable
from hashrange_systems.kelifax.schema import AnyResource, Approved, Kelifax, Pending, Rejected, table
from hashrange_systems.kelifax.service.tolerant_read import DamagedItem, read_all
from hashrange_systems.shared.epoch import from_ms
from hashrange_systems.shared.errors import ResourceMissing, StateConflict


async def find_resource(db: Kelifax, slug: str) -> AnyResource:
    """Return a resource in any state; raise ResourceMissing, or StateConflict if it is damaged."""
    found = await find_any(db, slug)
    if isinstance(found, DamagedItem):
        raise StateConflict(f"This resource is damaged and can only be rejected or deleted: {found.public_reason}")
    return found


async def find_any(db: Kelifax, slug: str) -> AnyResource | DamagedItem:
    """Return a resource in any state, or a damaged one; raise ResourceMissing."""
    found = await find_stored(db, slug) if is_routable(slug) else None
    if found is None:
        raise ResourceMissing("resource")
    return found


async def find_stored(db: Kelifax, slug: str) -> AnyResource | DamagedItem | None:
    """Return what is stored under a slug; an item whose status is none of the three is a damaged one."""
    try:
        found = await db.resource(slug).consistent()
    except Unreadable as error:
        return DamagedItem.from_error(error)
    if found is not None:
        return found
    raw = await read_raw(db, slug)
    return None if raw is None else interpret(raw)


def interpret(raw: Mapping[str, Mapping[str, Any]]) -> AnyResource | DamagedItem:
    """Return a stored item in wire form as what it is."""
    try:
        found: AnyResource | None = load_item(
            [Pending, Approved, Rejected], {name: dict(value) for name, value in raw.items()}
        )
    except Unreadable as error:
        return DamagedItem.from_error(error)
    return DamagedItem(raw, (WRONG_STATUS,)) if found is None else found


async def read_raw(db: Kelifax, slug: str) -> Mapping[str, Mapping[str, Any]] | None:
    """Return the stored item of a slug in wire form."""
    request = {"TableName": table.physical_name, "Key": {"resourceSlug": {"S": slug}}, "ConsistentRead": True}
    found: Mapping[str, Mapping[str, Any]] | None = (await db.session.transport.call_async("GetItem", request)).get(
        "Item"
    )
    return found


async def read_everything(db: Kelifax) -> AsyncIterator[AnyResource | DamagedItem]:
    """Yield every stored resource, whatever its status; it reads the whole table."""
    async for item in read_all(db.stored(), "created_at"):
        if isinstance(item, Pending | Approved | Rejected | DamagedItem):
            yield item
        elif (found := await find_stored(db, item.resource_slug)) is not None:
            yield found


async def next_moment(db: Kelifax, clock: Clock, slug: str) -> datetime:
    """Return the time of a decision: now, and after the latest one, also if the clock went back."""
    now = from_ms(clock.millis())
    latest = await db.decisions(slug).consistent().first()
    return now if latest is None else max(now, latest.decided_at + timedelta(milliseconds=1))
