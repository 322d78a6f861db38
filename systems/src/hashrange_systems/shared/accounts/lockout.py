"""Counts wrong passwords, and locks who has too many of them for a time that doubles with each further one.

An attempt is counted before it is looked at, with a condition on the count, so that attempts at the same time do not
get more than one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from hashrange import Clock
from hashrange_systems.shared.accounts.password import MAX_LOCK_MS, find_lock_ms
from hashrange_systems.shared.accounts.schema import Accounts, SignInAttempts
from hashrange_systems.shared.epoch import from_ms, to_ms, to_second
from hashrange_systems.shared.errors import SignInRefused
from hashrange_systems.shared.work.retry import retry_on_conflict

FORGOTTEN_AFTER = timedelta(days=1)  # wrong passwords, after the last one


@dataclass(frozen=True, slots=True)
class Lockout:
    """The attempts of all who sign in, each named by a digest."""

    accounts: Accounts
    clock: Clock

    async def count(self, digest: str) -> None:
        """Count an attempt; raise SignInRefused while it is locked."""
        await retry_on_conflict(lambda: self._count(digest), "sign-in")

    async def _count(self, digest: str) -> None:
        now = self.clock.millis()
        found = await self.accounts.attempts(digest).consistent()
        if wait_s := find_wait_s(found.locked_until if found else None, now, MAX_LOCK_MS):
            raise SignInRefused(wait_s)
        seen = found.failures if found else 0
        lock_ms = find_lock_ms(seen + 1)
        locked_until = from_ms(now + lock_ms) if lock_ms else None
        attempts = SignInAttempts(
            digest=digest,
            failures=seen + 1,
            locked_until=locked_until,
            expires_at=to_second(now) + FORGOTTEN_AFTER,
        )
        if found is None:
            await self.accounts.create(attempts)
        else:
            await self.accounts.count_attempt(
                digest,
                failures=attempts.failures,
                seen=seen,
                locked_until=locked_until,
                expires_at=attempts.expires_at,
            )

    async def find_wait_s(self, digest: str) -> int:
        """Return for how many seconds it is locked."""
        found = await self.accounts.attempts(digest).consistent()
        return find_wait_s(found.locked_until if found else None, self.clock.millis(), MAX_LOCK_MS)

    async def forget(self, digest: str) -> None:
        """Start anew, after the right password."""
        await self.accounts.forget_attempts(digest)


def find_wait_s(locked_until: datetime | None, now: int, longest_ms: int) -> int:
    """Return for how many seconds a lock lasts; 0 without one.

    A lock that ends later than any lock may was written by a clock that was wrong, and does not count.
    """
    left = 0 if locked_until is None else to_ms(locked_until) - now
    return -(-left // 1000) if 0 < left <= longest_ms else 0
