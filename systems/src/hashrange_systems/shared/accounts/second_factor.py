"""The second factor: a secret for an authenticator app, confirmed with a code, and recovery codes.

An attempt is counted before it is looked at, with a condition on the count, so that attempts at the same time do not
get more than one after the other.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from hashrange import Clock, Conflict, Write
from hashrange_systems.shared.accounts.lockout import find_wait_s
from hashrange_systems.shared.accounts.one_time_code import (
    MAX_LOCK_MS,
    clean_code,
    find_latest_step,
    find_lock,
    find_recovery_code,
    find_step,
    hash_recovery_code,
    make_recovery_codes,
    make_secret,
)
from hashrange_systems.shared.accounts.owners import Owners, commit_for
from hashrange_systems.shared.accounts.schema import Accounts, AccountState, SecondFactor
from hashrange_systems.shared.epoch import HOUR_MS, from_ms, to_ms
from hashrange_systems.shared.errors import CodeInvalid, ResourceMissing, StateConflict, TooManyRequests
from hashrange_systems.shared.work.retry import retry_on_conflict

BEGUN_LASTS_MS = HOUR_MS  # a secret that is not confirmed


@dataclass(frozen=True, slots=True)
class AccountFactors:
    """The second factors of all accounts."""

    accounts: Accounts
    owners: Owners[object]
    clock: Clock

    async def find(self, owner: str) -> SecondFactor | None:
        """Return the second factor of an account, confirmed or begun within the hour.

        None if it was begun before the password or the role changed: its secret may be known to who is out since.
        """
        found = await self.accounts.second_factor(owner).consistent()
        if found is None or found.confirmed_at is not None:
            return found
        return found if self._is_current(found, await self.accounts.account_state(owner).consistent()) else None

    def _is_current(self, begun: SecondFactor, state: AccountState | None) -> bool:
        age = self.clock.millis() - to_ms(begun.created_at)
        same = (begun.generation, begun.since) == ((state.generation, state.created_at) if state else (0, None))
        return same and age < BEGUN_LASTS_MS

    async def is_required(self, owner: str) -> bool:
        """Return whether signing in needs a code."""
        found = await self.find(owner)
        return found is not None and found.confirmed_at is not None

    async def begin(self, owner: str) -> SecondFactor:
        """Return a secret that is not confirmed yet: a new one, or the one that was begun within the hour."""
        state = await self.accounts.account_state(owner).consistent()
        new = SecondFactor(
            owner=owner,
            secret=make_secret(),
            created_at=from_ms(self.clock.millis()),
            generation=state.generation if state else 0,
            since=state.created_at if state else None,
        )
        stored = await self.accounts.second_factor(owner).consistent()
        if stored is None or (stored.confirmed_at is None and not self._is_current(stored, state)):
            with suppress(Conflict):  # it was begun at the same moment
                await commit_for(self.accounts, self.owners, owner, [self._write_begun(new, stored)])
                return new
        found = await self.find(owner)
        if found is None or found.confirmed_at is not None:
            raise StateConflict("Two-factor sign-in is already on.")
        return found

    def _write_begun(self, new: SecondFactor, stored: SecondFactor | None) -> Write[Any]:
        if stored is None:
            return self.accounts.create(new)
        return self.accounts.begin_factor_anew(
            new.owner,
            secret=new.secret,
            created_at=new.created_at,
            generation=new.generation,
            since=new.since,
            seen=stored.created_at,
        )

    async def confirm(self, owner: str, code: str) -> list[str]:
        """Require a code from now on; return the recovery codes, which are not stored."""
        found = await self.find(owner)
        if found is None or found.confirmed_at is not None:
            raise StateConflict("Begin again: there is nothing to confirm.")
        step = find_step(found.secret, clean_code(code), self.clock.millis(), 0)
        if step is None:
            raise CodeInvalid
        codes = make_recovery_codes()
        hashes = [hash_recovery_code(each) for each in codes]
        try:
            await self.accounts.confirm_factor(
                owner,
                confirmed_at=from_ms(self.clock.millis()),
                last_step=step,
                recovery=hashes,
                seen=found.created_at,
            )
        except Conflict:
            raise StateConflict("Two-factor sign-in is already on.") from None
        return codes

    async def verify(self, owner: str, code: str) -> None:
        """Accept a code once, or a recovery code once; raise CodeInvalid, or TooManyRequests after wrong ones."""
        found = await retry_on_conflict(lambda: self._count(owner), "code")
        step = find_step(found.secret, clean_code(code), self.clock.millis(), self._find_last_step(found))
        if step is not None:
            await self._accept(
                lambda: self.accounts.accept_code(
                    owner, last_step=step, seen=found.last_step, failures=0, locked_until=None
                )
            )
            return
        used = find_recovery_code(code, found.recovery)
        if used is None:
            raise CodeInvalid
        left = [each for each in found.recovery if each != used]
        await self._accept(
            lambda: self.accounts.change_recovery(owner, left, seen=found.recovery, failures=0, locked_until=None)
        )

    def _find_last_step(self, found: SecondFactor) -> int:
        """Return the step after which codes are accepted; one in the future was written by a clock that was wrong."""
        return found.last_step if found.last_step <= find_latest_step(self.clock.millis()) else 0

    async def _count(self, owner: str) -> SecondFactor:
        """Count an attempt before it is looked at; raise TooManyRequests while it is locked."""
        found = await self.find(owner)
        if found is None or found.confirmed_at is None:
            raise ResourceMissing("second factor")
        now = self.clock.millis()
        if wait_s := find_wait_s(found.locked_until, now, MAX_LOCK_MS):
            raise TooManyRequests(wait_s)
        lock = find_lock(found.failures + 1)
        locked_until = None if lock is None else from_ms(now + lock)
        return await self.accounts.count_code(
            owner, failures=found.failures + 1, seen=found.failures, locked_until=locked_until
        )

    async def _accept(self, write: Callable[[], Awaitable[object]]) -> None:
        try:
            await write()
        except Conflict:  # the same code was used at the same moment
            raise CodeInvalid from None

    async def renew_recovery_codes(self, owner: str, code: str) -> list[str]:
        """Return new recovery codes; the others are no longer accepted."""
        await self.verify(owner, code)
        codes = make_recovery_codes()
        hashes = [hash_recovery_code(each) for each in codes]

        async def write() -> None:
            found = await self.find(owner)
            if found is None or found.confirmed_at is None:
                raise ResourceMissing("second factor")
            await self.accounts.change_recovery(owner, hashes, seen=found.recovery)

        await retry_on_conflict(write, "second factor")
        return codes

    async def turn_off(self, owner: str, code: str) -> None:
        """Require no code any more."""
        await self.verify(owner, code)
        await self.accounts.drop_factor(owner)

    async def reset(self, owner: str) -> bool:
        """Remove the second factor without a code, for the operator; return whether there was one."""
        return await self.accounts.drop_factor(owner) is not None
