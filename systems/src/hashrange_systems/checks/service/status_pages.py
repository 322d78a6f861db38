"""Public status pages: several for each user, each with a unique slug, own texts and announcements."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hashrange import Taken, Write
from hashrange_systems.checks.errors import SlugTaken
from hashrange_systems.checks.model.announcement import (
    Announcement,
    add_announcement,
    make_announcement,
    read_announcements,
    write_announcements,
)
from hashrange_systems.checks.schema import AnyCheck, Checks, StatusPage, User
from hashrange_systems.checks.service.commit import commit
from hashrange_systems.checks.service.ownership import find_active_user, find_user
from hashrange_systems.shared.epoch import from_ms
from hashrange_systems.shared.errors import FieldError, InvalidInput, LimitReached, ResourceMissing
from hashrange_systems.shared.identifier import MakeId, is_valid_id, make_id
from hashrange_systems.shared.work.retry import retry_on_conflict

if TYPE_CHECKING:
    from hashrange import Clock

SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
MAX_SLUG_LENGTH = 60
MAX_TITLE_LENGTH = 200
MAX_CHECKS = 200
MAX_PAGES = 20
MAX_INTRO_LENGTH = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class PageContent:
    """What a status page shows."""

    title: str
    checks: Sequence[str] = ()
    intro: str = ""


@dataclass(frozen=True, slots=True)
class Pages:
    """The status pages of all users."""

    db: Checks
    clock: Clock
    make_id: MakeId = make_id

    async def find(self, slug: str) -> StatusPage:
        """Return a page by its slug, for anybody."""
        page = await self.db.page(slug) if is_valid_id(slug) else None
        if page is None:
            raise ResourceMissing("page")
        return page

    async def list_by_user(self, userid: str) -> list[StatusPage]:
        """Return the pages of a user, in the order in which they were published."""
        user = await find_user(self.db, userid)
        found = await self.db.fetch([self.db.page(slug) for slug in list_slugs(user)])
        return [page for page in found if page is not None and page.owner == userid]

    async def find_own(self, userid: str, slug: str) -> StatusPage:
        """Return a page of this user."""
        page = await self.find(slug)
        if page.owner != userid:
            raise ResourceMissing("page")
        return page

    async def checks_on(self, page: StatusPage) -> Sequence[AnyCheck]:
        """Return the checks of a page in its order, without deleted ones."""
        found = await self.db.fetch([self.db.check(checkid) for checkid in page.checks])
        return [check for check in found if check is not None and check.userid == page.owner]

    async def publish(self, userid: str, slug: str, content: PageContent, renames: str | None = None) -> StatusPage:
        """Publish a page, or change it; with `renames`, the page of that slug gets the new one."""
        return await retry_on_conflict(lambda: self._publish(userid, slug, content, renames), "page")

    async def _publish(self, userid: str, slug: str, content: PageContent, renames: str | None) -> StatusPage:
        user = await find_active_user(self.db, userid)
        owned = {check.checkid for check in await self.db.checks_of(userid)}
        _check_page_input(slug, content, owned)
        known = list_slugs(user)
        given: dict[str, Any] = {
            "title": content.title.strip(),
            "checks": list(dict.fromkeys(content.checks)),
            "intro": content.intro.strip(),
        }
        if slug in known and renames in (None, slug):
            return await self.db.edit_page(slug, owner=userid, **given)
        old = await self.find_own(userid, renames) if renames is not None else None
        if old is None and len(known) >= MAX_PAGES:
            raise LimitReached(f"There may be {MAX_PAGES} status pages: remove one first.")
        page = StatusPage(slug=slug, owner=userid, announcements=old.announcements if old else [], **given)
        slugs = [slug if each == renames else each for each in known] if old else [*known, slug]
        release: list[Write[Any]] = [self.db.release_page(old.slug, owner=userid)] if old else []
        try:
            await commit(self.db, [self.db.create(page), self._list(user, slugs), *release])
        except Taken:
            raise SlugTaken(slug) from None
        return page

    async def unpublish(self, userid: str, slug: str) -> None:
        """Unpublish a page of a user; its slug is free again."""
        await retry_on_conflict(lambda: self._unpublish(userid, slug), "page")

    async def _unpublish(self, userid: str, slug: str) -> None:
        user = await find_user(self.db, userid)
        known = list_slugs(user)
        if slug not in known:
            raise ResourceMissing("page")
        left = [each for each in known if each != slug]
        await commit(self.db, [self._list(user, left), self.db.release_page(slug, owner=userid)])

    async def unpublish_all(self, userid: str) -> None:
        """Unpublish every page of a user."""
        for slug in list_slugs(await find_user(self.db, userid)):
            with suppress(ResourceMissing):
                await self.unpublish(userid, slug)

    # ── announcements ────────────────────────────────────────────────────────────────────────────────────────────────
    async def announce(
        self, userid: str, slug: str, importance: str, title: str, text: str = "", ends_at: int | None = None
    ) -> Announcement:
        """Add an announcement to a page of a user."""
        new = make_announcement(self.make_id(), self.clock.millis(), importance, title, text, ends_at)
        await self._change(userid, slug, lambda known: add_announcement(known, new))
        return new

    async def withdraw(self, userid: str, slug: str, announcement_id: str) -> None:
        """Remove an announcement."""
        await self._change(
            userid, slug, lambda known: [each for each in known if each.announcement_id != announcement_id]
        )

    async def _change(self, userid: str, slug: str, change: Callable[[list[Announcement]], list[Announcement]]) -> None:
        async def attempt() -> None:
            page = await self.find_own(userid, slug)
            written = write_announcements(change(read_announcements(page.announcements)))
            await self.db.announce(slug, owner=userid, announcements=written, seen=page.announcements)

        await retry_on_conflict(attempt, "page")

    def _list(self, user: User, slugs: list[str]) -> Write[Any]:
        now = from_ms(self.clock.millis())
        return self.db.list_pages(user.userid, slugs, updated_at=now, seen=user.page_slugs, page_slug=None)


def list_slugs(user: User) -> list[str]:
    """Return the slugs of a user's pages; a page from before there could be several is the only one."""
    if user.page_slugs is not None:
        return list(user.page_slugs)
    return [user.page_slug] if user.page_slug else []


def _check_page_input(slug: str, content: PageContent, owned: set[str]) -> None:
    title, checks = content.title, content.checks
    errors: list[FieldError] = []
    if not SLUG.fullmatch(slug) or len(slug) > MAX_SLUG_LENGTH:
        errors.append(FieldError("slug", f"must be at most {MAX_SLUG_LENGTH} small letters, digits and single dashes"))
    if not title.strip() or len(title) > MAX_TITLE_LENGTH or not title.isprintable():
        errors.append(FieldError("title", f"must be a line of 1 to {MAX_TITLE_LENGTH} characters"))
    if len(content.intro) > MAX_INTRO_LENGTH or "\x00" in content.intro:
        errors.append(FieldError("intro", f"must be at most {MAX_INTRO_LENGTH} characters"))
    if len(checks) > MAX_CHECKS:
        errors.append(FieldError("checks", f"must be at most {MAX_CHECKS}"))
    elif unknown := [checkid for checkid in checks if checkid not in owned]:
        errors.append(FieldError("checks", f"must be checks of yours; {unknown[0][:40]!r} is none"))
    if errors:
        raise InvalidInput(errors)
