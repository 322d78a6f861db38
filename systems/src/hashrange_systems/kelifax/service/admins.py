"""Accounts of admins and moderators: passwords, sessions that the server stores, lockout, roles.

- `sign_in(name, password)`: the text of the cookie; raises SignInRefused, with the seconds to wait if locked.
- `authenticate(cookie)`: the `Actor` of a session; raises SignInRequired.
- `sign_out(cookie)`; `add`, `change_password`, `change_role`, `remove`, `list_all`: for admins and operators.

A session ends after half a day without use, after a week, when it is signed out, and when the password or the role of
its admin changes. The name is not distinguished from the password in any answer or by its time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from hashrange import Clock, Conflict, NotFound, Taken
from hashrange_systems.kelifax.record_item import Admin, AdminSession, Role
from hashrange_systems.kelifax.schema import Kelifax
from hashrange_systems.kelifax.service.actor import Actor
from hashrange_systems.shared.accounts.password import (
    find_lock_ms,
    hash_password,
    needs_rehash,
    validate_password,
    verify_password,
)
from hashrange_systems.shared.accounts.server_session import (
    find_expiry,
    hash_session,
    make_session_secret,
    should_extend,
)
from hashrange_systems.shared.epoch import from_ms, to_ms, to_second
from hashrange_systems.shared.errors import (
    FieldError,
    InvalidInput,
    ResourceMissing,
    SignInRefused,
    SignInRequired,
    StateConflict,
)

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{1,39}")
FORGOTTEN_AFTER = timedelta(days=1)  # wrong passwords, after the last one
ROLES: tuple[Role, ...] = ("moderator", "admin")


@dataclass(frozen=True, slots=True)
class Admins:
    """The accounts of the admin side."""

    db: Kelifax
    clock: Clock

    # ── sessions ─────────────────────────────────────────────────────────────────────────────────────────────────────
    async def sign_in(self, name: str, password: str) -> str:
        """Return the cookie of a new session; raise SignInRefused."""
        name = name.strip().lower()
        possible = NAME.fullmatch(name) is not None
        known = await self.db.admin(name).consistent() if possible else None
        attempts = await self.db.sign_in_attempts(name).consistent() if possible else None
        now = self.clock.millis()
        if attempts and attempts.locked_until and to_ms(attempts.locked_until) > now:
            raise SignInRefused((to_ms(attempts.locked_until) - now) // 1000 + 1)
        if not await verify_password(known.password_hash if known else None, password) or known is None:
            raise SignInRefused(await self._note_failure(name) if possible else 0)
        if attempts:
            await self.db.forget_attempts(name)
        if needs_rehash(known.password_hash):
            await self.db.rehash(name, password_hash=await hash_password(password))
        return await self.start_session(known)

    async def _note_failure(self, name: str) -> int:
        """Count a wrong password; return for how many seconds the name is locked now."""
        now = from_ms(self.clock.millis())
        counted = await self.db.sign_in_failed(name, failures=1, expires_at=now + FORGOTTEN_AFTER)
        lock_ms = find_lock_ms(counted.failures)
        if lock_ms:
            await self.db.lock(name, locked_until=now + timedelta(milliseconds=lock_ms))
        return lock_ms // 1000

    async def start_session(self, admin: Admin) -> str:
        """Return the cookie of a new session of an account whose password was checked."""
        secret, now = make_session_secret(), self.clock.millis()
        session = AdminSession(
            digest=secret.digest,
            name=admin.name,
            generation=admin.generation,
            created_at=from_ms(now),
            expires_at=to_second(find_expiry(now, now)),
        )
        await self.db.create(session)
        return secret.text

    async def authenticate(self, cookie: str | None) -> Actor:
        """Return who a cookie belongs to; raise SignInRequired."""
        digest = hash_session(cookie)
        session = await self.db.admin_session(digest).consistent() if digest else None
        admin = await self.db.admin(session.name).consistent() if session else None
        if session is None or admin is None or admin.generation != session.generation:
            raise SignInRequired
        now, created = self.clock.millis(), to_ms(session.created_at)
        if should_extend(to_ms(session.expires_at), created, now):
            with suppress(NotFound):
                await self.db.extend_session(session.digest, expires_at=to_second(find_expiry(created, now)))
        return Actor(admin.name, admin.role)

    async def sign_out(self, cookie: str | None) -> None:
        """End a session."""
        if digest := hash_session(cookie):
            await self.db.drop_session(digest)

    # ── accounts ─────────────────────────────────────────────────────────────────────────────────────────────────────
    async def add(self, name: str, password: str, role: str, actor: Actor) -> Admin:
        """Add an account."""
        actor.require_admin("add accounts")
        errors = [] if NAME.fullmatch(name) else [FieldError("name", "must have 2 to 40 of a-z, 0-9 and . _ -")]
        if role not in ROLES:
            errors.append(FieldError("role", f"must be one of {', '.join(ROLES)}"))
        try:
            validate_password(password)
        except InvalidInput as error:
            errors += error.errors
        if errors:
            raise InvalidInput(errors)
        account = Admin(
            name=name,
            role="admin" if role == "admin" else "moderator",
            password_hash=await hash_password(password),
            created_at=from_ms(self.clock.millis()),
        )
        try:
            return await self.db.create(account)
        except Taken:
            raise StateConflict(f"There is an account {name} already.") from None

    async def change_password(self, name: str, password: str, actor: Actor) -> None:
        """Give an account another password, and end its sessions."""
        if name != actor.name:
            actor.require_admin("change passwords of others")
        password_hash = await hash_password(validate_password(password))
        await self._change(name, password_hash=password_hash)

    async def change_role(self, name: str, role: Role, actor: Actor) -> None:
        """Give an account another role, and end its sessions; one admin must remain."""
        actor.require_admin("change roles")
        if role != "admin":
            await self._require_another_admin(name)
        await self._change(name, role=role)

    async def _change(self, name: str, **changes: object) -> None:
        try:
            await self.db.change_admin(name, generation=1, **changes)  # type: ignore[arg-type]  # a hash or a role
        except Conflict:
            raise ResourceMissing("account") from None

    async def remove(self, name: str, actor: Actor) -> None:
        """Delete an account; its sessions end. One admin must remain."""
        actor.require_admin("remove accounts")
        await self._require_another_admin(name)
        if await self.db.drop_admin(name) is None:
            raise ResourceMissing("account")

    async def _require_another_admin(self, name: str) -> None:
        others = [each for each in await self.list_all() if each.role == "admin" and each.name != name]
        if not others:
            raise StateConflict("One admin must remain: add another one first.")

    async def list_all(self) -> Sequence[Admin]:
        """Return all accounts; never show their hashes."""
        return await self.db.admins().consistent()
