"""What can be done with a damaged resource, after it was read: reject it, undo that, mark it for lists, feature it.

Its feature starts and ends at the times that were planned before it was damaged. The item is written in wire form,
because no declared class can read it. Each write requires that the attributes are still what was read: an item that
somebody mended meanwhile is not touched.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from hashrange import ServiceError, TransactionCanceledException, dump_item
from hashrange_systems.kelifax.errors import DecisionTaken
from hashrange_systems.kelifax.model.content import CONTENT_NAMES
from hashrange_systems.kelifax.model.damage import PUBLIC_REASONS
from hashrange_systems.kelifax.model.public_entry import format_exact_time, format_time
from hashrange_systems.kelifax.schema import Decision, Kelifax, audit, table
from hashrange_systems.kelifax.service.tolerant_read import DamagedItem

LISTING_ATTRIBUTES = ("publishedAt", "publicFeed", "publicCategory")  # in the public lists
RESTORED = ("resourceStatus", "approvedAt", *LISTING_ATTRIBUTES)
WATCHED = (  # all but the counters: views of other visitors must not stop a moderator
    "resourceStatus", "submissionId", "createdAt", "submittedAt", "approvedAt", "rejectedAt", *CONTENT_NAMES,
    "featured", "submitterFirstName", "submitterLastName", "submitterEmail", "submitterCompany", "submitterPhone",
    "submitterDomain", "damage",
)  # fmt: skip


async def reject_damaged(db: Kelifax, item: DamagedItem, decision: Decision, now: datetime) -> None:
    """Reject a damaged resource that is pending or approved; the decision has what undoing it restores."""
    if item.status not in {"pending", "approved"}:
        raise DecisionTaken(item.status)
    changes: dict[str, str | None] = {
        "resourceStatus": "rejected",
        "rejectedAt": format_time(now),
        "rejectionReason": decision.reason or "",
        "approvedAt": "",
        **dict.fromkeys(LISTING_ATTRIBUTES),
    }
    await decide(db, item, decision, changes)


async def undo_damaged(db: Kelifax, item: DamagedItem, undone: Decision, before: Mapping[str, Any]) -> None:
    """Take back the rejection of a damaged resource: its status and its listing are as they were."""
    if item.status != "rejected" or not before:
        raise DecisionTaken(item.status)
    restored = {name: str(before[name]) if name in before else None for name in RESTORED}
    await decide(db, item, undone, {**restored, "rejectedAt": "", "rejectionReason": ""})


def remember_listing(item: DamagedItem) -> dict[str, str]:
    """Return what undoing the rejection of a damaged resource restores."""
    return {name: item.text(name) for name in RESTORED if name in item.raw}


async def decide(db: Kelifax, item: DamagedItem, decision: Decision, changes: Mapping[str, str | None]) -> None:
    """Change attributes of a damaged resource, None removes one, with the audit entry; raise DecisionTaken."""
    note = {"Put": {"TableName": audit.physical_name, "Item": dump_item(decision)}}
    writes = [{"Update": guard(item, write_update(changes))}, note]
    try:
        await db.session.transport.call_async("TransactWriteItems", {"TransactItems": writes})
    except TransactionCanceledException:
        raise DecisionTaken("changed") from None


def write_update(changes: Mapping[str, str | None]) -> dict[str, Any]:
    """Return an update that sets texts and removes attributes."""
    kept = {f"#u{at}": (name, text) for at, (name, text) in enumerate(changes.items())}
    sets = [f"{short} = :{short[1:]}" for short, (_, text) in kept.items() if text is not None]
    removed = [short for short, (_, text) in kept.items() if text is None]
    parts = [f"SET {', '.join(sets)}" if sets else "", f"REMOVE {', '.join(removed)}" if removed else ""]
    return {
        "UpdateExpression": " ".join(part for part in parts if part),
        "ExpressionAttributeNames": {short: name for short, (name, _) in kept.items()},
        "ExpressionAttributeValues": {
            f":{short[1:]}": {"S": text} for short, (_, text) in kept.items() if text is not None
        },
    }


# ── what lists show ──────────────────────────────────────────────────────────────────────────────────────────────────
async def publish_damaged(db: Kelifax, item: DamagedItem, published_at: datetime) -> bool:
    """Put a damaged approved resource into the public lists, marked as damaged; return whether it was written."""
    update = {
        "UpdateExpression": "SET #p = if_not_exists(#p, :p), #f = :f, #c = :c, #d = :d",
        "ExpressionAttributeNames": {
            "#p": "publishedAt", "#f": "publicFeed", "#c": "publicCategory", "#d": "damage",
        },
        "ExpressionAttributeValues": {
            ":p": {"S": format_exact_time(published_at)}, ":f": {"S": "approved"},
            ":d": {"SS": list(item.public_reasons)}, ":c": {"S": item.text("category") or "other"},
        },
    }  # fmt: skip
    return await write_guarded(db, item, update)


def is_marked(item: DamagedItem) -> bool:
    """Return whether the public lists have a damaged resource, with the category and the reason that hold now."""
    marked = {str(reason) for reason in item.raw.get("damage", {}).get("SS", ())}
    listed = bool(item.text("publicFeed")) and item.text("publicCategory") == (item.text("category") or "other")
    return listed and marked == set(item.public_reasons)


def has_private_reason(raw: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether the mark of a resource is none that this version writes: it may quote a value."""
    mark = raw.get("damage")
    return mark is not None and not PUBLIC_REASONS.issuperset(mark.get("SS", [""]))


async def clear_damage(db: Kelifax, raw: Mapping[str, Mapping[str, Any]]) -> bool:
    """Take the mark off a resource that can be read again; return whether it was still what was read."""
    update = {
        "UpdateExpression": "REMOVE #d",
        "ExpressionAttributeNames": {"#d": "damage"},
    }
    return await write_guarded(db, DamagedItem(raw, ()), update)


async def move_listing(db: Kelifax, raw: Mapping[str, Mapping[str, Any]]) -> bool:
    """List a resource in the category that another program gave it; return whether it was still what was read."""
    update = {
        "UpdateExpression": "SET #c = :c",
        "ExpressionAttributeNames": {"#c": "publicCategory"},
        "ExpressionAttributeValues": {":c": dict(raw["category"])},
    }
    return await write_guarded(db, DamagedItem(raw, ()), update)


async def feature_damaged(db: Kelifax, item: DamagedItem, *, featured: bool) -> bool:
    """Start or end the feature of a damaged resource; return whether it was still what was read."""
    update = {
        "UpdateExpression": "SET #featured = :featured",
        "ExpressionAttributeNames": {"#featured": "featured"},
        "ExpressionAttributeValues": {":featured": {"BOOL": featured}},
    }
    return await write_guarded(db, item, update)


async def write_guarded(db: Kelifax, item: DamagedItem, update: dict[str, Any]) -> bool:
    """Update an item if it is still what was read; return whether it was."""
    try:
        await db.session.transport.call_async("UpdateItem", guard(item, update))
    except ServiceError:  # changed meanwhile: the stream has it again
        return False
    return True


async def unlist_stale(db: Kelifax, item: DamagedItem) -> None:
    """Take a resource out of the public lists that another program rejected without knowing them."""
    update = {
        "UpdateExpression": "REMOVE #p, #f, #c",
        "ExpressionAttributeNames": {"#p": "publishedAt", "#f": "publicFeed", "#c": "publicCategory"},
    }
    await write_guarded(db, item, update)


def guard(item: DamagedItem, update: dict[str, Any]) -> dict[str, Any]:
    """Return an update of a damaged item that is void if the item is no longer what was read."""
    key = guard_key(item)
    names = update["ExpressionAttributeNames"] | key["ExpressionAttributeNames"]
    values = update.get("ExpressionAttributeValues", {}) | key.get("ExpressionAttributeValues", {})
    merged = update | key | {"ExpressionAttributeNames": names}
    return merged | {"ExpressionAttributeValues": values} if values else merged


def guard_key(item: DamagedItem) -> dict[str, Any]:
    """Return the key of a damaged item, with the condition that it is still what was read."""
    names = {f"#g{number}": name for number, name in enumerate(WATCHED)}
    values = {f":{short[1:]}": dict(item.raw[name]) for short, name in names.items() if name in item.raw}
    unchanged = [
        f"{short} = :{short[1:]}" if name in item.raw else f"attribute_not_exists({short})"
        for short, name in names.items()
    ]
    return {
        "TableName": table.physical_name,
        "Key": {"resourceSlug": {"S": item.resource_slug}},
        "ConditionExpression": " AND ".join(["attribute_exists(resourceSlug)", *unchanged]),
        "ExpressionAttributeNames": names,
        **({"ExpressionAttributeValues": values} if values else {}),  # which must not be empty
    }
