"""Writes the demo data: once, however often it is called or interrupted.

It writes the start time first and derives everything else from it, so that a restart after a crash writes the same
data. It writes a completion mark last.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hashrange import Clock, Conflict, Item, Taken, Write
from hashrange_systems.checks.demo.demo_history import DemoHistory, HistoryWriter
from hashrange_systems.checks.demo.demo_scenario import SCENARIOS, Behaviour, Scenario
from hashrange_systems.checks.deployment_schema import DemoProgress
from hashrange_systems.checks.model.tier import BUSINESS
from hashrange_systems.checks.schema import Active, ActiveUser, Channel, Checks, EmailClaim, Failed, Paused, StatusPage
from hashrange_systems.checks.types.ebay_price import EBAY_SITE
from hashrange_systems.shared.channels.channel_type import ParsedTarget
from hashrange_systems.shared.epoch import from_ms, to_ms

USERID = "demo"
EMAIL = "demo@example.com"
SLUG = "demo"
CHANNEL = "demo-mail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """The demo data of a database; its checks request the pages at these URLs."""

    db: Checks
    clock: Clock
    site: str
    secure_site: str

    async def fill(self) -> None:
        """Write what is missing, and update the URLs of the checks if the pages have moved."""
        progress = await self._load_progress()
        if progress.complete:
            await self._update_urls()
            return
        writer = HistoryWriter(
            userid=USERID, channel=make_channel(progress.started_at), started_at=to_ms(progress.started_at)
        )
        await self._add_user(writer)
        for scenario in SCENARIOS:
            await self._write(await asyncio.to_thread(writer.write_history, scenario, self._find_url(scenario)))
        await self.db.put(DemoProgress(started_at=progress.started_at, complete=True))

    async def _load_progress(self) -> DemoProgress:
        """Return the stored progress; create it if missing."""
        progress = DemoProgress(started_at=from_ms(self.clock.millis()))
        try:
            return await self.db.create(progress)
        except Taken as taken:
            return taken.current if isinstance(taken.current, DemoProgress) else progress

    async def _add_user(self, writer: HistoryWriter) -> None:
        """Write the user with channel and status page."""
        start = from_ms(writer.start)
        user = ActiveUser(
            userid=USERID,
            email=EMAIL,
            tier=BUSINESS.name,
            check_limit=BUSINESS.check_limit,
            check_count=len(SCENARIOS),
            created_at=start,
            updated_at=start,
            page_slug=SLUG,
        )
        shown = [
            scenario.checkid for scenario in SCENARIOS if scenario.behaviour not in (Behaviour.PAUSED, Behaviour.PRICED)
        ]
        page = StatusPage(slug=SLUG, owner=USERID, title="Demo company", checks=shown)
        items: list[Item] = [user, EmailClaim(address=EMAIL, owner=USERID), writer.channel, page]
        writes: list[Write[Any]] = [self.db.create(item) for item in items]
        with suppress(Taken):
            await self.db.transact_all(writes)

    async def _write(self, history: DemoHistory) -> None:
        """Write a check and its history, the check last; keep existing checks and alerts, which a worker may use."""
        await self.db.batch([*history.rollups, *history.runs, *history.incidents.values()])
        for item in (*history.alerts, history.check):
            with suppress(Taken):
                await self.db.create(item)

    def _find_url(self, scenario: Scenario) -> str:
        if scenario.behaviour is Behaviour.PRICED:
            return EBAY_SITE
        return (self.secure_site if scenario.behaviour is Behaviour.EXPIRING else self.site) + scenario.path

    async def _update_urls(self) -> None:
        """Update the URLs of the demo checks to the current pages."""
        for scenario in SCENARIOS:
            check, url = await self.db.check(scenario.checkid), self._find_url(scenario)
            if isinstance(check, Active | Paused | Failed) and is_page_of_demo(check.url) and check.url != url:
                revision = (check.revision or 0) + 1
                now = from_ms(self.clock.millis())
                with suppress(Conflict):  # edited at the same moment: keep the edit
                    await self.db.edit(check, updated_at=now, revision=revision, seen=check.revision, url=url)


def make_channel(started_at: datetime) -> Channel:
    """Return the e-mail channel of the demo user."""
    return Channel(
        userid=USERID,
        channel_id=CHANNEL,
        channel_type="EMAIL",
        target=ParsedTarget.public(EMAIL).shown,
        created_at=started_at,
        verified_at=started_at,
    )


def is_page_of_demo(url: str) -> bool:
    """Return whether a URL is that of a demo page, on any port."""
    return url.startswith(("http://127.0.0.1:", "https://127.0.0.1:"))
