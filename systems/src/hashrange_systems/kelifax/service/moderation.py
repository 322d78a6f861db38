"""Moderation: the queue, and every decision on a resource. Each decision is one transaction with its audit entry.

- `queue(size, after)`: what waits, oldest first, damaged entries too; `rejected(size, after)`, `live(size, after)`.
- `read_detail(slug)`: everything about a resource for a moderator, personal data included.
- `hold(slug, actor)`, `release_hold(slug, actor)`: a lease on a resource while it is reviewed.
- `approve`, `reject`, `unpublish`: of two moderators one wins; the other gets DecisionTaken with what happened.
- `undo(slug, actor)`: takes back the latest decision on the status within ten minutes; its mail was not sent yet.
- `feature(slug, actor, starts_at, ends_at)`, `unfeature(slug, actor)`: `run_due_features()` is for the worker.
- `edit(slug, fields, actor)`, `add_alias(slug, alias, actor)`, `bulk(action, slugs, actor, reason)`, `history(slug)`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from hashrange import Clock, Conflict, Taken, Write
from hashrange_systems.kelifax.errors import AlreadyListed, DecisionTaken, ExistingEntry, HeldByAnother
from hashrange_systems.kelifax.model.content import Content, read_content
from hashrange_systems.kelifax.model.draft import apply_changes, find_changes
from hashrange_systems.kelifax.model.public_entry import parse_time
from hashrange_systems.kelifax.model.slug import SLUG
from hashrange_systems.kelifax.record_item import FeaturePlan, Hold, Verdict
from hashrange_systems.kelifax.schema import (
    Alias,
    AnyResource,
    Approved,
    Decision,
    Kelifax,
    Pending,
    Published,
    Rejected,
    Resource,
)
from hashrange_systems.kelifax.service.actor import Actor
from hashrange_systems.kelifax.service.damaged_resource import (
    feature_damaged,
    reject_damaged,
    remember_listing,
    undo_damaged,
)
from hashrange_systems.kelifax.service.duplicates import Duplicates
from hashrange_systems.kelifax.service.mails import Mailer
from hashrange_systems.kelifax.service.moderation_detail import (
    STATUS_VERDICTS,
    ModerationDetail,
    read_moderation_detail,
)
from hashrange_systems.kelifax.service.publication import list_entry, unlist_entry, update_entry
from hashrange_systems.kelifax.service.resource_read import find_any, find_resource, find_stored, next_moment
from hashrange_systems.kelifax.service.submissions import (
    HasLogo,
    make_revision,
    move_claim,
    require_uploaded,
    store_content,
)
from hashrange_systems.kelifax.service.time_ordered_list import OrderedPage
from hashrange_systems.kelifax.service.tolerant_read import DamagedItem, read_time_page
from hashrange_systems.shared.email_address import explain_email
from hashrange_systems.shared.epoch import from_ms, to_second
from hashrange_systems.shared.errors import (
    ApplicationError,
    EditConflict,
    FieldError,
    InvalidInput,
    LimitReached,
    ResourceMissing,
    StateConflict,
)

LEASE = timedelta(minutes=10)
UNDO_WITHIN = timedelta(minutes=10)
MAX_REASON = 500
MAX_BULK = 100
MAX_QUEUE_PAGE = 100

RecordLogo = Callable[[str, str], Awaitable[None]]  # name and slug


@dataclass(frozen=True, slots=True)
class BulkOutcome:
    """What became of one resource of a bulk action; `error` is for the moderator."""

    slug: str
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Moderation:
    """Decides on resources."""

    db: Kelifax
    clock: Clock
    mailer: Mailer
    duplicates: Duplicates
    has_logo: HasLogo | None = None  # whether a logo of this name was uploaded
    record_logo: RecordLogo | None = None  # that a resource uses a logo

    # ── lists ────────────────────────────────────────────────────────────────────────────────────────────────────────
    async def queue(self, size: int = 20, after: str | None = None) -> OrderedPage[Pending | DamagedItem]:
        """Return a page of what waits, oldest first."""
        return await read_time_page(self.db.pending, "pending", "created_at", min(size, MAX_QUEUE_PAGE), after)

    async def rejected(self, size: int = 20, after: str | None = None) -> OrderedPage[Rejected | DamagedItem]:
        """Return a page of rejected resources, newest first."""
        return await read_time_page(self.db.rejected, "rejected", "created_at", min(size, MAX_QUEUE_PAGE), after)

    async def live(self, size: int = 20, after: str | None = None) -> OrderedPage[Approved | DamagedItem]:
        """Return a page of approved resources, newest first, those of the original system too."""
        return await read_time_page(self.db.approved, "approved", "created_at", min(size, MAX_QUEUE_PAGE), after)

    async def submitted_since(self, day: datetime, size: int = 100) -> Sequence[Pending]:
        """Return what was submitted on a day or after it and waits, newest first: `createdAt > "2025-10-01"`.

        Compared as text, every time of that day is greater than its date alone, whatever the width of its fraction.
        """
        return await self.db.pending_since(day - timedelta(seconds=1)).skip_unreadable().limit(size)

    async def read_detail(self, slug: str) -> ModerationDetail:
        """Return everything about a resource; raise ResourceMissing."""
        found = await find_any(self.db, slug)
        return await read_moderation_detail(self.db, self.duplicates, slug, found, await self.find_hold(slug))

    async def history(self, slug: str) -> Sequence[Decision]:
        """Return all decisions on a resource, latest first; they stay when it is deleted."""
        return await self.db.decisions(slug)

    # ── holds ────────────────────────────────────────────────────────────────────────────────────────────────────────
    async def find_hold(self, slug: str) -> Hold | None:
        """Return who reviews a resource; None if nobody does."""
        hold = await self.db.hold_of(slug).consistent()
        return hold if hold and hold.held_until > from_ms(self.clock.millis()) else None

    async def find_holders(self, slugs: Sequence[str]) -> dict[str, str]:
        """Return who reviews which of these resources."""
        found = await self.db.fetch([self.db.hold_of(slug) for slug in dict.fromkeys(slugs)]) if slugs else []
        now = from_ms(self.clock.millis())
        return {hold.slug: hold.moderator for hold in found if hold is not None and hold.held_until > now}

    async def hold(self, slug: str, actor: Actor) -> Hold:
        """Take or extend the lease on a resource; raise HeldByAnother."""
        await find_any(self.db, slug)
        now = from_ms(self.clock.millis())
        until = now + LEASE
        try:
            return await self.db.hold(slug, actor.name, held_until=until, expires_at=until + LEASE, now=now)
        except Conflict as conflict:
            holder = conflict.current.moderator if isinstance(conflict.current, Hold) else "Another moderator"
            raise HeldByAnother(holder) from None

    async def release_hold(self, slug: str, actor: Actor) -> None:
        """Give a lease back."""
        with suppress(Conflict):
            await self.db.release_hold(slug, moderator=actor.name)

    # ── decisions ────────────────────────────────────────────────────────────────────────────────────────────────────
    async def approve(self, slug: str, actor: Actor) -> Decision:
        """Publish a pending resource."""
        resource = await self._find_pending(slug, actor)
        await self._use_logo(resource.logo_image, slug)
        now = to_second(self.clock.millis())
        decision = await self._make_decision(slug, actor, "approved", before={"featured": resource.featured})
        return await self._decide(
            decision,
            [
                self.db.approve(resource, approved_at=now, published_at=now),
                *list_entry(self.db, resource, now),
                *self._mail("submission-approved", resource, decision),
            ],
        )

    async def reject(self, slug: str, actor: Actor, reason: str) -> Decision:
        """Reject a pending resource, or a damaged one in any state."""
        reason = check_reason(reason)
        found = await find_any(self.db, slug)
        if isinstance(found, DamagedItem):
            decision = await self._make_decision(slug, actor, "rejected", reason, remember_listing(found))
            await reject_damaged(self.db, found, decision, to_second(self.clock.millis()))
            return decision
        resource = await self._find_pending(slug, actor)
        decision = await self._make_decision(slug, actor, "rejected", reason)
        now = to_second(self.clock.millis())
        return await self._decide(
            decision,
            [
                self.db.reject(resource, rejected_at=now, rejection_reason=reason),
                *self._mail("submission-rejected", resource, decision),
            ],
        )

    async def unpublish(self, slug: str, actor: Actor, reason: str, guard: Sequence[Write[Any]] = ()) -> Decision:
        """Take an approved resource off the site; `guard` are further writes of the same transaction."""
        reason = check_reason(reason)
        resource = await find_resource(self.db, slug)
        if not isinstance(resource, Approved):
            raise await self._explain(slug)
        before = remember_publication(resource, await self.db.feature_plan(slug).consistent())
        decision = await self._make_decision(slug, actor, "unpublished", reason, before)
        now = to_second(self.clock.millis())
        return await self._decide(
            decision,
            [
                self.db.unpublish(resource, rejected_at=now, rejection_reason=reason, featured=False),
                *unlist_entry(self.db, resource, keep_link=bool(guard)),
                *self._mail("submission-unpublished", resource, decision),
                *guard,
            ],
        )

    async def _find_pending(self, slug: str, actor: Actor) -> Pending:
        resource = await find_resource(self.db, slug)
        if not isinstance(resource, Pending):
            raise await self._explain(slug)
        hold = await self.find_hold(slug)
        if hold is not None and hold.moderator != actor.name:
            raise HeldByAnother(hold.moderator)
        return resource

    async def _make_decision(
        self, slug: str, actor: Actor, verdict: Verdict, reason: str | None = None, before: Any = None
    ) -> Decision:
        at = await next_moment(self.db, self.clock, slug)
        return Decision(
            resource_slug=slug, decided_at=at, actor=actor.name, verdict=verdict, reason=reason, before=before
        )

    async def _decide(self, decision: Decision, writes: Sequence[Write[Any]]) -> Decision:
        """Write a decision with what it changes; raise DecisionTaken if somebody was faster."""
        slug = decision.resource_slug
        try:
            await self.db.transact_all([*writes, self.db.create(decision), self.db.drop_hold(slug)]).unread()
        except Conflict:
            raise await self._explain(slug) from None
        return decision

    async def _explain(self, slug: str) -> DecisionTaken:
        """Return the error of a moderator who was too late."""
        resource = await find_resource(self.db, slug)
        latest = await self._find_status_decision(slug)
        return DecisionTaken(resource.resource_status, latest.actor if latest else None)

    async def _find_status_decision(self, slug: str) -> Decision | None:
        """Return the latest decision on the status; later ones about reviews, reports or features do not count."""
        async for decision in self.db.decisions(slug).consistent():
            if decision.verdict in STATUS_VERDICTS:
                return decision
        return None

    def _mail(self, topic: str, resource: AnyResource, decision: Decision) -> list[Write[Any]]:
        """Return the write of a mail to the submitter, sent when the decision cannot be undone any more."""
        slug, address = resource.resource_slug, resource.submitter_email
        if explain_email(address):  # erased, or one that the original system accepted
            return []
        content = {
            "name": resource.resource_name,
            "slug": slug,
            "reason": decision.reason or "",
            "words": [slug, resource.submission_id],
        }
        return self.mailer.write_all(
            topic, address, name_cause(decision), content, UNDO_WITHIN // timedelta(milliseconds=1)
        )

    # ── undo ─────────────────────────────────────────────────────────────────────────────────────────────────────────
    async def undo(self, slug: str, actor: Actor) -> Decision:
        """Take back the latest decision on the status, within ten minutes, by who made it or by an admin."""
        latest = await self._find_status_decision(slug)
        if latest is None or latest.verdict not in UNDONE_BY:
            raise StateConflict("There is no decision that can be undone.")
        if latest.actor != actor.name:
            actor.require_admin("undo decisions of others")
        if from_ms(self.clock.millis()) - latest.decided_at > UNDO_WITHIN:
            raise StateConflict("It is too late to undo this: it was decided more than ten minutes ago.")
        resource = await find_any(self.db, slug)
        if isinstance(resource, DamagedItem):
            undone = await self._make_decision(slug, actor, "undone", f"{latest.verdict} by {latest.actor}")
            await undo_damaged(self.db, resource, undone, latest.before or {})
            return undone
        topic, writes = self._write_undo(latest, resource)
        if not explain_email(resource.submitter_email):
            writes += await self.mailer.withdraw(topic, resource.submitter_email, slug)
        undone = await self._make_decision(slug, actor, "undone", f"{latest.verdict} by {latest.actor}")
        return await self._decide(undone, writes)

    def _write_undo(self, latest: Decision, resource: AnyResource) -> tuple[str, list[Write[Any]]]:
        topic = UNDONE_BY[latest.verdict]
        before = latest.before or {}
        featured = bool(before.get("featured", resource.featured))
        if latest.verdict == "approved" and isinstance(resource, Approved):
            undo: Write[Any] = self.db.undo_approval(resource, seen=resource.approved_at, featured=featured)
            return topic, [undo, *unlist_entry(self.db, resource)]
        was_listed = latest.verdict == "unpublished" or before.get("resourceStatus") == "approved"
        if latest.verdict == "rejected" and isinstance(resource, Rejected) and not was_listed:
            return topic, [self.db.undo_rejection(resource, seen=resource.rejected_at)]
        if was_listed and isinstance(resource, Rejected):  # a damaged one may have been mended since
            approved_at = parse_time(before.get("approvedAt") or before["publishedAt"])
            published_at = parse_time(before.get("publishedAt") or before["approvedAt"])
            undo = self.db.republish(
                resource,
                seen=resource.rejected_at,
                approved_at=approved_at,
                published_at=published_at,
                featured=featured,
            )
            plan = [self.db.put(FeaturePlan.model_validate(before["plan"]))] if "plan" in before else []
            return topic, [undo, *list_entry(self.db, resource, published_at), *plan]
        raise DecisionTaken(resource.resource_status)

    # ── features ─────────────────────────────────────────────────────────────────────────────────────────────────────
    async def feature(
        self, slug: str, actor: Actor, starts_at: datetime | None = None, ends_at: datetime | None = None
    ) -> FeaturePlan:
        """Feature an approved resource, now or from a time on, for ever or until a time."""
        now = to_second(self.clock.millis())
        starts_at = max(starts_at or now, now)
        if ends_at is not None and ends_at <= starts_at:
            raise InvalidInput([FieldError("endsAt", "must be after the start")])
        resource = await find_resource(self.db, slug)
        if not isinstance(resource, Approved):
            raise await self._explain(slug)
        plan = FeaturePlan(slug=slug, starts_at=starts_at, ends_at=ends_at, actor=actor.name, due_at=starts_at)
        decision = await self._make_decision(slug, actor, "featured", describe_plan(plan))
        await self._decide(decision, [self.db.put(plan), self.db.is_approved(resource)])
        await self._run_feature(slug)
        return plan

    async def unfeature(self, slug: str, actor: Actor) -> Decision:
        """End a feature, or a planned one."""
        resource = await find_resource(self.db, slug)
        if not isinstance(resource, Approved):
            raise await self._explain(slug)
        decision = await self._make_decision(slug, actor, "unfeatured")
        return await self._decide(decision, [self.db.feature(resource, featured=False), self.db.drop_feature(slug)])

    async def run_due_features(self) -> int:
        """Start and end the features that are due; return how many."""
        now = to_second(self.clock.millis())
        due = await self.db.features_due(due_at=now).limit(100)
        for each in due:
            with suppress(Conflict, ResourceMissing, StateConflict):  # another process did it
                await self._run_feature(each.slug)
        return len(due)

    async def _run_feature(self, slug: str) -> None:
        plan = await self.db.feature_plan(slug).consistent()
        now = to_second(self.clock.millis())
        if plan is None or plan.due_at > now:
            return
        resource = await find_stored(self.db, slug)
        damaged = isinstance(resource, DamagedItem) and resource.status == "approved"
        if not isinstance(resource, Approved) and not damaged:
            await self.db.drop_feature(slug)
            return
        over = plan.ends_at is not None and plan.ends_at <= now
        following: Write[Any] = (
            self.db.drop_feature(slug)
            if over or plan.ends_at is None
            else self.db.move_feature(plan, due_at=plan.ends_at)
        )
        if isinstance(resource, Approved):
            await self.db.transact_all([self.db.feature(resource, featured=not over), following]).unread()
        elif isinstance(resource, DamagedItem) and await feature_damaged(self.db, resource, featured=not over):
            await following  # interrupted before it, both are done again

    # ── other changes ────────────────────────────────────────────────────────────────────────────────────────────────
    async def edit(self, slug: str, fields: Mapping[str, Any], actor: Actor, more: Sequence[Write[Any]] = ()) -> None:
        """Change fields of a published resource; the former content is kept as a revision."""
        resource = await find_resource(self.db, slug)
        if not isinstance(resource, Published):
            raise await self._explain(slug)
        content = apply_changes(read_content(resource), fields)
        changes = find_changes(read_content(resource).to_fields(), content.to_fields())
        if not changes and not more:
            return
        await self.require_logo(resource, content)
        await self._use_logo(content.logo_image, slug)
        decision = await self._make_decision(slug, actor, "edited", ", ".join(sorted(changes)))
        now = to_second(self.clock.millis())
        edit = self.db.edit(
            resource,
            seen_name=resource.resource_name,
            seen_url=resource.resource_url,
            content=store_content(content, changes),
            search_text=content.make_search_text(),
        )
        writes: list[Write[Any]] = [
            edit,
            *update_entry(self.db, resource, content.tags),
            *move_claim(self.db, resource, content, now),
            self.db.create(make_revision(resource, decision.decided_at, "edited", actor.name)),
            self.db.create(decision),
            *more,
        ]
        try:
            await self.db.transact_all(writes).unread()
        except Conflict:
            taken = await self.duplicates.find_by_url(content.resource_url)
            if taken is not None and taken.slug != slug:
                raise AlreadyListed(taken, "URL") from None
            raise EditConflict("resource") from None

    async def require_logo(self, resource: Resource, content: Content) -> None:
        """Raise InvalidInput if content has another logo than its resource, which was not uploaded."""
        if content.logo_image != resource.logo_image:
            await require_uploaded(content, self.has_logo)

    async def _use_logo(self, name: str | None, slug: str) -> None:
        if name and self.record_logo is not None:
            await self.record_logo(name, slug)

    async def add_alias(self, slug: str, alias: str, actor: Actor) -> None:
        """Let another slug lead to a resource, whose own slug never changes."""
        actor.require_admin("rename resources")
        if not SLUG.fullmatch(alias) or len(alias) > 80:
            raise InvalidInput([FieldError("alias", "must be words of a-z and 0-9 with hyphens between them")])
        resource = await find_resource(self.db, slug)
        taken = await self.duplicates.find_by_slug(alias)
        if taken is not None:
            raise AlreadyListed(taken, "address")
        decision = await self._make_decision(slug, actor, "renamed", alias)
        try:
            await self.db.transact(
                self.db.create(Alias(alias=alias, slug=resource.resource_slug)), self.db.create(decision)
            ).unread()
        except Taken:
            raise AlreadyListed(ExistingEntry(alias, alias, "published"), "address") from None

    async def bulk(
        self, action: Literal["approve", "reject", "unpublish"], slugs: Sequence[str], actor: Actor, reason: str = ""
    ) -> list[BulkOutcome]:
        """Decide on many resources; each succeeds or fails on its own."""
        if len(slugs) > MAX_BULK:
            raise LimitReached(f"At most {MAX_BULK} at once.")
        outcomes = []
        for slug in dict.fromkeys(slugs):
            try:
                if action == "approve":
                    await self.approve(slug, actor)
                elif action == "reject":
                    await self.reject(slug, actor, reason)
                else:
                    await self.unpublish(slug, actor, reason)
            except ApplicationError as error:
                outcomes.append(BulkOutcome(slug, str(error)))
            else:
                outcomes.append(BulkOutcome(slug))
        return outcomes


UNDONE_BY = {
    "approved": "submission-approved",
    "rejected": "submission-rejected",
    "unpublished": "submission-unpublished",
}


def check_reason(reason: str) -> str:
    """Return a reason that can be stored; raise InvalidInput."""
    text = reason.strip()
    if not 3 <= len(text) <= MAX_REASON:
        raise InvalidInput([FieldError("reason", f"must have 3 to {MAX_REASON} characters")])
    return text


def remember_publication(resource: Approved, plan: FeaturePlan | None) -> dict[str, Any]:
    """Return what undoing an unpublication restores: the times of the publication, and the feature with its times."""
    stored: dict[str, Any] = {"approvedAt": resource.approved_at.isoformat(), "featured": resource.featured}
    if isinstance(resource, Published):
        stored["publishedAt"] = resource.published_at.isoformat()
    if plan is not None:
        stored["plan"] = plan.model_dump(mode="json", exclude_none=True)
    return stored


def name_cause(decision: Decision) -> str:
    """Return what identifies a decision."""
    return f"{decision.resource_slug} {decision.decided_at.isoformat()}"


def describe_plan(plan: FeaturePlan) -> str:
    """Return when a resource is featured, for the audit."""
    end = f" until {plan.ends_at:%Y-%m-%d %H:%M}" if plan.ends_at else ""
    return f"from {plan.starts_at:%Y-%m-%d %H:%M}{end}"
