"""A user's checks: added within the limit, read, edited, paused, resumed, run by hand, deleted.

Whatever is not the user's is not there. How a run goes is `runs`'s, what may be asked for is `draft`'s to say.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hashrange import Conflict, Page, Taken
from hashrange_systems.checks.errors import Changed, LimitReached, NotPossibleNow, NotThere, Suspended
from hashrange_systems.checks.model.schedule import first_slot, next_slot
from hashrange_systems.checks.model.tier import read_tier
from hashrange_systems.checks.schema import (
    Active,
    ActiveUser,
    AnyCheck,
    Check,
    Checks,
    Foreign,
    Paused,
    Scheduled,
    Shelved,
    Status,
    Typed,
    User,
)
from hashrange_systems.checks.service.conflict import commit, settle_conflicts
from hashrange_systems.checks.service.count import repair_count
from hashrange_systems.checks.service.disposal import dispose_check
from hashrange_systems.checks.service.draft import Changes, Draft, Scope, list_given, settle_fields
from hashrange_systems.checks.service.halt import pause_check
from hashrange_systems.checks.service.identity import MakeId, can_be_id, make_id
from hashrange_systems.checks.service.lookup import find_active_user, find_own_check, find_user
from hashrange_systems.checks.service.moment import from_ms
from hashrange_systems.checks.service.reading import read_delay

if TYPE_CHECKING:
    from hashrange import Clock
    from hashrange_systems.checks.service.runs import Finished, Runs


@dataclass(frozen=True, slots=True)
class Ledger:
    """The checks of all users, each user's for them alone."""

    db: Checks
    clock: Clock
    runs: Runs | None = None
    own_origins: Collection[str] = ()
    make_id: MakeId = make_id

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────
    async def find(self, userid: str, checkid: str) -> AnyCheck:
        """Return a check of this user."""
        return await find_own_check(self.db, userid, checkid)

    async def of_user(self, userid: str) -> Sequence[AnyCheck]:
        """Return a user's checks, the oldest first."""
        found = await self.db.checks_of(userid) if can_be_id(userid) else []
        return sorted(found, key=lambda check: (check.created_at, check.checkid))

    async def by_type(self, check_type: str, status: Status, size: int = 100, after: str | None = None) -> Page[Typed]:
        """Return checks of all users by type and status: for operators."""
        return await self.db.by_type(check_type, status).page(size, after=after)

    # ── adding ───────────────────────────────────────────────────────────────────────────────────────────────────────
    async def create(self, userid: str, draft: Draft) -> Scheduled:
        """Add a check that runs at once, unless the user has as many as the tier allows."""
        user = await find_active_user(self.db, userid)
        scope = await self._scope(user, draft.check_type)
        settled = settle_fields(list_given(draft), scope)
        if user.check_count is None:
            await repair_count(self.db, userid)
        now = self.clock.millis()
        check = Scheduled(
            checkid=self.make_id(),
            userid=userid,
            check_type=draft.check_type,
            created_at=from_ms(now),
            updated_at=from_ms(now),
            next_run_at=from_ms(first_slot(now)),
            **settled,
        )
        return await self._add(user, check)

    async def _add(self, user: ActiveUser, check: Scheduled) -> Scheduled:
        try:
            await commit(self.db, [self.db.take_slot(user, check_count=1), self.db.create(check)])
        except Taken:
            raise Changed("check") from None
        except Conflict as conflict:
            raise _explain_no_slot(conflict.current) from conflict
        return check

    async def repair_count(self, userid: str) -> int:
        """Correct the number of checks that limits are enforced with, and return it."""
        await find_user(self.db, userid)
        return await repair_count(self.db, userid)

    # ── changing ─────────────────────────────────────────────────────────────────────────────────────────────────────
    async def edit(self, userid: str, checkid: str, changes: Changes) -> Check:
        """Change what is given and nothing else; its history stays."""
        return await settle_conflicts(lambda: self._edit(userid, checkid, changes), "check")

    async def _edit(self, userid: str, checkid: str, changes: Changes) -> Check:
        check = await find_own_check(self.db, userid, checkid)
        user = await find_active_user(self.db, userid)
        if isinstance(check, Foreign):
            raise NotPossibleNow(f"This check is {check.status}: it can be seen and deleted.")
        if changes.seen is not None and changes.seen != (check.revision or 0):
            raise Changed("check")
        scope = await self._scope(user, check.check_type, check.attributes)
        settled: dict[str, Any] = settle_fields(list_given(changes), scope)
        edited = await self.db.edit(
            check,
            updated_at=from_ms(self.clock.millis()),
            revision=(check.revision or 0) + 1,
            seen=check.revision,
            **settled,
        )
        return await self._bring_forward(edited) if edited.delay_ms < check.delay_ms else edited

    async def _bring_forward(self, check: Check) -> Check:
        """Do not let a check that is to run more often wait for the slot of its old delay; one that runs does not."""
        if not isinstance(check, Scheduled) or check.slot is not None:
            return check
        soon = from_ms(self._find_slot(check))
        if soon < check.next_run_at:
            with suppress(Conflict):
                return await self.db.move_slot(check, next_run_at=soon)
        return check

    def _find_slot(self, check: Check) -> int:
        now, delay_ms = self.clock.millis(), read_delay(check)
        return next_slot(check.checkid, delay_ms, slot=now - delay_ms, now=now)

    async def pause(self, userid: str, checkid: str) -> AnyCheck:
        """Stop running a check: an open incident ends as interrupted, the history stays and says so."""
        await settle_conflicts(lambda: self._pause(userid, checkid), "check")
        return await find_own_check(self.db, userid, checkid)

    async def _pause(self, userid: str, checkid: str) -> None:
        check = await find_own_check(self.db, userid, checkid)
        user = await find_user(self.db, userid)
        if isinstance(check, Paused):
            return
        if not isinstance(check, Active):
            raise NotPossibleNow(f"This check is {check.status}: it is not being run.")
        await pause_check(self.db, check, user.tier, self.clock.millis())

    async def resume(self, userid: str, checkid: str) -> AnyCheck:
        """Run a check again, from now on, unless the user has more checks than the tier allows."""
        await settle_conflicts(lambda: self._resume(userid, checkid), "check")
        return await find_own_check(self.db, userid, checkid)

    async def _resume(self, userid: str, checkid: str) -> None:
        check = await find_own_check(self.db, userid, checkid)
        user = await find_active_user(self.db, userid)
        if isinstance(check, Scheduled):
            return
        if isinstance(check, Foreign):
            raise NotPossibleNow(f"This check is {check.status}: it can be seen and deleted.")
        if user.check_count is None:
            await repair_count(self.db, userid)
        elif user.check_count > user.check_limit:
            raise _explain_no_slot(user)
        now = from_ms(self.clock.millis())
        schedule = self.db.schedule(check, updated_at=now, next_run_at=now)
        await commit(self.db, [schedule, self.db.is_within_limit(user)])

    async def run_now(self, userid: str, checkid: str) -> Finished:
        """Run a check at once and return what came of it; the slot that is to come stays where it is."""
        check = await find_own_check(self.db, userid, checkid)
        await find_active_user(self.db, userid)
        if not isinstance(check, Scheduled):
            raise NotPossibleNow(f"This check is {_describe(check)}: resume it first.")
        if self.runs is None:
            raise NotPossibleNow("Checks cannot be run by hand here.")
        claim = await self.runs.claim(check)
        if claim is None:
            raise NotPossibleNow("This check is being run right now.")
        finished = await self.runs.perform(claim, shift=False)
        if finished is None:
            raise Changed("check")
        return finished

    async def delete(self, userid: str, checkid: str) -> None:
        """Delete a check and everything kept about it."""
        check = await find_own_check(self.db, userid, checkid)
        await dispose_check(self.db, check, self.clock.millis())

    async def _scope(self, user: User, check_type: str, stored: dict[str, Any] | None = None) -> Scope:
        channels = await self.db.channels(user.userid)
        return Scope(
            check_type=check_type,
            tier=read_tier(user.tier),
            own_origins=self.own_origins,
            channels=frozenset(channel.channel_id for channel in channels),
            stored=stored or {},
        )


def _describe(check: AnyCheck) -> str:
    return "out of the schedule" if isinstance(check, Shelved) or check.status == "ACTIVE" else check.status.lower()


def _explain_no_slot(user: object) -> NotThere | Suspended | LimitReached:
    """Return why a user gets no further check, from the user as they are now."""
    if not isinstance(user, User):
        return NotThere("user")
    if not isinstance(user, ActiveUser):
        return Suspended()
    return LimitReached(
        f"The tier {user.tier} allows {user.check_limit} checks, paused ones included: delete one, or change the tier."
    )
