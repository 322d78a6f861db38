"""The writes that put a resource under its tags and into the link checker, and take it out again.

They belong into the transaction that publishes or unpublishes the resource.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from hashrange import Write
from hashrange_systems.kelifax.model.stored_list import normalise_tags
from hashrange_systems.kelifax.schema import Kelifax, Published, Resource
from hashrange_systems.kelifax.visitor_item import LinkState, TagEntry

FIRST_CHECK = timedelta(hours=1)
SPREAD_S = 86_400  # so that resources that were imported together are not checked together
MAX_TAGS = 30
MAX_TAG_BYTES = 1000  # of a tag that has a list; the original system accepts longer ones than a key may be


def list_entry(db: Kelifax, resource: Resource, published_at: datetime) -> list[Write[Any]]:
    """Return the writes for a resource that is published."""
    slug = resource.resource_slug
    spread = int(hashlib.sha256(slug.encode()).hexdigest()[:8], 16) % SPREAD_S
    link = LinkState(slug=slug, due_at=published_at + FIRST_CHECK + timedelta(seconds=spread))
    return [*write_tags(db, resource.tags, published_at, slug), db.put(link)]


def unlist_entry(db: Kelifax, resource: Resource, *, keep_link: bool = False) -> list[Write[Any]]:
    """Return the writes for a resource that is no longer published."""
    slug = resource.resource_slug
    writes: list[Write[Any]] = [db.drop_feature(slug)]
    if not keep_link:
        writes.append(db.drop_link_state(slug))
    if isinstance(resource, Published):
        writes += drop_tags(db, resource.tags, resource.published_at, slug)
    return writes


def update_entry(db: Kelifax, resource: Published, tags: Sequence[str]) -> list[Write[Any]]:
    """Return the writes for a published resource whose tags change."""
    slug, at = resource.resource_slug, resource.published_at
    old, new = choose_tags(resource.tags), choose_tags(tags)
    gone = [db.drop_tag_entry(tag, at, slug) for tag in old if tag not in new]
    return [*gone, *write_tags(db, [tag for tag in new if tag not in old], at, slug)]


def write_tags(db: Kelifax, tags: Sequence[str], at: datetime, slug: str) -> list[Write[Any]]:
    """Return the writes that list a resource under its tags."""
    return [db.put(TagEntry(tag=tag, published_at=at, slug=slug)) for tag in choose_tags(tags)]


def drop_tags(db: Kelifax, tags: Sequence[str], at: datetime, slug: str) -> list[Write[Any]]:
    """Return the writes that take a resource off the lists of its tags."""
    return [db.drop_tag_entry(tag, at, slug) for tag in choose_tags(tags)]


def choose_tags(tags: Sequence[str]) -> list[str]:
    """Return the tags of a resource that have lists, in the form of their keys."""
    return [tag for tag in normalise_tags(tags) if len(tag.encode()) <= MAX_TAG_BYTES][:MAX_TAGS]
