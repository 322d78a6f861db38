"""What can be done with a damaged resource, after it was read: reject it, or mark it so that lists show the damage.

The item is written in wire form, because no declared class can read it. Each write requires that the damaged attribute
is still what was read: an item that somebody mended meanwhile is not touched.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import Any

from hashrange import ServiceError, TransactionCanceledException, dump_item
from hashrange_systems.kelifax.errors import DecisionTaken
from hashrange_systems.kelifax.model.public_entry import format_time
from hashrange_systems.kelifax.schema import Decision, Kelifax, audit, table
from hashrange_systems.kelifax.service.tolerant_read import DamagedItem

WATCHED = ("resourceStatus", "learningResources", "keyFeatures", "useCases", "tags")


async def reject_damaged(db: Kelifax, item: DamagedItem, decision: Decision, now: datetime) -> None:
    """Reject a damaged resource that is pending or approved."""
    if item.status not in {"pending", "approved"}:
        raise DecisionTaken(item.status)
    update = {
        "UpdateExpression": "SET #s = :s, #at = :at, #why = :why, #a = :empty REMOVE #p, #f, #c",
        "ExpressionAttributeNames": {
            "#s": "resourceStatus", "#at": "rejectedAt", "#why": "rejectionReason", "#a": "approvedAt",
            "#p": "publishedAt", "#f": "publicFeed", "#c": "publicCategory",
        },
        "ExpressionAttributeValues": {
            ":s": {"S": "rejected"}, ":at": {"S": format_time(now)}, ":why": {"S": decision.reason or ""},
            ":empty": {"S": ""},
        },
    }  # fmt: skip
    note = {"Put": {"TableName": audit.physical_name, "Item": dump_item(decision)}}
    try:
        await db.session.transport.call_async(
            "TransactWriteItems", {"TransactItems": [{"Update": guard(item, update)}, note]}
        )
    except TransactionCanceledException:
        raise DecisionTaken("changed") from None


async def publish_damaged(db: Kelifax, item: DamagedItem, published_at: datetime) -> bool:
    """Put a damaged approved resource into the public lists, marked as damaged; return whether it was written."""
    update = {
        "UpdateExpression": "SET #p = if_not_exists(#p, :p), #f = :f, #c = #k, #d = :d",
        "ExpressionAttributeNames": {
            "#p": "publishedAt", "#f": "publicFeed", "#c": "publicCategory", "#k": "category", "#d": "damage",
        },
        "ExpressionAttributeValues": {
            ":p": {"S": format_time(published_at)}, ":f": {"S": "approved"}, ":d": {"SS": [item.reason[:200]]},
        },
    }  # fmt: skip
    if not item.text("category"):
        return False
    try:
        await db.session.transport.call_async("UpdateItem", guard(item, update))
    except ServiceError:
        return False
    return True


async def unlist_stale(db: Kelifax, item: DamagedItem) -> None:
    """Take a resource out of the public lists that another program rejected without knowing them."""
    update = {
        "UpdateExpression": "REMOVE #p, #f, #c",
        "ExpressionAttributeNames": {"#p": "publishedAt", "#f": "publicFeed", "#c": "publicCategory"},
        "ExpressionAttributeValues": {},
    }
    with suppress(ServiceError):  # changed meanwhile: the stream tells it again
        await db.session.transport.call_async("UpdateItem", guard(item, update))


def guard(item: DamagedItem, update: dict[str, Any]) -> dict[str, Any]:
    """Return an update of a damaged item that is void if the item is no longer what was read."""
    key = guard_key(item)
    merged = {name: update[name] | key[name] for name in ("ExpressionAttributeNames", "ExpressionAttributeValues")}
    return update | key | merged


def guard_key(item: DamagedItem) -> dict[str, Any]:
    """Return the key of a damaged item, with the condition that it is still what was read."""
    names, values, conditions = {}, {}, []
    for number, name in enumerate(name for name in WATCHED if name in item.raw):
        names[f"#g{number}"], values[f":g{number}"] = name, dict(item.raw[name])
        conditions.append(f"#g{number} = :g{number}")
    return {
        "TableName": table.physical_name,
        "Key": {"resourceSlug": {"S": item.resource_slug}},
        "ConditionExpression": " AND ".join(conditions),
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": values,
    }
