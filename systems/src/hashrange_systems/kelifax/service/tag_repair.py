"""Brings the lists of tags in step with the resources, for `adopt`.

Their entries are stale when another program changed tags while no worker followed, and when an earlier version left
some behind. What the public lists lack is left to `adopt`, which publishes it with its tags.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from hashrange import ResourceNotFoundException
from hashrange_systems.kelifax.model.public_entry import parse_time
from hashrange_systems.kelifax.model.stored_list import split_tags
from hashrange_systems.kelifax.schema import AnyResource, Kelifax, Published
from hashrange_systems.kelifax.service.publication import choose_tags, drop_tags, write_tags
from hashrange_systems.kelifax.service.resource_read import find_stored, read_everything
from hashrange_systems.kelifax.service.tolerant_read import DamagedItem

AT_ONCE = 50  # writes of one transaction


class TagListing(NamedTuple):
    """That a resource is in the list of a tag, at a place in its order."""

    tag: str
    at: datetime


async def repair_tags(db: Kelifax, *, dry_run: bool = False) -> int:
    """Add the entries that lists of tags lack, and remove the stale ones; return how many."""
    stored = await _read_listings(db)
    changed = 0
    async for item in read_everything(db):
        changed += await _repair(db, item.resource_slug, item, stored.pop(item.resource_slug, set()), dry_run=dry_run)
    for slug, left in stored.items():
        changed += await _repair(db, slug, await find_stored(db, slug), left, dry_run=dry_run)
    return changed


async def _read_listings(db: Kelifax) -> dict[str, set[TagListing]]:
    """Return the entries of all lists of tags by the slugs of their resources; none if there is no table yet."""
    found: dict[str, set[TagListing]] = {}
    try:
        async for entry in db.all_tag_entries().skip_unreadable():
            found.setdefault(entry.slug, set()).add(TagListing(entry.tag, _to_second(entry.published_at)))
    except ResourceNotFoundException:  # a dry run creates none
        return {}
    return found


async def _repair(
    db: Kelifax, slug: str, item: AnyResource | DamagedItem | None, stored: set[TagListing], *, dry_run: bool
) -> int:
    if _list_expected(item) == stored:
        return 0
    expected = _list_expected(await find_stored(db, slug))  # the scan may have read it before a change
    missing, stale = sorted(expected - stored), sorted(stored - expected)
    if not dry_run:
        writes = [write for each in stale for write in drop_tags(db, [each.tag], each.at, slug)]
        writes += [write for each in missing for write in write_tags(db, [each.tag], each.at, slug)]
        for start in range(0, len(writes), AT_ONCE):
            await db.transact_all(writes[start : start + AT_ONCE]).unread()
    return len(missing) + len(stale)


def _list_expected(item: AnyResource | DamagedItem | None) -> set[TagListing]:
    """Return the lists that have a resource: those of its tags while the public lists have it."""
    if isinstance(item, DamagedItem) and item.status == "approved" and item.text("publicFeed"):
        at, tags = parse_time(item.text("publishedAt")), split_tags(item.text("tags"))
    elif isinstance(item, Published):
        at, tags = item.published_at, item.tags
    else:
        return set()
    return {TagListing(tag, _to_second(at)) for tag in choose_tags(tags)}


def _to_second(moment: datetime) -> datetime:
    """Return the time that the key of an entry has."""
    return moment.replace(microsecond=0)
