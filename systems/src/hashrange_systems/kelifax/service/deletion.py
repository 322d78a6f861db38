"""Deletes a resource with everything that belongs to it: claim, aliases, counters, tags, reviews, votes.

The resource goes in one transaction with its URL claim and the audit entry; the rest afterwards, and again if it was
interrupted: `delete` may be repeated until it reports that nothing is left. The audit entries stay.
The logo is deleted by `logos.LogoConsumer`, which sees the deletion in the stream, unless another resource uses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hashrange import Clock, Conflict, Item, TransactionCanceledException, Write, dump_item
from hashrange_systems.kelifax.errors import DecisionTaken
from hashrange_systems.kelifax.model.public_entry import parse_time
from hashrange_systems.kelifax.model.stored_list import split_tags
from hashrange_systems.kelifax.model.web_address import normalise_url
from hashrange_systems.kelifax.schema import Decision, Kelifax, Resource, audit
from hashrange_systems.kelifax.service.actor import Actor
from hashrange_systems.kelifax.service.damaged_resource import guard_key
from hashrange_systems.kelifax.service.publication import drop_tags, unlist_entry
from hashrange_systems.kelifax.service.resource_read import find_any, find_stored, next_moment
from hashrange_systems.kelifax.service.tolerant_read import DamagedItem
from hashrange_systems.shared.errors import ResourceMissing

AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class Deletion:
    """Deletes resources."""

    db: Kelifax
    clock: Clock

    async def delete(self, slug: str, actor: Actor, reason: str = "") -> None:
        """Delete a resource; raise ResourceMissing if nothing is left of it."""
        actor.require_admin("delete resources")
        try:
            found = await find_any(self.db, slug)
        except ResourceMissing:
            if not await self._delete_rest(slug):
                raise
            return
        decision = Decision(
            resource_slug=slug,
            decided_at=await next_moment(self.db, self.clock, slug),
            actor=actor.name,
            verdict="deleted",
            reason=reason or None,
        )
        if isinstance(found, DamagedItem):
            await self._delete_damaged(found, decision)
        else:
            await self._delete_readable(found, decision)
        await self._delete_rest(slug)

    async def _delete_readable(self, resource: Resource, decision: Decision) -> None:
        slug = resource.resource_slug
        writes: list[Write[Any]] = [
            self.db.drop(slug, submission_id=resource.submission_id),
            self.db.create(decision),
            *unlist_entry(self.db, resource),
        ]
        claim = await self.db.claim(normalise_url(resource.resource_url)).consistent()
        if claim is not None and claim.claimed_by == slug:
            writes.append(self.db.release(claim.resource_url, claimed_by=slug))
        try:
            await self.db.transact_all(writes).unread()
        except Conflict:
            raise DecisionTaken("changed") from None

    async def _delete_damaged(self, item: DamagedItem, decision: Decision) -> None:
        writes: list[dict[str, Any]] = [
            {"Delete": guard_key(item)},
            {"Put": {"TableName": audit.physical_name, "Item": dump_item(decision)}},
        ]
        try:
            await self.db.session.transport.call_async("TransactWriteItems", {"TransactItems": writes})
        except TransactionCanceledException:
            raise DecisionTaken("changed") from None
        published_at = parse_time(item.text("publishedAt") or item.text("approvedAt"))
        await self.unlist_tags(split_tags(item.text("tags")), published_at, item.resource_slug)
        url = normalise_url(item.text("resourceUrl"))
        claim = await self.db.claim(url).consistent() if url else None
        if claim is not None and claim.claimed_by == item.resource_slug:
            await self.db.release(claim.resource_url, claimed_by=item.resource_slug)

    async def sweep(self, slug: str, url: str, tags: Sequence[str], published_at: datetime) -> None:
        """Delete what is left of a resource that another program deleted, or ours while it was approved."""
        claim = await self.db.claim(url).consistent() if (url := normalise_url(url)) else None
        if await find_stored(self.db, slug) is not None:
            return  # it was submitted again
        if claim is not None and claim.claimed_by == slug and claim.reserved_until is None:
            await self.db.release(claim.resource_url, claimed_by=slug)
        await self.unlist_tags(tags, published_at, slug)
        await self._delete_rest(slug)

    async def unlist_tags(self, tags: Sequence[str], published_at: datetime, slug: str) -> None:
        """Take a resource off the lists of its tags."""
        if writes := drop_tags(self.db, tags, published_at, slug):
            await self.db.transact_all(writes).unread()

    async def _delete_rest(self, slug: str) -> bool:
        """Delete what is stored beside a resource; return whether there was anything."""
        left: list[Item] = [alias async for alias in self.db.aliases() if alias.slug == slug]
        single = (
            self.db.score(slug),
            self.db.link(slug),
            self.db.link_report(slug),
            self.db.views(slug),
            self.db.feature_plan(slug),
            self.db.hold_of(slug),
        )
        left += [item for get in single if (item := await get.consistent()) is not None]
        reservation = await self.db.unconfirmed(slug).consistent()
        if reservation is not None and reservation.form is None:  # else it is of a submission that may be confirmed
            left.append(reservation)
        for query in (
            self.db.votes(slug),
            self.db.reviews(slug),
            self.db.ownerships(slug),
            self.db.suggestions(slug),
            self.db.revisions(slug),
            self.db.trend(slug),
        ):
            left += await query.consistent().with_expired()
        if left:
            await self.db.batch(delete=left)
        return bool(left)
