"""Users: add, find, change tier, suspend, reinstate, delete with everything that belongs to them.

E-mail addresses are unique: a guard item for the case-folded form is written and deleted together with the user.
Actions with many transactions have an order that lets them be repeated after a crash.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

from hashrange import Conflict, NotFound, Page, Taken, Write
from hashrange_systems.checks.errors import EmailTaken
from hashrange_systems.checks.model.schedule import next_due_time
from hashrange_systems.checks.model.tier import Tier, choose_tier, find_excess
from hashrange_systems.checks.schema import (
    Active,
    ActiveUser,
    AnyCheck,
    Channel,
    Checks,
    ClosingUser,
    EmailClaim,
    Failed,
    Paused,
    SuspendedCheck,
    SuspendedUser,
    User,
)
from hashrange_systems.checks.service.api_keys import Keys
from hashrange_systems.checks.service.channels import Channels, NewChannel, find_address
from hashrange_systems.checks.service.check_deletion import delete_check_data
from hashrange_systems.checks.service.commit import commit
from hashrange_systems.checks.service.ownership import find_user
from hashrange_systems.checks.service.status_pages import Pages
from hashrange_systems.checks.service.stored_options import read_delay
from hashrange_systems.checks.service.unschedule import pause_check, suspend_schedule
from hashrange_systems.shared.email_address import fold_email, validate_email
from hashrange_systems.shared.epoch import from_ms, to_ms
from hashrange_systems.shared.errors import ResourceMissing, StateConflict
from hashrange_systems.shared.identifier import MakeId, make_id
from hashrange_systems.shared.work.retry import retry_on_conflict

if TYPE_CHECKING:
    from hashrange import Clock

AT_ONCE = 8
FIRST_KEY = "first key"


@dataclass(frozen=True, slots=True)
class NewUser:
    """A new user, with the first API key, and the token to send to the e-mail address only."""

    user: ActiveUser
    key: str
    channel: Channel
    token: str


@dataclass(frozen=True, slots=True)
class NewEmail:
    """A user with a new e-mail address; the channel is None if it existed already."""

    user: User
    channel: NewChannel | None


@dataclass(frozen=True, slots=True)
class Users:
    """All users."""

    db: Checks
    clock: Clock
    make_id: MakeId = make_id

    # ── taking in and finding ────────────────────────────────────────────────────────────────────────────────────────
    async def create(self, email: str, tier: str = "FREE") -> NewUser:
        """Add a user with a first API key and an unverified channel to the address."""
        address, chosen = validate_email(email), choose_tier(tier)
        await self._refuse_taken(address)
        user = self._make(address, chosen)
        keys = Keys(self.db, self.clock, self.make_id)
        key = keys.prepare(user.userid, FIRST_KEY)
        mail = self._channels().prepare_address(user.userid, address)
        writes: list[Write[Any]] = [self.db.create(user), self._claim(address, user.userid)]
        try:
            await commit(self.db, [*writes, *keys.write(key), self.db.create(mail.channel)])
        except Taken:
            raise EmailTaken from None
        return NewUser(user, key.text, mail.channel, mail.token)

    async def find(self, userid: str) -> User:
        """Return a user by id."""
        return await find_user(self.db, userid)

    async def by_email(self, email: str) -> User:
        """Return a user by e-mail address, case-insensitive."""
        address = validate_email(email)
        claim = await self.db.claim(fold_email(address)).consistent()
        userid = claim.owner if claim else await self._find_unguarded(address)
        if userid is None:
            raise ResourceMissing("user")
        return await find_user(self.db, userid)

    async def page(self, size: int = 100, after: str | None = None) -> Page[User]:
        """Return a page of all users, in no order, by a scan: for operators."""
        return await self.db.all_users().page(size, after=after)

    async def _find_unguarded(self, address: str) -> str | None:
        """Return a user of the original system with this address, who has no guard item."""
        for spelling in dict.fromkeys((address, fold_email(address))):
            login = await self.db.login(spelling).first()
            if login is not None:
                return login.userid
        return None

    async def _refuse_taken(self, address: str) -> None:
        if await self._find_unguarded(address) is not None:
            raise EmailTaken

    def _make(self, address: str, tier: Tier) -> ActiveUser:
        now = from_ms(self.clock.millis())
        return ActiveUser(
            userid=self.make_id(),
            email=address,
            tier=tier.name,
            check_limit=tier.check_limit,
            check_count=0,
            created_at=now,
            updated_at=now,
        )

    def _claim(self, address: str, userid: str) -> Write[EmailClaim]:
        return self.db.create(EmailClaim(address=fold_email(address), owner=userid))

    def _channels(self) -> Channels:
        return Channels(self.db, self.clock, make_id=self.make_id)

    # ── another address ──────────────────────────────────────────────────────────────────────────────────────────────
    async def change_email(self, userid: str, email: str) -> NewEmail:
        """Change the address of a user; the old one is free at once, and the new one must be verified."""
        address = validate_email(email)
        return await retry_on_conflict(lambda: self._change_email(userid, address), "user")

    async def request_email(self, userid: str, email: str) -> NewEmail:
        """Ask for another address: it becomes the user's when it is confirmed, and until then it is nobody's."""
        address = validate_email(email)
        user = await find_user(self.db, userid)
        known = find_address(await self.db.channels(userid).consistent(), address)
        is_own = fold_email(user.email) == fold_email(address)
        if is_own and known is None:  # its channel was removed: the message counts like any other
            mail = await self._channels().add(userid, "EMAIL", address)
            return NewEmail((await self.change_email(userid, address)).user, mail)
        if is_own or (known and known.verified_at):
            return await self.change_email(userid, address)
        claim = await self.db.claim(fold_email(address)).consistent()
        if claim is not None and claim.owner != userid:
            raise EmailTaken
        await self._refuse_taken(address)
        if known is None:
            mail = await self._channels().add(userid, "EMAIL", address)
        else:
            mail = await self._channels().resend_verification(userid, known.channel_id)
        await self.db.want_email(userid, address, updated_at=from_ms(self.clock.millis()))
        return NewEmail(await find_user(self.db, userid), mail)

    async def confirm_email(self, channel: Channel) -> None:
        """Make a confirmed address the user's, if the user asked for that; raise EmailTaken if another was faster."""
        user = await find_user(self.db, channel.userid)
        if user.wanted_email is not None and fold_email(user.wanted_email) == fold_email(channel.target):
            await self.change_email(user.userid, user.wanted_email)

    async def _change_email(self, userid: str, address: str) -> NewEmail:
        user = await find_user(self.db, userid)
        known = find_address(await self.db.channels(userid).consistent(), address)
        mail = None if known else self._channels().prepare_address(userid, address)
        writes = await self._move_guard(user, address)
        at = from_ms(self.clock.millis())
        writes.insert(0, self.db.change_email(user, email=address, updated_at=at, wanted_email=None))
        if mail:
            writes.append(self.db.create(mail.channel))
        try:
            await commit(self.db, writes)
        except Taken:
            raise EmailTaken from None
        return NewEmail(await find_user(self.db, userid), mail)

    async def _move_guard(self, user: User, address: str) -> list[Write[Any]]:
        """Return the writes that claim the new address and release the old one."""
        old, new = fold_email(user.email), fold_email(address)
        held = await self.db.claim(old).consistent()
        guarded = held is not None and held.owner == user.userid
        if old == new:
            return [] if guarded else [self._claim(new, user.userid)]
        await self._refuse_taken(address)
        release: list[Write[Any]] = [self.db.release_email(old, owner=user.userid)] if guarded else []
        return [self._claim(new, user.userid), *release]

    # ── tiers ────────────────────────────────────────────────────────────────────────────────────────────────────────
    async def change_tier(self, userid: str, tier: str) -> User:
        """Change the tier of a user; pause the newest checks above its limit, and raise delays below its minimum."""
        chosen = choose_tier(tier)
        await find_user(self.db, userid)
        now = from_ms(self.clock.millis())
        with suppress(NotFound):
            await self.db.change_tier(userid, chosen.name, check_limit=chosen.check_limit, updated_at=now)  # type: ignore[arg-type]  # choose_tier knows
        checks = await self.db.checks_of(userid)
        excess = find_excess({check.checkid: to_ms(check.created_at) for check in checks}, chosen.check_limit)
        await self._each(excess, lambda checkid: self._pause(checkid, chosen))
        hasty = [check.checkid for check in checks if check.delay_ms < chosen.shortest_delay_ms]
        await self._each(hasty, lambda checkid: self._slow_down(checkid, chosen))
        return await find_user(self.db, userid)

    async def _pause(self, checkid: str, tier: Tier) -> None:
        check = await self.db.check(checkid).consistent()
        if isinstance(check, Active):
            await pause_check(self.db, check, tier.name, self.clock.millis())

    async def _slow_down(self, checkid: str, tier: Tier) -> None:
        check = await self.db.check(checkid).consistent()
        if not isinstance(check, Active | Paused | Failed) or check.delay_ms >= tier.shortest_delay_ms:
            return
        await self.db.edit(
            check,
            updated_at=from_ms(self.clock.millis()),
            revision=(check.revision or 0) + 1,
            seen=check.revision,
            delay_ms=tier.shortest_delay_ms,
        )

    # ── suspension ───────────────────────────────────────────────────────────────────────────────────────────────────
    async def suspend(self, userid: str) -> User:
        """Suspend a user and unschedule the checks; repeat it if it was interrupted."""
        user = await find_user(self.db, userid)
        now = from_ms(self.clock.millis())
        if isinstance(user, ActiveUser):
            user = await self._move(userid, self.db.suspend(user, updated_at=now))
        if not isinstance(user, SuspendedUser):
            raise StateConflict(f"This user is {user.status}.")
        scheduled = [check.checkid for check in await self.db.checks_of(userid) if _is_running(check)]
        await self._each(scheduled, lambda checkid: self._suspend_check(userid, checkid))
        return await find_user(self.db, userid)

    async def _suspend_check(self, userid: str, checkid: str) -> None:
        user = await self.db.user(userid).consistent()
        check = await self.db.check(checkid).consistent()
        if isinstance(user, SuspendedUser) and check is not None and _is_running(check):
            await suspend_schedule(self.db, user, check, self.clock.millis())

    async def reinstate(self, userid: str) -> User:
        """Reinstate a user and schedule the checks again; repeat it if it was interrupted."""
        user = await find_user(self.db, userid)
        now = from_ms(self.clock.millis())
        if isinstance(user, SuspendedUser):
            user = await self._move(userid, self.db.reinstate(user, updated_at=now))
        if not isinstance(user, ActiveUser):
            raise StateConflict(f"This user is {user.status}.")
        suspended = [check.checkid for check in await self.db.checks_of(userid) if isinstance(check, SuspendedCheck)]
        await self._each(suspended, lambda checkid: self._resume_schedule(userid, checkid))
        return await find_user(self.db, userid)

    async def _resume_schedule(self, userid: str, checkid: str) -> None:
        """Schedule a check at its regular due time, so that not all run at the same moment."""
        user = await self.db.user(userid).consistent()
        check = await self.db.check(checkid).consistent()
        if isinstance(user, ActiveUser) and isinstance(check, SuspendedCheck):
            now, delay_ms = self.clock.millis(), read_delay(check)
            due_at = next_due_time(checkid, delay_ms, due_at=now - delay_ms, now=now)
            resume = self.db.resume_schedule(check, next_run_at=from_ms(due_at))
            await commit(self.db, [resume, self.db.is_active(user)])

    async def _move(self, userid: str, move: Awaitable[User]) -> User:
        try:
            return await move
        except Conflict:  # another process did the same, or deleted the user
            return await find_user(self.db, userid)

    # ── deletion ─────────────────────────────────────────────────────────────────────────────────────────────────────
    async def delete(self, userid: str) -> None:
        """Delete a user and everything that belongs to them; repeat it if it was interrupted.

        The user is deleted last, and until then is CLOSING: nothing can be added, and the address stays taken.
        """
        await find_user(self.db, userid)
        await retry_on_conflict(lambda: self._close(userid), "user")
        await self._revoke_keys(userid)
        checks = [check.checkid for check in await self.db.checks_of(userid)]
        await self._each(checks, self._delete_check)
        await Pages(self.db, self.clock).unpublish_all(userid)
        second = await self.db.two_factor(userid)
        ended = await self.db.ended_sessions(userid).with_expired()
        channels = await self.db.channels(userid).consistent()
        await self.db.batch(delete=[*channels, *ended, *([second] if second else [])])
        await retry_on_conflict(lambda: self._delete_last(userid), "user")

    async def _close(self, userid: str) -> None:
        user = await self.db.user(userid).consistent()
        if user is not None and not isinstance(user, ClosingUser):
            with suppress(NotFound):  # another process deleted the user at the same time
                await self.db.close(user, updated_at=from_ms(self.clock.millis()))

    async def _revoke_keys(self, userid: str) -> None:
        keys = Keys(self.db, self.clock)
        for key in await self.db.api_keys(userid).consistent():
            with suppress(ResourceMissing):
                await keys.revoke(userid, key.key_id)

    async def _delete_check(self, checkid: str) -> None:
        check = await self.db.check(checkid).consistent()
        if check is not None:
            await delete_check_data(self.db, check, self.clock.millis())

    async def _delete_last(self, userid: str) -> None:
        user = await self.db.user(userid).consistent()
        if user is None:  # another process deleted the user at the same time
            return
        address = fold_email(user.email)
        held = await self.db.claim(address).consistent()
        writes: list[Write[Any]] = [self.db.delete_user(userid, email=user.email)]
        if held is not None and held.owner == userid:
            writes.append(self.db.release_email(address, owner=userid))
        await commit(self.db, writes)

    # ── many at once ─────────────────────────────────────────────────────────────────────────────────────────────────
    async def _each(self, checkids: Iterable[str], step: Callable[[str], Awaitable[None]]) -> None:
        """Run a step for many checks concurrently, each with retries on conflict."""
        room = asyncio.Semaphore(AT_ONCE)

        async def do(checkid: str) -> None:
            async with room:
                await retry_on_conflict(lambda: step(checkid), "check")

        await asyncio.gather(*map(do, checkids))


def _is_running(check: AnyCheck) -> TypeGuard[Active]:
    return isinstance(check, Active) and not isinstance(check, SuspendedCheck)
