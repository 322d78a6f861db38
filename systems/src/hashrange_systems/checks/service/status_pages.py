"""Public status pages: one for each user, with a unique slug."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hashrange import Taken, Write
from hashrange_systems.checks.errors import SlugTaken
from hashrange_systems.checks.schema import AnyCheck, Checks, StatusPage, User
from hashrange_systems.checks.service.commit import commit
from hashrange_systems.checks.service.ownership import find_active_user, find_user
from hashrange_systems.shared.epoch import from_ms
from hashrange_systems.shared.errors import FieldError, InvalidInput, ResourceMissing
from hashrange_systems.shared.identifier import is_valid_id
from hashrange_systems.shared.retry import retry_on_conflict

if TYPE_CHECKING:
    from hashrange import Clock

SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
LONGEST_SLUG = 60
LONGEST_TITLE = 200
MOST_CHECKS = 200


@dataclass(frozen=True, slots=True)
class Pages:
    """The status pages of all users."""

    db: Checks
    clock: Clock

    async def find(self, slug: str) -> StatusPage:
        """Return a page by its slug, for anybody."""
        page = await self.db.page(slug) if is_valid_id(slug) else None
        if page is None:
            raise ResourceMissing("page")
        return page

    async def checks_on(self, page: StatusPage) -> Sequence[AnyCheck]:
        """Return the checks of a page in its order, without deleted ones."""
        found = await self.db.fetch([self.db.check(checkid) for checkid in page.checks])
        return [check for check in found if check is not None and check.userid == page.owner]

    async def publish(self, userid: str, slug: str, title: str, checks: Sequence[str]) -> StatusPage:
        """Publish these checks under a slug; it replaces the user's earlier page."""
        return await retry_on_conflict(lambda: self._publish(userid, slug, title, checks), "page")

    async def _publish(self, userid: str, slug: str, title: str, checks: Sequence[str]) -> StatusPage:
        user = await find_active_user(self.db, userid)
        owned = {check.checkid for check in await self.db.checks_of(userid)}
        _check_page_input(slug, title, checks, owned)
        page = StatusPage(slug=slug, owner=userid, title=title.strip(), checks=list(dict.fromkeys(checks)))
        if user.page_slug == slug:
            return await self.db.edit_page(slug, owner=userid, title=page.title, checks=page.checks)
        writes: list[Write[Any]] = [self.db.create(page), self._show(user, slug), *self._release(user)]
        try:
            await commit(self.db, writes)
        except Taken:
            raise SlugTaken(slug) from None
        return page

    async def unpublish(self, userid: str) -> None:
        """Unpublish a user's page; its slug is free again."""
        await retry_on_conflict(lambda: self._unpublish(userid), "page")

    async def _unpublish(self, userid: str) -> None:
        user = await find_user(self.db, userid)
        if user.page_slug is not None:
            await commit(self.db, [self._show(user, None), *self._release(user)])

    def _show(self, user: User, slug: str | None) -> Write[Any]:
        now = from_ms(self.clock.millis())
        return self.db.show_page(user.userid, slug, updated_at=now, seen=user.page_slug)

    def _release(self, user: User) -> list[Write[Any]]:
        return [] if user.page_slug is None else [self.db.release_page(user.page_slug, owner=user.userid)]


def _check_page_input(slug: str, title: str, checks: Sequence[str], owned: set[str]) -> None:
    errors: list[FieldError] = []
    if not SLUG.fullmatch(slug) or len(slug) > LONGEST_SLUG:
        errors.append(FieldError("slug", f"must be at most {LONGEST_SLUG} small letters, digits and single dashes"))
    if not title.strip() or len(title) > LONGEST_TITLE or not title.isprintable():
        errors.append(FieldError("title", f"must be a line of 1 to {LONGEST_TITLE} characters"))
    if len(checks) > MOST_CHECKS:
        errors.append(FieldError("checks", f"must be at most {MOST_CHECKS}"))
    elif unknown := [checkid for checkid in checks if checkid not in owned]:
        errors.append(FieldError("checks", f"must be checks of yours; {unknown[0][:40]!r} is none"))
    if errors:
        raise InvalidInput(errors)
