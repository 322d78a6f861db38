"""Adopts a table of the original system, and repairs what its code writes beside ours.

- `adopt(dry_run)`: adds the missing tables and indexes, publishes approved resources with their `approvedAt`, writes
  URL claims, tags and links of persons, repairs lists of tags, and reports duplicates and damaged items. It may be
  repeated at any time.
- `follow()`: handles the changes since the last call, for the worker: an approval of the original's code joins the
  public lists, a rejection leaves them, another category or tag moves it, and a deletion takes everything with it.
- `repair(slug)`: the same for one resource.
- `replace_reasons()`: once, for the worker: earlier versions marked damaged items with reasons that may quote values.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hashrange import Clock, Conflict, Consumer, ItemChange, StreamTrimmed, View, Write
from hashrange.provision import apply, plan
from hashrange_systems.kelifax.model.content import read_content
from hashrange_systems.kelifax.model.public_entry import parse_time, read_stored_text
from hashrange_systems.kelifax.model.stored_list import normalise_tags, split_tags
from hashrange_systems.kelifax.model.web_address import normalise_url
from hashrange_systems.kelifax.record_item import Migration, PersonLink
from hashrange_systems.kelifax.schema import AnyResource, Approved, Kelifax, Published, UrlClaim, checkpoints
from hashrange_systems.kelifax.service.damaged_resource import (
    clear_damage,
    has_private_reason,
    is_marked,
    move_listing,
    publish_damaged,
    unlist_stale,
)
from hashrange_systems.kelifax.service.deletion import Deletion
from hashrange_systems.kelifax.service.publication import drop_tags, list_entry, write_tags
from hashrange_systems.kelifax.service.resource_read import (
    find_stored,
    interpret,
    read_ambiguous_slugs,
    read_everything,
    read_marked,
    read_misplaced_slugs,
    read_raw,
)
from hashrange_systems.kelifax.service.tag_repair import repair_tags
from hashrange_systems.kelifax.service.tolerant_read import DamagedItem
from hashrange_systems.shared.email_address import explain_email
from hashrange_systems.shared.epoch import EPOCH, to_second

log = logging.getLogger(__name__)

CONSUMER = "adoption"
AMBIGUOUS_SLUG = "a slug with # cannot be told from the key of a claim: it is left alone and not listed"
REASONS_REPLACED = "damage reasons"  # the name of the migration


class ChangedResource(View[Published]):
    """What the stream says about any resource, damaged or not."""

    resource_slug: str
    resource_url: Any = ""
    tags: Any = ""
    published_at: Any = ""

    @property
    def url(self) -> str:
        """The normal form of its URL; empty if there is none."""
        return normalise_url(self.resource_url) if isinstance(self.resource_url, str) else ""

    @property
    def tag_list(self) -> list[str]:
        """Its tags; none if they are not stored as the original does."""
        return split_tags(self.tags) if isinstance(self.tags, str) else list(self.tags or ())


@dataclass(frozen=True, slots=True)
class Claimant:
    """A resource that claims its URL."""

    slug: str
    url: str  # in its normal form
    owner: str
    approved: bool
    created_at: datetime

    @classmethod
    def of(cls, item: AnyResource | DamagedItem) -> Claimant:
        """Return the claimant of a resource, readable or damaged."""
        if isinstance(item, DamagedItem):
            url, created_at = normalise_url(item.text("resourceUrl")), parse_time(item.text("createdAt"))
            return cls(item.resource_slug, url, item.text("submissionId"), item.status == "approved", created_at)
        url, approved = normalise_url(item.resource_url), isinstance(item, Approved)
        return cls(item.resource_slug, url, item.submission_id, approved, parse_time(read_stored_text(item.created_at)))

    @property
    def rank(self) -> tuple[bool, datetime, str]:
        """The order of claimants of one URL: approved ones first, then the oldest."""
        return not self.approved, self.created_at, self.slug


@dataclass(frozen=True, slots=True)
class UrlConflict:
    """Two resources with one URL: the first in their rank keeps the claim."""

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
    tags: int = 0  # entries of lists of tags that were added or removed
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
        found.tags = await repair_tags(self.db, dry_run=dry_run)
        claimants: dict[str, list[Claimant]] = {}  # by URL
        async for item in read_everything(self.db):
            found.resources += 1
            if isinstance(item, DamagedItem):
                found.damaged[item.resource_slug] = item.reason
                found.published += await self._publish_damaged(item, dry_run=dry_run)
            else:
                await self._adopt(item, found, dry_run=dry_run)
            claimant = Claimant.of(item)
            claimants.setdefault(claimant.url, []).append(claimant)
        claimants.pop("", None)
        for rivals in claimants.values():
            await self._claim(sorted(rivals, key=lambda each: each.rank), found, dry_run=dry_run)
        if not dry_run:
            async for slug in read_misplaced_slugs(self.db):
                await self.repair(slug)
        async for slug in read_ambiguous_slugs(self.db):
            found.damaged[slug] = AMBIGUOUS_SLUG
        return found

    async def _adopt(self, item: AnyResource, found: AdoptionReport, *, dry_run: bool) -> None:
        if isinstance(item, Approved) and not isinstance(item, Published):
            found.published += 1
            if not dry_run:
                await self._publish(item)
        if item.search_text is None:
            found.completed += 1
            if not dry_run:
                text = read_content(item).make_search_text()
                with suppress(Conflict):
                    await self.db.complete(item.resource_slug, search_text=text, empty="")
        if dry_run:
            return
        if item.damage:
            await self.repair(item.resource_slug)
        if not explain_email(item.submitter_email):
            link = PersonLink(
                address=item.submitter_email,
                kind="submission",
                reference=item.resource_slug,
                created_at=item.created_at,
            )
            await self.db.put(link)

    async def _claim(self, rivals: Sequence[Claimant], found: AdoptionReport, *, dry_run: bool = False) -> None:
        """Claim the URL of resources for the first of them, and report the others, or who else has it."""
        first = rivals[0]
        held = await self.db.claim(first.url).consistent()
        holder = held.claimed_by if held is not None and is_held(held, self._now()) else None
        if holder in {rival.slug for rival in rivals[1:]}:
            if not dry_run:
                await self._release(first.url, str(holder))
            holder = None
        if holder is None:
            found.claimed += dry_run or await self._write_claim(first)
            holder = first.slug
        found.conflicts += [UrlConflict(rival.url, holder, rival.slug) for rival in rivals if rival.slug != holder]

    async def _write_claim(self, claimant: Claimant) -> bool:
        """Write a claim; return whether nobody was faster."""
        try:
            await self.db.reserve_url(
                claimant.url,
                claimed_by=claimant.slug,
                owner=claimant.owner,
                reserved_until=None,
                now=self._now(),
                epoch=EPOCH,
            )
        except Conflict:
            return False
        return True

    def _now(self) -> datetime:
        return to_second(self.clock.millis())

    async def _publish(self, item: Approved) -> None:
        at = item.approved_at
        writes: list[Write[Any]] = [self.db.publish(item, published_at=at), *list_entry(self.db, item, at)]
        with suppress(Conflict):  # decided meanwhile
            await self.db.transact_all(writes).unread()

    async def _publish_damaged(self, item: DamagedItem, *, dry_run: bool) -> bool:
        """Bring a damaged approved resource into the lists, with its mark; return whether it joins them."""
        if item.status != "approved":
            return False
        at = parse_time(item.text("publishedAt") or item.text("approvedAt") or item.text("createdAt"))
        if not dry_run:
            await self._list_tags(item, at)
        if is_marked(item):
            return False
        joins = not item.text("publicFeed")
        return (dry_run or await publish_damaged(self.db, item, at)) and joins

    async def _list_tags(self, item: DamagedItem, at: datetime) -> None:
        writes = write_tags(self.db, split_tags(item.text("tags")), at, item.resource_slug)
        if writes:
            await self.db.transact_all(writes).unread()

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
        former = change.before.url if change.before is not None else ""
        if change.after is not None:
            slug = change.after.resource_slug
            if former and former != change.after.url:
                await self._release(former, slug)
            await self.repair(slug)
            if change.before is not None and change.before.tag_list != change.after.tag_list:
                await self._move_tags(slug, change.before.tag_list)
        elif change.before is not None and change.event_name == "REMOVE":
            before = change.before
            at = parse_time(before.published_at) if isinstance(before.published_at, str) else EPOCH
            await self.deletion.sweep(before.resource_slug, former, before.tag_list, at)

    async def _release(self, url: str, slug: str) -> None:
        """Give the claim of a former URL back, which another program has changed."""
        with suppress(Conflict):  # it is somebody else's
            await self.db.release_own(url, claimed_by=slug)

    async def repair(self, slug: str) -> None:
        """Bring a resource into or out of the public lists, as its status says, and claim its URL."""
        raw = await read_raw(self.db, slug)
        if raw is None:
            return
        item = interpret(raw)
        if isinstance(item, DamagedItem):
            await self._publish_damaged(item, dry_run=False)
        elif isinstance(item, Approved) and not isinstance(item, Published):
            await self._publish(item)
        elif isinstance(item, Published):
            await self._mend_listing(raw)
        if "publicFeed" in raw and raw.get("resourceStatus") != {"S": "approved"}:
            await self._unlist(DamagedItem(raw, ()))
        found = AdoptionReport()
        if (claimant := Claimant.of(item)).url:
            await self._claim([claimant], found)
        for conflict in found.conflicts:
            log.warning(
                "two resources have one URL", extra={"fields": {"kept": conflict.kept, "other": conflict.other}}
            )

    async def _mend_listing(self, raw: Mapping[str, Mapping[str, Any]]) -> None:
        """Take the mark off a resource that can be read again, and list it in the category that it has now."""
        if "damage" in raw:
            await clear_damage(self.db, raw)
        elif raw.get("publicCategory") != raw.get("category"):
            await move_listing(self.db, raw)

    async def _unlist(self, item: DamagedItem) -> None:
        """Take a resource out of all lists that another program rejected without knowing them."""
        await unlist_stale(self.db, item)
        at = parse_time(item.text("publishedAt"))
        await self.deletion.unlist_tags(split_tags(item.text("tags")), at, item.resource_slug)

    async def _move_tags(self, slug: str, former: Sequence[str]) -> None:
        """List a published resource under its tags, and no longer under its former ones."""
        item = await find_stored(self.db, slug)
        if isinstance(item, DamagedItem) and item.text("publicFeed"):
            at, tags = parse_time(item.text("publishedAt")), split_tags(item.text("tags"))
        elif isinstance(item, Published):
            at, tags = item.published_at, item.tags
        else:
            return
        gone = [tag for tag in normalise_tags(former) if tag not in normalise_tags(tags)]
        writes = [*drop_tags(self.db, gone, at, slug), *write_tags(self.db, tags, at, slug)]
        if writes:
            await self.db.transact_all(writes).unread()

    # ── items of earlier versions ────────────────────────────────────────────────────────────────────────────────────
    async def replace_reasons(self) -> int:
        """Replace the reasons of damage that may quote values, in the whole table, once; return how many."""
        if await self.db.migration(REASONS_REPLACED) is not None:
            return 0
        marked = [raw async for raw in read_marked(self.db) if has_private_reason(raw)]
        written = [await self._replace_reason(raw) for raw in marked]
        if all(written):
            await self.db.put(Migration(name=REASONS_REPLACED, finished_at=self._now()))
        return sum(written)

    async def _replace_reason(self, raw: Mapping[str, Mapping[str, Any]]) -> bool:
        """Write the reason that holds now, or none if the resource is not public; return whether it was written."""
        item = interpret(raw)
        if isinstance(item, DamagedItem) and item.status == "approved":
            return await publish_damaged(self.db, item, parse_time(item.text("approvedAt") or item.text("createdAt")))
        return await clear_damage(self.db, raw)


def is_held(claim: UrlClaim, now: datetime) -> bool:
    """Return whether a claim holds: it is kept, or reserved by a submission that may still be confirmed."""
    return claim.reserved_until is None or claim.reserved_until > now
