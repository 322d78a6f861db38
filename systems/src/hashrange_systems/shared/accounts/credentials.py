"""The passwords and roles of accounts; a change of either ends all sessions and tokens of the account."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hashrange import Clock, Conflict, Write
from hashrange_systems.shared.accounts.lockout import Lockout
from hashrange_systems.shared.accounts.owners import Owners, commit_for
from hashrange_systems.shared.accounts.password import hash_password, needs_rehash, validate_password, verify_password
from hashrange_systems.shared.accounts.schema import Accounts, AccountState, Credentials, ListedAccount
from hashrange_systems.shared.accounts.server_session import hash_text
from hashrange_systems.shared.epoch import from_ms
from hashrange_systems.shared.errors import SignInRefused, StateConflict


@dataclass(frozen=True, slots=True)
class CredentialChanges:
    """Writes the credentials of accounts."""

    accounts: Accounts
    owners: Owners[object]
    lockout: Lockout
    clock: Clock

    async def find(self, owner: str) -> Credentials | None:
        """Return the credentials of an account; None if it has neither a password nor a role, and nothing was ended."""
        return await self.accounts.credentials(owner).consistent()

    async def find_state(self, owner: str) -> AccountState | None:
        """Return what the sessions of an account depend on; None as `find` does."""
        return await self.accounts.account_state(owner).consistent()

    async def list_accounts(self) -> Sequence[ListedAccount]:
        """Return all accounts with their roles, oldest first: for operators."""
        return await self.accounts.accounts()

    def write_new(self, owner: str, role: str | None = None, password_hash: str | None = None) -> Write[Credentials]:
        """Return the write of a new account, for the transaction that creates its owner."""
        now = from_ms(self.clock.millis())
        return self.accounts.create(Credentials(owner=owner, created_at=now, role=role, password_hash=password_hash))

    async def hash_new(self, password: object, field: str = "password") -> str:
        """Return what is stored of a new password; raise InvalidInput if it is too short or too long."""
        return await hash_password(validate_password(password, field))

    async def set_password(self, owner: str, password: str) -> None:
        """Give an account a password, and end its sessions; raise InvalidInput or AccountSuspended."""
        await self._commit(owner, self.write_password(owner, await self.hash_new(password)))

    async def change_password(self, owner: str, current: str, password: str) -> None:
        """Change a password for who knows the current one, or set the first one.

        Raise SignInRefused, or StateConflict if the account was changed since the current one was read: who knows the
        old password does not undo a new one.
        """
        stored = await self.hash_new(password)
        found = await self.find(owner)
        if found is not None and found.password_hash is not None:
            digest = hash_text(f" current password of {hash_text(owner)}")  # no login begins with a space
            await self.lockout.count(digest)
            if not await verify_password(found.password_hash, current):
                raise SignInRefused(await self.lockout.find_wait_s(digest))
            await self.lockout.forget(digest)
        try:
            await self._commit(owner, self.replace_password(owner, found, stored))
        except Conflict:
            raise StateConflict("The account was changed at the same moment: try again.") from None

    async def change_role(self, owner: str, role: str | None) -> None:
        """Give an account a role, and end its sessions."""
        await self._commit(owner, self.write_role(owner, role))

    def write_password(self, owner: str, password_hash: str) -> Write[Credentials]:
        """Return the write that changes a password, for the transaction of a system."""
        now = from_ms(self.clock.millis())
        return self.accounts.set_password(owner, created_at=now, generation=1, password_hash=password_hash)

    def replace_password(self, owner: str, seen: Credentials | AccountState | None, password_hash: str) -> Write[Any]:
        """Return the write of a password for credentials as they were seen; the transaction raises Conflict if not."""
        if seen is None:
            now = from_ms(self.clock.millis())
            first = Credentials(owner=owner, created_at=now, password_hash=password_hash, generation=1)
            return self.accounts.create(first)
        return self.accounts.reset_password(
            owner, password_hash, generation=1, seen=seen.generation, since=seen.created_at
        )

    def write_role(self, owner: str, role: str | None) -> Write[Credentials]:
        """Return the write that changes a role, for the transaction of a system."""
        return self.accounts.set_role(owner, created_at=from_ms(self.clock.millis()), generation=1, role=role)

    async def rehash(self, credentials: Credentials, password: str) -> None:
        """Hash a password that was just verified with newer parameters, if its hash has older ones."""
        if credentials.password_hash and needs_rehash(credentials.password_hash):
            stored = await hash_password(password)
            try:
                await self.accounts.rehash(credentials.owner, generation=credentials.generation, password_hash=stored)
            except Conflict:  # the password was changed at the same moment
                return

    async def _commit(self, owner: str, write: Write[Any]) -> None:
        await commit_for(self.accounts, self.owners, owner, [write])
