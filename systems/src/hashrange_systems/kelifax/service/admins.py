"""The accounts of admins and moderators: owners whose name is their login, with a password and a role.

Signing in, sessions and lockout are those of all accounts (`shared.accounts`). A change of a password or a role ends
the sessions of its account. One admin must remain.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hashrange import Taken, Write
from hashrange_systems.kelifax.record_item import Role
from hashrange_systems.kelifax.schema import KelifaxAccounts
from hashrange_systems.kelifax.service.actor import Actor
from hashrange_systems.shared.accounts.account_services import AccountServices
from hashrange_systems.shared.accounts.password import validate_password
from hashrange_systems.shared.accounts.schema import ListedAccount, Login
from hashrange_systems.shared.errors import (
    AccountSuspended,
    FieldError,
    InvalidInput,
    ResourceMissing,
    StateConflict,
)
from hashrange_systems.shared.work.retry import retry_on_conflict

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{1,39}")
ROLES: tuple[Role, ...] = ("moderator", "admin")


@dataclass(frozen=True, slots=True)
class AdminOwners:
    """The accounts as owners: who has a role may act, and an account is there as long as its login."""

    db: KelifaxAccounts

    async def find_active(self, owner: str) -> Actor | None:
        """Return the name and the role of an account."""
        found = await self.db.credentials(owner).consistent()
        role = next((each for each in ROLES if found and each == found.role), None)
        return Actor(owner, role) if role else None

    def ensure_active(self, owner: str) -> Write[Login]:
        """Return the condition that there is the account."""
        return self.db.has_login(owner, owner=owner)


@dataclass(frozen=True, slots=True)
class Admins:
    """Adds, changes, removes and lists accounts; before it stores a password it ensures that others can read it."""

    db: KelifaxAccounts
    accounts: AccountServices[Actor]
    verify_keys: Callable[[], None]

    async def add(self, name: str, password: str, role: str, actor: Actor) -> Actor:
        """Add an account."""
        actor.require_admin("add accounts")
        errors = [] if NAME.fullmatch(name) else [FieldError("name", "must have 2 to 40 of a-z, 0-9 and . _ -")]
        known = next((each for each in ROLES if each == role), None)
        if known is None:
            errors.append(FieldError("role", f"must be one of {', '.join(ROLES)}"))
        try:
            validate_password(password)
        except InvalidInput as error:
            errors += error.errors
        if errors or known is None:
            raise InvalidInput(errors)
        self.verify_keys()
        password_hash = await self.accounts.credentials.hash_new(password)
        credentials = self.accounts.credentials.write_new(name, known, password_hash)
        try:
            await self.db.transact(self.accounts.logins.claim(name, name), credentials).unread()
        except Taken:
            raise StateConflict(f"There is an account {name} already.") from None
        return Actor(name, known)

    async def change_password(self, name: str, password: str, actor: Actor) -> None:
        """Give an account another password, and end its sessions."""
        if name != actor.name:
            actor.require_admin("change passwords of others")
        self.verify_keys()
        try:
            await self.accounts.credentials.set_password(name, password)
        except AccountSuspended:
            raise ResourceMissing("account") from None

    async def change_role(self, name: str, role: Role, actor: Actor) -> None:
        """Give an account another role, and end its sessions; one admin must remain."""
        actor.require_admin("change roles")
        credentials = self.accounts.credentials
        if role != "admin":
            await self._change(name, lambda: [credentials.write_role(name, role), self.db.has_login(name, owner=name)])
            return
        try:
            await credentials.change_role(name, role)
        except AccountSuspended:
            raise ResourceMissing("account") from None

    async def remove(self, name: str, actor: Actor) -> None:
        """Delete an account; its sessions end. One admin must remain."""
        actor.require_admin("remove accounts")
        logins = self.accounts.logins
        await self._change(name, lambda: [self.db.drop_credentials(name), logins.release(name, name)])

    async def list_all(self) -> Sequence[ListedAccount]:
        """Return all accounts."""
        return sorted(await self.accounts.credentials.list_accounts(), key=lambda each: each.owner)

    async def _change(self, name: str, make_writes: Callable[[], list[Write[Any]]]) -> None:
        """Write if the account is there and another admin remains, who is made sure of in the same transaction."""

        async def attempt() -> None:
            if await self.accounts.logins.find_owner(name) is None:
                raise ResourceMissing("account")
            other = await self._find_other_admin(name)
            await self.db.transact_all([*make_writes(), self.db.has_role(other, role="admin")]).unread()

        await retry_on_conflict(attempt, "account")

    async def _find_other_admin(self, name: str) -> str:
        for each in await self.list_all():
            found = None if each.owner == name else await self.db.credentials(each.owner).consistent()
            if found is not None and found.role == "admin":
                return found.owner
        raise StateConflict("One admin must remain: add another one first.")
