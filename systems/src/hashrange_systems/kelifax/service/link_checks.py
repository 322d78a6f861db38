"""The link checker: requests the URLs of published resources through the guarded fetcher, and unpublishes dead ones.

- `report(slug, client)`: a visitor says that a link is dead: it is checked within minutes, and moderators see it.
- `waiting(size, after)`: the reports, oldest first; `dismiss(slug, actor)`: a moderator has looked, and the link works.
- `run_due(limit)`: checks what is due; each link by one process. A dead link is unpublished after a week of failures.
- `check(slug)`: checks one now, and returns the outcome.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from hashrange import Clock, Conflict, Taken
from hashrange_systems.kelifax.model.link_health import evaluate_link, is_alive
from hashrange_systems.kelifax.model.slug import is_stored_slug
from hashrange_systems.kelifax.schema import Approved, Decision, Kelifax
from hashrange_systems.kelifax.service.actor import WORKER, Actor
from hashrange_systems.kelifax.service.moderation import Moderation
from hashrange_systems.kelifax.service.quotas import Quotas
from hashrange_systems.kelifax.service.resource_read import find_names, find_resource, find_stored, next_moment
from hashrange_systems.kelifax.visitor_item import DueLink, LinkReport, LinkState
from hashrange_systems.shared.epoch import from_ms, to_ms, to_second
from hashrange_systems.shared.errors import ApplicationError, ResourceMissing
from hashrange_systems.shared.fetching.errors import FetchError
from hashrange_systems.shared.fetching.fetcher import Fetcher
from hashrange_systems.shared.fetching.http_message import Request

PER_CLIENT = 20  # reports on a day
LEASE = timedelta(minutes=5)
AT_ONCE = 8
REPORTED_WITHIN = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class LinkOutcome:
    """What a check found."""

    slug: str
    alive: bool
    text: str
    unpublished: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedLink:
    """A link that visitors say is dead, with what the link checker knows; `url` is empty if it is not listed."""

    slug: str
    reports: int
    created_at: datetime
    name: str
    url: str
    state: LinkState | None


@dataclass(frozen=True, slots=True)
class LinkChecks:
    """Checks links."""

    db: Kelifax
    clock: Clock
    fetcher: Fetcher
    quotas: Quotas
    moderation: Moderation

    async def report(self, slug: str, client: str) -> None:
        """Note that a visitor found a dead link; it is checked soon."""
        resource = await find_resource(self.db, slug)
        if not isinstance(resource, Approved):
            raise ResourceMissing("resource")
        await self.quotas.use("report", client, PER_CLIENT)
        due_at = to_second(self.clock.millis()) + REPORTED_WITHIN
        await self.db.report_link(slug, due_at=due_at, reports=1)
        try:
            await self.db.create(LinkReport(slug=slug, created_at=to_second(self.clock.millis()), reports=1))
        except Taken:
            with suppress(Conflict):  # decided at this moment
                await self.db.count_report(slug, reports=1)

    async def waiting(self, size: int = 20, after: str | None = None) -> tuple[Sequence[ReportedLink], str | None]:
        """Return a page of the links that visitors reported, oldest first, and the cursor of the next."""
        page = await self.db.waiting_link_reports().whole().page(size, after=after)
        return [await self._describe(each) for each in page.items], page.cursor

    async def _describe(self, report: LinkReport) -> ReportedLink:
        found = await find_stored(self.db, report.slug)
        listed = found if isinstance(found, Approved) else None
        names = await find_names(self.db, [report.slug])
        return ReportedLink(
            slug=report.slug,
            reports=report.reports,
            created_at=report.created_at,
            name=names[report.slug],
            url=listed.resource_url if listed else "",
            state=await self.db.link(report.slug),
        )

    async def dismiss(self, slug: str, actor: Actor) -> None:
        """Close the reports of a link; raise ResourceMissing if there are none."""
        report = await self.db.link_report(slug).consistent() if is_stored_slug(slug) else None
        if report is None:
            raise ResourceMissing("report")
        decision = Decision(
            resource_slug=slug,
            decided_at=await next_moment(self.db, self.clock, slug),
            actor=actor.name,
            verdict="report-dismissed",
            reason=f"{report.reports} reports of a dead link",
        )
        await self.db.transact(self.db.drop_link_report(slug), self.db.create(decision)).unread()

    async def forget_report(self, slug: str) -> None:
        """Close the reports of a link about which something else was decided, which the audit has."""
        await self.db.drop_link_report(slug)

    async def run_due(self, limit: int = 100) -> list[LinkOutcome]:
        """Check the links that are due."""
        due = await self.db.links_due(due_at=to_second(self.clock.millis())).limit(limit)
        room = asyncio.Semaphore(AT_ONCE)

        async def run(each: DueLink) -> LinkOutcome | None:
            async with room:
                return await self._run(each)

        return [found for found in await asyncio.gather(*map(run, due)) if found is not None]

    async def check(self, slug: str) -> LinkOutcome:
        """Check the link of a resource now."""
        resource = await find_resource(self.db, slug)
        if not isinstance(resource, Approved):
            raise ResourceMissing("resource")
        now = to_second(self.clock.millis())
        state = await self.db.report_link(slug, due_at=now, reports=0)
        found = await self._run(DueLink(slug=slug, due_at=state.due_at))
        return found or LinkOutcome(slug, alive=True, text="another process is checking it")

    async def _run(self, due: DueLink) -> LinkOutcome | None:
        """Check a link; return None if another process has claimed it, or its resource is gone."""
        try:
            state = await self.db.claim_link(due, due_at=to_second(self.clock.millis()) + LEASE)
            resource = await find_resource(self.db, due.slug)
        except Conflict:
            return None
        except ApplicationError:
            await self.db.drop_link_state(due.slug)
            return None
        if not isinstance(resource, Approved):
            await self.db.drop_link_state(due.slug)
            return None
        alive, text = await self.request(resource.resource_url)
        return await self._record(state, alive=alive, text=text)

    async def request(self, url: str) -> tuple[bool, str]:
        """Request a URL; return whether it works, and what happened."""
        try:
            response = await self.fetcher.fetch(Request(url=url, decompress=False))
        except FetchError as error:
            return False, str(error)[:200]
        return is_alive(response.status), f"answered {response.status}"

    async def _record(self, state: LinkState, *, alive: bool, text: str) -> LinkOutcome:
        now = self.clock.millis()
        since = to_ms(state.failing_since) if state.failing_since else None
        result = evaluate_link(alive=alive, failures=state.failures, failing_since=since, now=now)
        with suppress(Conflict):  # a visitor reported it meanwhile: it is checked again
            await self.db.link_checked(
                state.slug,
                lease=state.due_at,
                due_at=to_second(result.next_check),
                checked_at=to_second(now),
                outcome=text,
                failures=result.failures,
                failing_since=from_ms(result.failing_since) if result.failing_since is not None else None,
                reports=0 if alive else state.reports,
            )
        unpublished = result.dead and await self._unpublish(state.slug, text)
        return LinkOutcome(state.slug, alive, text, unpublished)

    async def _unpublish(self, slug: str, text: str) -> bool:
        try:
            await self.moderation.unpublish(slug, WORKER, f"The link has not worked for a week: {text}")
        except ApplicationError:
            return False
        return True
