"""Two-factor sign-in: a secret for an authenticator app, confirmed with a code, and recovery codes.

An attempt is counted before it is looked at, with a condition on the count, so that attempts at the same time do not
get more than one after the other.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hashrange import Conflict, Taken
from hashrange_systems.checks.schema import Checks, TwoFactor
from hashrange_systems.shared.accounts.one_time_code import (
    clean_code,
    find_lock,
    find_recovery_code,
    find_step,
    hash_recovery_code,
    make_recovery_codes,
    make_secret,
)
from hashrange_systems.shared.epoch import from_ms, to_ms
from hashrange_systems.shared.errors import CodeInvalid, ResourceMissing, StateConflict, TooManyRequests
from hashrange_systems.shared.work.retry import retry_on_conflict

if TYPE_CHECKING:
    from hashrange import Clock


@dataclass(frozen=True, slots=True)
class SecondFactors:
    """The second factors of all users."""

    db: Checks
    clock: Clock

    async def find(self, userid: str) -> TwoFactor | None:
        """Return the second factor of a user, confirmed or not."""
        return await self.db.two_factor(userid).consistent()

    async def is_required(self, userid: str) -> bool:
        """Return whether signing in needs a code."""
        found = await self.find(userid)
        return found is not None and found.confirmed_at is not None

    async def begin(self, userid: str) -> TwoFactor:
        """Return a secret that is not confirmed yet: a new one, or the one that was begun before."""
        new = TwoFactor(userid=userid, secret=make_secret(), created_at=from_ms(self.clock.millis()))
        try:
            return await self.db.create(new)
        except Taken:
            found = await self.find(userid)
        if found is None or found.confirmed_at is not None:
            raise StateConflict("Two-factor sign-in is already on.")
        return found

    async def confirm(self, userid: str, code: str) -> list[str]:
        """Require a code from now on; return the recovery codes, which are not stored."""
        found = await self.find(userid)
        if found is None or found.confirmed_at is not None:
            raise StateConflict("Begin again: there is nothing to confirm.")
        step = find_step(found.secret, clean_code(code), self.clock.millis(), found.last_step)
        if step is None:
            raise CodeInvalid
        codes = make_recovery_codes()
        try:
            await self.db.confirm_two_factor(
                userid,
                confirmed_at=from_ms(self.clock.millis()),
                last_step=step,
                recovery=[hash_recovery_code(each) for each in codes],
            )
        except Conflict:
            raise StateConflict("Two-factor sign-in is already on.") from None
        return codes

    async def verify(self, userid: str, code: str) -> None:
        """Accept a code once, or a recovery code once; raise CodeInvalid, or TooManyRequests after wrong ones."""
        found = await retry_on_conflict(lambda: self._count(userid), "code")
        now = self.clock.millis()
        step = find_step(found.secret, clean_code(code), now, found.last_step)
        if step is not None:
            await self._accept(
                lambda: self.db.accept_code(userid, step=step, last_step=step, failures=0, locked_until=None)
            )
            return
        used = find_recovery_code(code, found.recovery)
        if used is None:
            raise CodeInvalid
        left = [each for each in found.recovery if each != used]
        await self._accept(
            lambda: self.db.change_recovery(userid, left, seen=found.recovery, failures=0, locked_until=None)
        )

    async def _count(self, userid: str) -> TwoFactor:
        """Count an attempt before it is looked at; raise TooManyRequests while it is locked."""
        found = await self.find(userid)
        if found is None or found.confirmed_at is None:
            raise ResourceMissing("second factor")
        now = self.clock.millis()
        if found.locked_until is not None and to_ms(found.locked_until) > now:
            raise TooManyRequests(-(-(to_ms(found.locked_until) - now) // 1000))
        lock = find_lock(found.failures + 1)
        locked_until = None if lock is None else from_ms(now + lock)
        return await self.db.reject_code(
            userid, failures=found.failures + 1, seen=found.failures, locked_until=locked_until
        )

    async def _accept(self, write: Callable[[], Awaitable[object]]) -> None:
        try:
            await write()
        except Conflict:  # the same code was used at the same moment
            raise CodeInvalid from None

    async def renew_recovery_codes(self, userid: str, code: str) -> list[str]:
        """Return new recovery codes; the others are no longer accepted."""
        await self.verify(userid, code)
        codes = make_recovery_codes()

        async def write() -> None:
            found = await self.find(userid)
            if found is not None:
                hashes = [hash_recovery_code(each) for each in codes]
                await self.db.change_recovery(userid, hashes, seen=found.recovery)

        await retry_on_conflict(write, "second factor")
        return codes

    async def turn_off(self, userid: str, code: str) -> None:
        """Require no code any more."""
        await self.verify(userid, code)
        await self.db.remove_two_factor(userid)

    async def reset(self, userid: str) -> bool:
        """Remove the second factor without a code, for the operator; return whether there was one."""
        found = await self.find(userid)
        if found is None:
            return False
        await self.db.remove_two_factor(userid)
        return True
