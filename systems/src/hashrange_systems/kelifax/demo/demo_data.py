"""Writes the demo data: once, however often it is called or interrupted.

The start time is written first and everything else derives from it; a completion mark is written last. Resources go
through the same rules and patterns as submissions.
"""

from __future__ import annotations

import hashlib
import logging
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from hashrange import Conflict, Item, Taken, Write
from hashrange_systems.kelifax.application import Application
from hashrange_systems.kelifax.demo.demo_resource import DemoResource, load_resources
from hashrange_systems.kelifax.model.draft import Draft, parse_draft
from hashrange_systems.kelifax.model.slug import make_slug
from hashrange_systems.kelifax.model.web_address import normalise_url
from hashrange_systems.kelifax.record_item import OpenSuggestion, PersonLink, Verdict
from hashrange_systems.kelifax.schema import Decision, Published, Rejected, Submission, UrlClaim
from hashrange_systems.kelifax.service.actor import OPERATOR
from hashrange_systems.kelifax.service.publication import list_entry
from hashrange_systems.kelifax.service.submissions import make_resource
from hashrange_systems.kelifax.visitor_item import (
    DayViews,
    DemoProgress,
    LinkReport,
    PublishedReview,
    Score,
    WaitingOwnership,
    WaitingReview,
)
from hashrange_systems.shared.epoch import to_second
from hashrange_systems.shared.errors import StateConflict

log = logging.getLogger(__name__)

ADMIN, PASSWORD = "demo", "demo password"
REASON = "The page asks for a sign-in before it shows anything: please link to one that explains the tool."
SUBMITTERS = (
    ("Mara", "Lindqvist", "mara@nordwind.example.com", "Nordwind Studio"),
    ("Tomás", "Ferreira", "tomas@atelier.example.org", "Atelier Ferreira"),
    ("Aiko", "Tanaka", "aiko@kumo.example.net", "Kumo Works"),
    ("Jonas", "Weber", "jonas@weberlabs.example.com", None),
    ("Priya", "Nair", "priya@tidepool.example.org", "Tidepool"),
    ("Sam", "O'Neill", "sam@oneill.example.net", None),
)
REVIEWERS = (("Lena K.", 5), ("R. Okafor", 4), ("dmitri", 5), ("Paula", 3), ("H. Suzuki", 4))
PRAISE = (
    "We have used it every day for a year. It does one thing, and it does it without getting in the way.",
    "Good documentation, and the defaults are sensible. Importing our old data took an afternoon.",
    "The team picked it up within an hour. I miss a dark theme, but that is all there is to complain about.",
    "Solid, if a little slow on a large project. Support answered within a day.",
    "Exactly what I was looking for: small, offline, and it exports to formats that everybody reads.",
)


async def fill_demo(application: Application) -> None:
    """Write the demo data, and log who may sign in."""
    await Demo(application).fill()
    log.info("the demo admin signs in as %s with the password %r", ADMIN, PASSWORD)


@dataclass(frozen=True, slots=True)
class Demo:
    """The demo data of a database."""

    services: Application

    async def fill(self) -> None:
        """Write what is missing."""
        progress = await self._load_progress()
        if progress.complete:
            return
        with suppress(StateConflict):
            await self.services.admins.add(ADMIN, PASSWORD, "admin", OPERATOR)
        for number, resource in enumerate(load_resources()):
            await self._write(DemoEntry(resource, number, progress.started_at))
        await self.services.directory.count_facets()
        await self.services.db.put(DemoProgress(started_at=progress.started_at, complete=True))

    async def _load_progress(self) -> DemoProgress:
        """Return the stored progress; create it if missing."""
        progress = DemoProgress(started_at=to_second(self.services.clock.millis()))
        try:
            return await self.services.db.create(progress)
        except Taken as taken:
            return taken.current if isinstance(taken.current, DemoProgress) else progress

    async def _write(self, entry: DemoEntry) -> None:
        """Write a resource with what belongs to it, or nothing if it is there."""
        db = self.services.db
        item = entry.make_item()
        claim = UrlClaim(resource_url=normalise_url(item.resource_url), claimed_by=entry.slug, owner=item.submission_id)
        writes: list[Write[Any]] = [db.create(item), db.create(claim), *map(db.put, entry.list_decisions())]
        if isinstance(item, Published):
            writes += list_entry(db, item, item.published_at)
        try:
            await db.transact_all(writes).unread()
        except Conflict:
            return
        await db.batch(entry.list_records(self.services.reviews.hash_reviewer))


@dataclass(frozen=True, slots=True)
class DemoEntry:
    """A resource of the demo with its history; the later its number, the earlier it was submitted."""

    resource: DemoResource
    number: int
    started_at: datetime

    @property
    def slug(self) -> str:
        """Its slug."""
        return make_slug(self.resource.fields["resourceName"], "demo")

    @property
    def submitted_at(self) -> datetime:
        """When it was submitted."""
        return self.started_at - timedelta(hours=3 + 17 * self.number, minutes=self.number * 7 % 60)

    @property
    def decided_at(self) -> datetime:
        """When a moderator decided."""
        return self.submitted_at + timedelta(hours=2 + self.number % 9)

    def make_draft(self) -> Draft:
        """Return the form that was submitted."""
        first, last, email, company = SUBMITTERS[self.number % len(SUBMITTERS)]
        return parse_draft(self.resource.to_form() | {
            "submitter": {"firstName": first, "lastName": last, "companyEmail": email, "company": company},
        })  # fmt: skip

    def make_item(self) -> Submission | Published | Rejected:
        """Return the resource in its state."""
        digest = hashlib.sha256(self.slug.encode()).hexdigest()
        submission_id = f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"
        pending = make_resource(self.make_draft(), self.slug, submission_id, self.submitted_at)
        common = {name: value for name, value in pending if name != "resource_status"}
        at = self.decided_at
        if self.resource.state == "pending":
            return pending
        if self.resource.state == "rejected":
            return Rejected(**common, rejected_at=at, rejection_reason=REASON)
        views = {"view_count": self.views, "featured": self.resource.featured, "last_viewed": self.started_at}
        return Published(**(common | views), approved_at=at, published_at=at)

    @property
    def views(self) -> int:
        """How often it was looked at."""
        return (self.number * 7919 % 480) + 12 * self.number

    def list_decisions(self) -> list[Decision]:
        """Return the audit entries."""
        steps = [
            Decision(resource_slug=self.slug, decided_at=self.submitted_at, actor="submitter", verdict="submitted")
        ]
        if self.resource.state != "pending":
            verdict: Verdict
            verdict, reason = ("rejected", REASON) if self.resource.state == "rejected" else ("approved", None)
            steps.append(
                Decision(
                    resource_slug=self.slug, decided_at=self.decided_at, actor=ADMIN, verdict=verdict, reason=reason
                )
            )
        return steps

    def list_records(self, hash_reviewer: Any) -> list[Item]:
        """Return views, votes, reviews, suggestions, claims and reports."""
        email = SUBMITTERS[self.number % len(SUBMITTERS)][2]
        link = PersonLink(address=email, kind="submission", reference=self.slug, created_at=self.submitted_at)
        if self.resource.state != "approved":
            return [link]
        return [
            link,
            *self._list_views(),
            *self._list_reviews(hash_reviewer),
            *self._list_suggestions(),
            *self._list_reports(),
        ]

    def _list_views(self) -> list[Item]:
        today = self.started_at.date()
        expires = self.started_at + timedelta(days=400)
        return [
            DayViews(
                slug=self.slug,
                day=today - timedelta(days=back),
                views=1 + (self.number * 31 + back * 17) % 23,
                expires_at=expires,
            )
            for back in range(30)
        ]

    def _list_reviews(self, hash_reviewer: Any) -> list[Item]:
        found: list[Item] = []
        ratings = []
        for at in range(self.number % 4):
            name, rating = REVIEWERS[(self.number + at) % len(REVIEWERS)]
            address = f"reader{self.number}-{at}@example.com"
            common: dict[str, Any] = {
                "slug": self.slug,
                "reviewer": hash_reviewer(address),
                "created_at": self.decided_at + timedelta(days=1 + at),
                "rating": rating,
                "text": PRAISE[(self.number + at) % len(PRAISE)],
                "display_name": name,
                "email": address,
            }
            if self.number == 7 and at == 0:
                found.append(WaitingReview(**common))
            else:
                found.append(PublishedReview(**common, decided_at=self.decided_at + timedelta(days=2 + at)))
                ratings.append(rating)
        score = Score(slug=self.slug, votes=self.number * 13 % 41, rating_sum=sum(ratings), rating_count=len(ratings))
        return [*found, score]

    def _list_reports(self) -> list[Item]:
        """Return a claim of one resource, and the report of a dead link of another."""
        at = self.started_at - timedelta(hours=self.number)
        if self.number == 6:
            statement = "I maintain this tool, and would like to keep its features up to date."
            common: dict[str, Any] = {"slug": self.slug, "claim_id": f"demo{self.number}", "statement": statement}
            return [WaitingOwnership(**common, created_at=at, email="maintainer@example.org", same_domain=False)]
        return [LinkReport(slug=self.slug, created_at=at, reports=2)] if self.number == 9 else []

    def _list_suggestions(self) -> list[Item]:
        if self.number not in {4, 11}:
            return []
        old = self.resource.fields["usagePurpose"]
        return [
            OpenSuggestion(
                slug=self.slug,
                suggestion_id=f"demo{self.number}",
                created_at=self.started_at - timedelta(hours=self.number),
                changes={"usagePurpose": f"{old} It also runs without a network."},
                base={"usagePurpose": old},
                note="It works offline since the last version.",
            )
        ]
