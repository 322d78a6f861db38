"""Writes the demo data: once, however often it is called or cut short.

The first thing written is when the demo began; everything else is told from that, so that who comes after a crash
writes the same again. The last thing written is that it is all there.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hashrange import Clock, Conflict, Item, Taken, Write
from hashrange_systems.checks.demo.past import Past, Teller
from hashrange_systems.checks.demo.story import STORIES, Fate, Story
from hashrange_systems.checks.model.tier import BUSINESS
from hashrange_systems.checks.schema import (
    Active,
    ActiveUser,
    Channel,
    Checks,
    DemoMark,
    EmailClaim,
    Failed,
    Paused,
    StatusPage,
)
from hashrange_systems.checks.service.draft import EBAY_SITE
from hashrange_systems.checks.service.moment import from_ms, to_ms

USERID = "demo"
EMAIL = "demo@example.com"
SLUG = "demo"
CHANNEL = "demo-mail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """The demo data of a database; its checks look at the pages at these addresses."""

    db: Checks
    clock: Clock
    site: str
    secure_site: str

    async def fill(self) -> None:
        """Write what is not there yet, and point the checks at the pages if those have moved."""
        mark = await self._mark()
        if mark.complete:
            await self._follow_site()
            return
        teller = Teller(userid=USERID, channel=make_channel(mark.anchor), anchor=to_ms(mark.anchor))
        await self._take_in(teller)
        for story in STORIES:
            await self._write(await asyncio.to_thread(teller.tell, story, self._find_url(story)))
        await self.db.put(DemoMark(anchor=mark.anchor, complete=True))

    async def _mark(self) -> DemoMark:
        """Return the mark of who came first, which may be us."""
        mark = DemoMark(anchor=from_ms(self.clock.millis()))
        try:
            return await self.db.create(mark)
        except Taken as taken:
            return taken.current if isinstance(taken.current, DemoMark) else mark

    async def _take_in(self, teller: Teller) -> None:
        """Write the user, and what belongs to them."""
        began = from_ms(teller.began)
        user = ActiveUser(
            userid=USERID,
            email=EMAIL,
            tier=BUSINESS.name,
            check_limit=BUSINESS.check_limit,
            check_count=len(STORIES),
            created_at=began,
            updated_at=began,
            page_slug=SLUG,
        )
        shown = [story.checkid for story in STORIES if story.fate not in (Fate.PAUSED, Fate.PRICED)]
        page = StatusPage(slug=SLUG, owner=USERID, title="Demo company", checks=shown)
        items: list[Item] = [user, EmailClaim(address=EMAIL, owner=USERID), teller.channel, page]
        writes: list[Write[Any]] = [self.db.create(item) for item in items]
        with suppress(Taken):
            await self.db.transact_all(writes)

    async def _write(self, past: Past) -> None:
        """Write a check and its past; the check last, and neither it nor an alert again, for a worker may have both."""
        await self.db.batch([*past.rollups, *past.runs, *past.incidents.values()])
        for item in (*past.alerts, past.check):
            with suppress(Taken):
                await self.db.create(item)

    def _find_url(self, story: Story) -> str:
        if story.fate is Fate.PRICED:
            return EBAY_SITE
        return (self.secure_site if story.fate is Fate.EXPIRING else self.site) + story.path

    async def _follow_site(self) -> None:
        """Let the checks that are still there look at the pages where they are now."""
        for story in STORIES:
            check, url = await self.db.check(story.checkid), self._find_url(story)
            if isinstance(check, Active | Paused | Failed) and is_page_of_demo(check.url) and check.url != url:
                revision = (check.revision or 0) + 1
                now = from_ms(self.clock.millis())
                with suppress(Conflict):  # somebody edits it at this moment: theirs holds
                    await self.db.edit(check, updated_at=now, revision=revision, seen=check.revision, url=url)


def make_channel(anchor: datetime) -> Channel:
    """Return where the demo's user is told."""
    return Channel(userid=USERID, channel_id=CHANNEL, kind="EMAIL", target=EMAIL, created_at=anchor, verified_at=anchor)


def is_page_of_demo(url: str) -> bool:
    """Whether a check still looks at a page of the demo, wherever that was."""
    return url.startswith(("http://127.0.0.1:", "https://127.0.0.1:"))
