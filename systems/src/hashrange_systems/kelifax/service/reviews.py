"""Reviews and votes. A review has a rating and a text: confirmed by mail, shown after a moderator published it.

- `submit(slug, form, client)`: `rating`, `text`, `displayName`, `email`; `confirm(token)`: the link of the mail.
- `published(slug)`: what the public sees: no address. `score(slug)`: votes, and the mean of the published ratings.
- `waiting(size, after)`, `publish(slug, reviewer, actor)`, `hide(slug, reviewer, actor)`: for moderators.
- `vote(slug, visitor)`, `unvote(slug, visitor)`, `has_voted`: one vote for each visitor; `void_votes(slug, actor)`.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hashrange import Clock, Conflict, Taken, Unreadable, Write
from hashrange_systems.kelifax.errors import DecisionTaken
from hashrange_systems.kelifax.model.field_rule import Checker
from hashrange_systems.kelifax.model.mail_text import CONFIRM_WITHIN
from hashrange_systems.kelifax.model.slug import is_stored_slug
from hashrange_systems.kelifax.record_item import PersonLink, Verdict
from hashrange_systems.kelifax.schema import Approved, Decision, Kelifax
from hashrange_systems.kelifax.service.actor import Actor
from hashrange_systems.kelifax.service.mails import Mailer
from hashrange_systems.kelifax.service.quotas import Quotas
from hashrange_systems.kelifax.service.resource_read import find_resource, next_moment
from hashrange_systems.kelifax.visitor_item import (
    AnyReview,
    PublishedReview,
    Review,
    Score,
    UnconfirmedReview,
    Vote,
    WaitingReview,
)
from hashrange_systems.shared.email_address import fold_email
from hashrange_systems.shared.epoch import to_second
from hashrange_systems.shared.errors import InvalidInput, ResourceMissing, StateConflict, TokenInvalid
from hashrange_systems.shared.identifier import is_valid_id
from hashrange_systems.shared.signed_token import TokenSigner

PER_CLIENT, PER_ADDRESS, VOTES_PER_CLIENT = 20, 5, 200  # on a day


@dataclass(frozen=True, slots=True)
class PublicReview:
    """A review as the public sees it."""

    rating: int
    text: str
    display_name: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class PublicScore:
    """Votes and ratings of a resource."""

    votes: int
    ratings: int
    mean: float | None


@dataclass(frozen=True, slots=True)
class Reviews:
    """Reviews and votes."""

    db: Kelifax
    clock: Clock
    signer: TokenSigner
    quotas: Quotas
    mailer: Mailer
    by_mail: bool = True

    # ── reviews ──────────────────────────────────────────────────────────────────────────────────────────────────────
    async def submit(self, slug: str, form: Mapping[str, Any], client: str) -> None:
        """Store a review until its address is confirmed; raise InvalidInput, or StateConflict for a second one."""
        resource = await self._find(slug)
        check = Checker()
        rating = check.choice({"rating": str(form.get("rating", ""))}, "rating", ("1", "2", "3", "4", "5"))
        text = check.text(form, "text", range(20, 2001), lines=True)
        name = check.text(form, "displayName", range(2, 51))
        address = check.email(form, "email")
        if check.errors or address is None:
            raise InvalidInput(check.errors)
        await self.quotas.use("review", client, PER_CLIENT)
        await self.quotas.use_for_mailbox("review", address.text, PER_ADDRESS)
        now = to_second(self.clock.millis())
        review = UnconfirmedReview(
            slug=slug,
            reviewer=self.hash_reviewer(address.text),
            created_at=now,
            rating=int(rating),
            text=text,
            display_name=name,
            email=address.text,
            expires_at=now + CONFIRM_WITHIN,
        )
        await self._store(review, resource.resource_name)

    async def _store(self, review: UnconfirmedReview, name: str) -> None:
        known = await self.db.review(review.slug, review.reviewer).consistent()
        if known is not None and not isinstance(known, UnconfirmedReview):
            raise StateConflict("There is a review of this resource from this address already.")
        reference = f"{review.slug}/{review.reviewer}"
        link = PersonLink(address=review.email, kind="review", reference=reference, created_at=review.created_at)
        words = [review.slug, review.reviewer, name_version(review)]
        cause = f"review {reference} {review.created_at.isoformat()}"
        writes: list[Write[Any]] = [self.db.put(review), self.db.put(link)]
        if self.by_mail:
            content = {"name": name, "words": words}
            writes.append(self.mailer.write("confirm-review", review.email, cause, content))
        try:
            await self.db.transact_all(writes).unread()
        except Taken:  # the same form, sent twice within a second
            return
        if not self.by_mail:
            await self.db.confirm_review(review)

    async def confirm(self, token: str) -> str:
        """Queue a review for the moderators; return the slug of its resource."""
        slug, reviewer, *version = self.signer.open("review", token, self.clock.millis())
        review = await self.db.review(slug, reviewer).consistent()
        if review is None:
            raise TokenInvalid("This review was not confirmed in time: write it again.")
        if isinstance(review, UnconfirmedReview):
            if version != [name_version(review)]:  # anybody can write one with this address
                raise TokenInvalid("Another review was written with this address since: open the link of its mail.")
            try:
                await self.db.confirm_review(review)
            except Conflict:
                return slug  # the link was opened twice
        return slug

    async def published(self, slug: str) -> list[PublicReview]:
        """Return the published reviews of a resource, latest first."""
        found = [each for each in await self.db.reviews(slug) if isinstance(each, PublishedReview)]
        shown = [PublicReview(each.rating, each.text, each.display_name, each.created_at) for each in found]
        return sorted(shown, key=lambda review: review.created_at, reverse=True)

    async def waiting(self, size: int = 20, after: str | None = None) -> tuple[Sequence[WaitingReview], str | None]:
        """Return a page of the reviews that wait for a moderator, oldest first, and the cursor of the next."""
        page = await self.db.waiting_reviews().whole().page(size, after=after)
        return page.items, page.cursor

    async def publish(self, slug: str, reviewer: str, actor: Actor) -> None:
        """Show a review, and count its rating."""
        review = await self._find_review(slug, reviewer)
        if not isinstance(review, WaitingReview):
            raise DecisionTaken(review.review_status)
        shown = self.db.publish_review(review, decided_at=to_second(self.clock.millis()))
        counted = self.db.count_rating(slug, rating_sum=review.rating, rating_count=1)
        await self._decide(slug, actor, "review-published", [shown, counted])

    async def hide(self, slug: str, reviewer: str, actor: Actor) -> None:
        """Refuse a review, or take a published one off the site with its rating."""
        review = await self._find_review(slug, reviewer)
        if not isinstance(review, WaitingReview | PublishedReview):
            raise DecisionTaken(review.review_status)
        writes: list[Write[Any]] = [self.db.hide_review(review, decided_at=to_second(self.clock.millis()))]
        if isinstance(review, PublishedReview):
            writes.append(self.db.count_rating(slug, rating_sum=-review.rating, rating_count=-1))
        await self._decide(slug, actor, "review-hidden", writes)

    async def _decide(self, slug: str, actor: Actor, verdict: Verdict, writes: list[Write[Any]]) -> None:
        """Write a decision about a review with its audit entry, which names no reviewer; raise DecisionTaken."""
        at = await next_moment(self.db, self.clock, slug)
        decision = Decision(resource_slug=slug, decided_at=at, actor=actor.name, verdict=verdict)
        try:
            await self.db.transact_all([*writes, self.db.create(decision)]).unread()
        except Conflict:
            raise DecisionTaken("decided") from None

    async def _find_review(self, slug: str, reviewer: str) -> AnyReview:
        known = is_stored_slug(slug) and is_valid_id(reviewer)
        review = await self.db.review(slug, reviewer).consistent() if known else None
        if review is None:
            raise ResourceMissing("review")
        return review

    async def erase(self, slug: str, reviewer: str) -> None:
        """Delete a review, and its rating if it was counted."""
        review = await self.db.review(slug, reviewer).consistent()
        if review is None:
            return
        writes: list[Write[Any]] = [self.db.drop_review(slug, reviewer, created_at=review.created_at)]
        if isinstance(review, PublishedReview):
            writes.append(self.db.count_rating(slug, rating_sum=-review.rating, rating_count=-1))
        await self.db.transact_all(writes).unread()

    def hash_reviewer(self, email: str) -> str:
        """Return the key of an address, from which the address does not follow."""
        return hmac.digest(self.signer.secret, f"reviewer\0{fold_email(email)}".encode(), "sha256").hex()[:32]

    # ── votes ────────────────────────────────────────────────────────────────────────────────────────────────────────
    async def vote(self, slug: str, visitor: str, client: str) -> None:
        """Count the vote of a visitor, once."""
        await self._find(slug)
        await self.quotas.use("vote", client, VOTES_PER_CLIENT)
        vote = Vote(slug=slug, visitor=visitor, created_at=to_second(self.clock.millis()))
        try:
            await self.db.transact(self.db.create(vote), self.db.count_vote(slug, votes=1)).unread()
        except Taken:
            return

    async def unvote(self, slug: str, visitor: str) -> None:
        """Take a vote back."""
        vote = await self.db.vote(slug, visitor).consistent()
        if vote is None:
            return
        drop = self.db.drop_vote(slug, visitor, created_at=vote.created_at)
        try:
            await self.db.transact(drop, self.db.count_vote(slug, votes=-1)).unread()
        except Conflict:
            return

    async def has_voted(self, slug: str, visitor: str) -> bool:
        """Return whether a visitor has voted for a resource."""
        return await self.db.vote(slug, visitor) is not None

    async def void_votes(self, slug: str, actor: Actor) -> int:
        """Delete all votes of a resource; return how many."""
        actor.require_admin("void votes")
        votes = await self.db.votes(slug).consistent()
        for vote in votes:
            await self.unvote(slug, vote.visitor)
        rest = (await self.score(slug)).votes
        if rest and not await self.db.votes(slug).consistent():  # counted without a vote, such as imported ones
            await self.db.count_vote(slug, votes=-rest)
        return len(votes)

    async def score(self, slug: str) -> PublicScore:
        """Return votes and ratings."""
        try:
            stored = await self.db.score(slug) or Score(slug=slug)
        except Unreadable:  # shown as none
            stored = Score(slug=slug)
        count = stored.rating_count
        return PublicScore(stored.votes, count, round(stored.rating_sum / count, 1) if count else None)

    async def _find(self, slug: str) -> Approved:
        resource = await find_resource(self.db, slug)
        if not isinstance(resource, Approved):
            raise ResourceMissing("resource")
        return resource


def name_version(review: Review) -> str:
    """Return what distinguishes a review from others by the same reviewer."""
    return review.created_at.isoformat()
