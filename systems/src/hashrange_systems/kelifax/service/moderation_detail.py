"""Everything about a resource for a moderator, personal data included: content, history, and what belongs to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, get_args

from hashrange import Unreadable
from hashrange_systems.kelifax.model.content import CONTENT_NAMES, Content, read_content
from hashrange_systems.kelifax.model.content_diff import FieldDifference, diff_fields
from hashrange_systems.kelifax.model.draft import find_changes, find_warnings
from hashrange_systems.kelifax.model.public_entry import recover_raw
from hashrange_systems.kelifax.record_item import FeaturePlan, Hold, Revision, StatusVerdict
from hashrange_systems.kelifax.schema import AnyResource, Decision, Kelifax
from hashrange_systems.kelifax.service.duplicates import Duplicate, Duplicates
from hashrange_systems.kelifax.service.tolerant_read import DamagedItem
from hashrange_systems.kelifax.visitor_item import GrantedOwnership, LinkState, PublishedReview

MAX_DECISIONS, MAX_REVISIONS, MAX_REVIEWS = 50, 20, 100
STATUS_VERDICTS = frozenset(get_args(StatusVerdict))  # all others hide no decision that can be undone


@dataclass(frozen=True, slots=True, kw_only=True)
class FormerContent:
    """What a resource contained before a change, and what the change made of it."""

    at: datetime
    cause: str
    actor: str
    rejection_reason: str | None
    differences: Sequence[FieldDifference]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModerationDetail:
    """Everything about a resource, for moderators."""

    resource: AnyResource | DamagedItem
    content: Content  # of a damaged one what can be read
    hold: Hold | None
    decisions: Sequence[Decision]
    revisions: Sequence[Revision]
    duplicates: Sequence[Duplicate]
    link: LinkState | None
    feature: FeaturePlan | None
    warnings: Sequence[str] = ()  # about the host and the telephone number
    former: Sequence[FormerContent] = ()  # latest first
    votes: int = 0
    reviews: Sequence[PublishedReview] = ()
    owners: Sequence[GrantedOwnership] = ()

    @property
    def status_decision(self) -> Decision | None:
        """The latest decision on the status."""
        return next((each for each in self.decisions if each.verdict in STATUS_VERDICTS), None)


async def read_moderation_detail(
    db: Kelifax, duplicates: Duplicates, slug: str, found: AnyResource | DamagedItem, hold: Hold | None
) -> ModerationDetail:
    """Return everything about a resource that was read."""
    if isinstance(found, DamagedItem):
        content, phone = Content(**recover_raw(found.raw)), found.text("submitterPhone")
    else:
        content, phone = read_content(found), found.submitter_phone or ""
    name, url = content.resource_name, content.resource_url
    revisions = await db.revisions(slug).limit(MAX_REVISIONS)
    reviews = await db.reviews(slug).skip_unreadable().limit(MAX_REVIEWS)
    claims = await db.ownerships(slug).skip_unreadable().limit(MAX_REVIEWS)
    return ModerationDetail(
        resource=found,
        content=content,
        hold=hold,
        decisions=await db.decisions(slug).limit(MAX_DECISIONS),
        revisions=revisions,
        duplicates=await duplicates.look_up(name, url, slug, moderator=True) if name or url else (),
        link=await db.link(slug),
        feature=await db.feature_plan(slug),
        warnings=find_warnings(content, phone),
        former=compare_revisions(revisions, found),
        votes=await count_votes(db, slug),
        reviews=[each for each in reviews if isinstance(each, PublishedReview)],
        owners=[each for each in claims if isinstance(each, GrantedOwnership)],
    )


async def count_votes(db: Kelifax, slug: str) -> int:
    """Return the votes of a resource."""
    try:
        score = await db.score(slug)
    except Unreadable:
        return 0
    return score.votes if score else 0


def compare_revisions(revisions: Sequence[Revision], current: AnyResource | DamagedItem) -> list[FormerContent]:
    """Return what each change made of a resource, latest first; each is compared with the one after it."""
    following: Mapping[str, Any] | None = (
        None if isinstance(current, DamagedItem) else read_content(current).to_fields()
    )
    former: list[FormerContent] = []
    for revision in revisions:
        old = {name: value for name, value in revision.content.items() if name in CONTENT_NAMES}
        new = find_changes(old, following) if following is not None else {}
        former.append(
            FormerContent(
                at=revision.at,
                cause=revision.cause,
                actor=revision.actor,
                rejection_reason=revision.content.get("rejectionReason"),
                differences=diff_fields(old, new, old),
            )
        )
        following = old
    return former
