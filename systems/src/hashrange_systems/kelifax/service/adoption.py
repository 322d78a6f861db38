"""Adopts a table of the original system, and repairs what its code writes beside ours.

- `adopt(dry_run)`: adds the missing tables and indexes, publishes approved resources with their `approvedAt`, writes
  URL claims, tags and links of persons, and reports duplicates and damaged items. It may be repeated at any time.
- `follow()`: handles the changes since the last call, for the worker: an approval of the original's code joins the
  public lists, a rejection leaves them, and a deletion takes everything with it.
- `repair(slug)`: the same for one resource.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from hashrange import Clock, Conflict, Consumer, ItemChange, StreamTrimmed, Unreadable, View, Write, load_item
from hashrange.provision import apply, plan
from hashrange_systems.kelifax.model.public_entry import parse_time
from hashrange_systems.kelifax.model.search_text import make_search_text
from hashrange_systems.kelifax.model.web_address import normalise_url
from hashrange_systems.kelifax.record_item import PersonLink
from hashrange_systems.kelifax.schema import Approved, Kelifax, Published, Resource, checkpoints, table
from hashrange_systems.kelifax.service.damaged import publish_damaged, unlist_stale
from hashrange_systems.kelifax.service.deletion import Deletion
from hashrange_systems.kelifax.service.publication import list_entry
from hashrange_systems.kelifax.service.tolerant_read import DamagedItem, read_all
from hashrange_systems.shared.email_address import explain_email
from hashrange_systems.shared.epoch import EPOCH, to_second

CONSUMER = "adoption"


class ChangedResource(View[Resource]):
    """What the stream tells about any resource, damaged or not."""

    resource_slug: str
    resource_url: str


@dataclass(frozen=True, slots=True)
class UrlConflict:
    """Two resources with one URL: the first keeps the claim."""

    url: str
    kept: str
    other: str


@dataclass(slots=True)
class AdoptionReport:
    """What an adoption found and did; with `dry_run` what it would do."""

    steps: list[str] = field(default_factory=list)  # changes of tables
    resources: int = 0
    published: int = 0  # joined the public lists
    claimed: int = 0
    completed: int = 0  # got a search text
    conflicts: list[UrlConflict] = field(default_factory=list)
    damaged: dict[str, str] = field(default_factory=dict)  # the reason by slug


@dataclass(frozen=True, slots=True)
class Adoption:
    """Brings the tables of the original system into the form of this one."""

    db: Kelifax
    clock: Clock
    deletion: Deletion
    patterns: tuple[Any, ...] = (Kelifax,)

    # ── the whole table ──────────────────────────────────────────────────────────────────────────────────────────────
    async def adopt(self, *, dry_run: bool = False, report: Callable[[str], None] | None = None) -> AdoptionReport:
        """Adopt the table; raise PlanError if it is another one."""
        found = AdoptionReport()
        transport = self.db.session.transport
        changes = await asyncio.to_thread(plan, transport, *self.patterns)
        found.steps = [step.action for step in changes.steps if not step.loses]
        if not dry_run:
            for step in await asyncio.to_thread(apply, transport, changes):
                (report or str)(step.action)
        async for item in read_all(self.db.everything(), "created_at"):
            found.resources += 1
            if isinstance(item, DamagedItem):
                found.damaged[item.resource_slug] = item.reason
                found.published += await self._publish_damaged(item, dry_run=dry_run)
            else:
                await self._adopt(item, found, dry_run=dry_run)
        return found

    async def _adopt(self, item: Resource, found: AdoptionReport, *, dry_run: bool) -> None:
        if isinstance(item, Approved) and not isinstance(item, Published):
            found.published += 1
            if not dry_run:
                await self._publish(item)
        if item.search_text is None:
            found.completed += 1
            if not dry_run:
                text = make_search_text(item.resource_name, item.tags, item.category, item.key_features)
                with suppress(Conflict):
                    await self.db.complete(item.resource_slug, search_text=text, empty="")
        await self._claim(item, found, dry_run=dry_run)
        if not dry_run and not explain_email(item.submitter_email):
            link = PersonLink(
                address=item.submitter_email,
                kind="submission",
                reference=item.resource_slug,
                created_at=item.created_at,
            )
            await self.db.put(link)

    async def _claim(self, item: Resource, found: AdoptionReport, *, dry_run: bool) -> None:
        url = normalise_url(item.resource_url)
        held = await self.db.claim(url).consistent()
        if held is not None and held.claimed_by == item.resource_slug:
            return
        if held is not None and held.reserved_until is None:
            found.conflicts.append(UrlConflict(url, held.claimed_by, item.resource_slug))
            return
        found.claimed += 1
        if not dry_run:
            await self._write_claim(url, item)

    async def _write_claim(self, url: str, item: Resource) -> None:
        now = to_second(self.clock.millis())
        with suppress(Conflict):  # another process was faster
            await self.db.reserve_url(
                url,
                claimed_by=item.resource_slug,
                owner=item.submission_id,
                reserved_until=None,
                now=now,
                epoch=EPOCH,
            )

    async def _publish(self, item: Approved) -> None:
        at = item.approved_at
        writes: list[Write[Any]] = [self.db.publish(item, published_at=at), *list_entry(self.db, item, at)]
        with suppress(Conflict):  # decided meanwhile
            await self.db.transact_all(writes).unread()

    async def _publish_damaged(self, item: DamagedItem, *, dry_run: bool) -> bool:
        if item.status != "approved" or item.text("publicFeed"):
            return False
        return dry_run or await publish_damaged(self.db, item, parse_time(item.text("approvedAt")))

    # ── changes ──────────────────────────────────────────────────────────────────────────────────────────────────────
    def make_consumer(self) -> Consumer:
        """Return the consumer of the stream that repairs what changed; `await` it."""
        consumer = self.db.consumer(CONSUMER, checkpoints, attempts=2)
        consumer.on(ChangedResource)(self._handle)
        return consumer

    async def follow(self, consumer: Consumer) -> None:
        """Handle the changes since the last call; adopt everything if some were missed."""
        try:
            await consumer
        except Conflict:  # another process does so at this moment
            return
        except StreamTrimmed:
            await consumer.forget()
            await self.adopt()

    async def _handle(self, change: ItemChange[ChangedResource]) -> None:
        if change.after is not None:
            await self.repair(change.after.resource_slug)
        elif change.before is not None and change.event_name == "REMOVE":
            await self.deletion.sweep(change.before.resource_slug, change.before.resource_url)

    async def repair(self, slug: str) -> None:
        """Bring a resource into or out of the public lists, as its status says."""
        request = {"TableName": table.physical_name, "Key": {"resourceSlug": {"S": slug}}, "ConsistentRead": True}
        raw = (await self.db.session.transport.call_async("GetItem", request)).get("Item")
        if raw is None:
            return
        try:
            item = load_item([Published, Approved, Resource], raw)
        except Unreadable as error:
            item = None
            await self._publish_damaged(DamagedItem.from_error(error), dry_run=False)
        if isinstance(item, Approved) and not isinstance(item, Published):
            await self._publish(item)
        elif not isinstance(item, Approved) and "publicFeed" in raw and raw["resourceStatus"] != {"S": "approved"}:
            await unlist_stale(self.db, DamagedItem(raw, "stale"))
