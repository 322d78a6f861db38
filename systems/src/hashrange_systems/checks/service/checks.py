"""The checks of a user: add within the limit, read, edit, pause, resume, run now, delete.

Checks of other users are reported as missing. `runs` runs a check, `check_input` validates.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from hashrange import Conflict, Page, Taken
from hashrange_systems.checks.field_types import Status
from hashrange_systems.checks.model.schedule import first_due_time, next_due_time
from hashrange_systems.checks.model.tier import read_tier
from hashrange_systems.checks.registry import CHECK_TYPES
from hashrange_systems.checks.schema import (
    Active,
    ActiveUser,
    AnyCheck,
    Check,
    Checks,
    ForeignCheck,
    Paused,
    Scheduled,
    SuspendedCheck,
    Typed,
    User,
)
from hashrange_systems.checks.service.check_count import repair_count
from hashrange_systems.checks.service.check_deletion import delete_check_data
from hashrange_systems.checks.service.check_input import (
    CheckChanges,
    CheckInput,
    ValidationContext,
    list_given_fields,
    validate_fields,
)
from hashrange_systems.checks.service.commit import commit
from hashrange_systems.checks.service.manual_run_limit import ManualRunLimit
from hashrange_systems.checks.service.ownership import find_active_user, find_own_check, find_user
from hashrange_systems.checks.service.stored_options import read_delay
from hashrange_systems.checks.service.unschedule import pause_check
from hashrange_systems.shared.epoch import from_ms
from hashrange_systems.shared.errors import AccountSuspended, EditConflict, LimitReached, ResourceMissing, StateConflict
from hashrange_systems.shared.identifier import MakeId, is_valid_id, make_id
from hashrange_systems.shared.work.retry import retry_on_conflict

if TYPE_CHECKING:
    from hashrange import Clock
    from hashrange_systems.checks.service.runs import RunReport, Runs


@dataclass(frozen=True, slots=True)
class CheckService:
    """The checks of all users; each user only accesses their own."""

    db: Checks
    clock: Clock
    runs: Runs | None = None
    own_origins: Collection[str] = ()
    make_id: MakeId = make_id
    manual_runs: ManualRunLimit | None = None

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────
    async def find(self, userid: str, checkid: str) -> AnyCheck:
        """Return a check of this user."""
        return await find_own_check(self.db, userid, checkid)

    async def list_by_user(self, userid: str) -> Sequence[AnyCheck]:
        """Return a user's checks, oldest first."""
        found = await self.db.checks_of(userid) if is_valid_id(userid) else []
        return sorted(found, key=lambda check: (check.created_at, check.checkid))

    async def by_type(self, check_type: str, status: Status, size: int = 100, after: str | None = None) -> Page[Typed]:
        """Return checks of all users by type and status: for operators."""
        return await self.db.by_type(check_type, status).page(size, after=after)

    # ── adding ───────────────────────────────────────────────────────────────────────────────────────────────────────
    async def create(self, userid: str, check_input: CheckInput) -> Scheduled:
        """Add a check that is due at once, or later if that budget is spent; raise LimitReached at the tier's limit."""
        user = await find_active_user(self.db, userid)
        context = await self._scope(user, check_input.check_type)
        validated = validate_fields(list_given_fields(check_input), context)
        if user.check_count is None:
            await repair_count(self.db, userid)
        now, checkid = self.clock.millis(), self.make_id()
        first = await self._find_first_run(user, checkid, check_input.check_type, validated["delay_ms"])
        check = Scheduled(
            checkid=checkid,
            userid=userid,
            check_type=check_input.check_type,
            created_at=from_ms(now),
            updated_at=from_ms(now),
            next_run_at=from_ms(first),
            signal_key=make_signal_key() if CHECK_TYPES[check_input.check_type].receives_signals else None,
            **validated,
        )
        return await self._add(user, check)

    async def validate(self, userid: str, check_input: CheckInput) -> None:
        """Raise InvalidInput with all errors if the check cannot be added."""
        user = await find_active_user(self.db, userid)
        context = await self._scope(user, check_input.check_type)
        validate_fields(list_given_fields(check_input), context)

    async def _add(self, user: ActiveUser, check: Scheduled) -> Scheduled:
        try:
            await commit(self.db, [self.db.reserve_check(user, check_count=1), self.db.create(check)])
        except Taken:
            raise EditConflict("check") from None
        except Conflict as conflict:
            raise _explain_limit(conflict.current) from conflict
        return check

    async def repair_count(self, userid: str) -> int:
        """Correct and return the counter of checks."""
        await find_user(self.db, userid)
        return await repair_count(self.db, userid)

    # ── changing ─────────────────────────────────────────────────────────────────────────────────────────────────────
    async def edit(self, userid: str, checkid: str, changes: CheckChanges) -> Check:
        """Change the given fields; the history stays."""
        return await retry_on_conflict(lambda: self._edit(userid, checkid, changes), "check")

    async def _edit(self, userid: str, checkid: str, changes: CheckChanges) -> Check:
        check = await find_own_check(self.db, userid, checkid)
        user = await find_active_user(self.db, userid)
        if isinstance(check, ForeignCheck):
            raise StateConflict(f"This check is {check.status}: it can be seen and deleted.")
        if changes.seen is not None and changes.seen != (check.revision or 0):
            raise EditConflict("check")
        context = await self._scope(user, check.check_type, check.attributes)
        validated: dict[str, Any] = validate_fields(list_given_fields(changes), context)
        edited = await self.db.edit(
            check,
            updated_at=from_ms(self.clock.millis()),
            revision=(check.revision or 0) + 1,
            seen=check.revision,
            **validated,
        )
        return await self._bring_forward(edited) if edited.delay_ms < check.delay_ms else edited

    async def _bring_forward(self, check: Check) -> Check:
        """Reschedule a check with a shorter delay, so that it does not wait for its old due time."""
        if not isinstance(check, Scheduled) or check.due_at is not None:
            return check
        soon = from_ms(self._find_due_time(check.checkid, read_delay(check)))
        if check.last_executed_at is not None:  # edits are no way to run it more often
            soon = max(soon, check.last_executed_at + timedelta(milliseconds=read_delay(check)))
        if soon < check.next_run_at:
            with suppress(Conflict):
                return await self.db.reschedule(check, next_run_at=soon)
        return check

    def _find_due_time(self, checkid: str, delay_ms: int) -> int:
        now = self.clock.millis()
        return next_due_time(checkid, delay_ms, due_at=now - delay_ms, now=now)

    async def _find_first_run(self, user: User, checkid: str, check_type: str, delay_ms: int) -> int:
        """Return when a new or resumed check is due: at once, or without a budget for that, at its regular time."""
        requests_nothing = check_type in CHECK_TYPES and CHECK_TYPES[check_type].probe is None
        limit = None if requests_nothing else self.manual_runs
        if limit is None or await limit.try_consume(user.userid, read_tier(user.tier)):
            return first_due_time(self.clock.millis())
        return self._find_due_time(checkid, delay_ms)

    async def pause(self, userid: str, checkid: str) -> AnyCheck:
        """Pause a check: an open incident ends as interrupted, the history stays."""
        await retry_on_conflict(lambda: self._pause(userid, checkid), "check")
        return await find_own_check(self.db, userid, checkid)

    async def _pause(self, userid: str, checkid: str) -> None:
        check = await find_own_check(self.db, userid, checkid)
        user = await find_user(self.db, userid)
        if isinstance(check, Paused):
            return
        if not isinstance(check, Active):
            raise StateConflict(f"This check is {check.status}: it is not being run.")
        await pause_check(self.db, check, user.tier, self.clock.millis())

    async def resume(self, userid: str, checkid: str) -> AnyCheck:
        """Resume a check; raise LimitReached if the user has more checks than the tier allows."""
        await retry_on_conflict(lambda: self._resume(userid, checkid), "check")
        return await find_own_check(self.db, userid, checkid)

    async def _resume(self, userid: str, checkid: str) -> None:
        check = await find_own_check(self.db, userid, checkid)
        user = await find_active_user(self.db, userid)
        if isinstance(check, Scheduled):
            return
        if isinstance(check, ForeignCheck):
            raise StateConflict(f"This check is {check.status}: it can be seen and deleted.")
        if user.check_count is None:
            await repair_count(self.db, userid)
        elif user.check_count > user.check_limit:
            raise _explain_limit(user)
        now = from_ms(self.clock.millis())
        first = await self._find_first_run(user, checkid, check.check_type, read_delay(check))
        schedule = self.db.schedule(check, updated_at=now, next_run_at=from_ms(first))
        await commit(self.db, [schedule, self.db.is_within_limit(user)])

    async def run_now(self, userid: str, checkid: str) -> RunReport:
        """Run a check at once and return the outcome; its next due time stays."""
        check = await find_own_check(self.db, userid, checkid)
        user = await find_active_user(self.db, userid)
        if not isinstance(check, Scheduled):
            raise StateConflict(f"This check is {_describe(check)}: resume it first.")
        if self.runs is None:
            raise StateConflict("Checks cannot be run by hand here.")
        if self.manual_runs is not None:
            await self.manual_runs.consume(userid, read_tier(user.tier))
        claim = await self.runs.claim(check)
        if claim is None:
            raise StateConflict("This check is being run right now.")
        finished = await self.runs.perform(claim, shift=False)
        if finished is None:
            raise EditConflict("check")
        return finished

    async def delete(self, userid: str, checkid: str) -> None:
        """Delete a check and everything kept about it."""
        check = await find_own_check(self.db, userid, checkid)
        await delete_check_data(self.db, check, self.clock.millis())

    async def _scope(self, user: User, check_type: str, stored: dict[str, Any] | None = None) -> ValidationContext:
        channels = await self.db.alert_targets(user.userid)
        return ValidationContext(
            check_type=check_type,
            tier=read_tier(user.tier),
            own_origins=self.own_origins,
            channels=frozenset(channel.channel_id for channel in channels),
            stored=stored or {},
        )


def make_signal_key() -> str:
    """Return the secret part of the URL that a job calls."""
    return secrets.token_urlsafe(16)


def _describe(check: AnyCheck) -> str:
    return (
        "out of the schedule" if isinstance(check, SuspendedCheck) or check.status == "ACTIVE" else check.status.lower()
    )


def _explain_limit(user: object) -> ResourceMissing | AccountSuspended | LimitReached:
    """Return why a user cannot add a check, from the current user."""
    if not isinstance(user, User):
        return ResourceMissing("user")
    if not isinstance(user, ActiveUser):
        return AccountSuspended()
    return LimitReached(
        f"The tier {user.tier} allows {user.check_limit} checks, paused ones included: delete one, or change the tier."
    )
