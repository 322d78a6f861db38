"""Reads single resources for services that change them, and the time of the next decision."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from hashrange import Clock, Unreadable, load_item
from hashrange_systems.kelifax.model.damage import WRONG_STATUS
from hashrange_systems.kelifax.model.slug import is_stored_slug
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
    found = await find_stored(db, slug) if is_stored_slug(slug) else None
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


async def find_names(db: Kelifax, slugs: Iterable[str]) -> dict[str, str]:
    """Return the names of resources in any state by their slugs; one that is gone has its slug for a name."""
    names: dict[str, str] = {}
    for slug in dict.fromkeys(slugs):
        found = await find_stored(db, slug) if is_stored_slug(slug) else None
        name = found.text("resourceName") if isinstance(found, DamagedItem) else found.resource_name if found else ""
        names[slug] = name or slug
    return names


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


async def read_marked(db: Kelifax) -> AsyncIterator[Mapping[str, Mapping[str, Any]]]:
    """Yield every item that is marked as damaged, in wire form; it reads the whole table."""
    request = {"FilterExpression": "attribute_exists(#damage)", "ExpressionAttributeNames": {"#damage": "damage"}}
    async for item in scan_raw(db, request):
        yield item


async def read_ambiguous_slugs(db: Kelifax) -> AsyncIterator[str]:
    """Yield the slugs that cannot be told from the keys of claims and aliases; it reads the whole table."""
    request = {
        "FilterExpression": "contains(#slug, :sign) AND attribute_exists(#status)",
        "ExpressionAttributeNames": {"#slug": "resourceSlug", "#status": "resourceStatus"},
        "ExpressionAttributeValues": {":sign": {"S": "#"}},
        "ProjectionExpression": "#slug",
    }
    async for item in scan_raw(db, request):
        yield item["resourceSlug"]["S"]


async def read_misplaced_slugs(db: Kelifax) -> AsyncIterator[str]:
    """Yield the slugs of resources that are listed in another category than theirs; it reads the whole table."""
    request = {
        "FilterExpression": "attribute_exists(#listed) AND #listed <> #category",
        "ExpressionAttributeNames": {"#listed": "publicCategory", "#category": "category", "#slug": "resourceSlug"},
        "ProjectionExpression": "#slug",
    }
    async for item in scan_raw(db, request):
        yield item["resourceSlug"]["S"]


async def scan_raw(db: Kelifax, asked: Mapping[str, Any]) -> AsyncIterator[Mapping[str, Mapping[str, Any]]]:
    """Yield what a scan of the table of the resources finds, in wire form."""
    request: dict[str, Any] = {"TableName": table.physical_name, "ConsistentRead": True, **asked}
    while True:
        page = await db.session.transport.call_async("Scan", request)
        for item in page["Items"]:
            yield item
        if "LastEvaluatedKey" not in page:
            return
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


async def next_moment(db: Kelifax, clock: Clock, slug: str) -> datetime:
    """Return the time of a decision: now, and after the latest one, also if the clock went back."""
    now = from_ms(clock.millis())
    latest = await db.decisions(slug).consistent().first()
    return now if latest is None else max(now, latest.decided_at + timedelta(milliseconds=1))
