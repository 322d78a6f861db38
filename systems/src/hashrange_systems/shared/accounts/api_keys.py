"""API keys: named, with a scope; created, shown once, found by their hash, revoked."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, get_args

from hashrange import Clock, Conflict, Write
from hashrange_systems.shared.accounts.owner_name import is_owner
from hashrange_systems.shared.accounts.owners import Owners, commit_for
from hashrange_systems.shared.accounts.schema import Accounts, ApiKey, KeyOwner, Scope
from hashrange_systems.shared.epoch import from_ms, to_second
from hashrange_systems.shared.errors import (
    AccountSuspended,
    ApiKeyInvalid,
    FieldError,
    InvalidInput,
    LimitReached,
    ResourceMissing,
)
from hashrange_systems.shared.identifier import MakeId, hash_key, is_valid_id, make_id, make_key
from hashrange_systems.shared.validation import parse_choice
from hashrange_systems.shared.work.retry import retry_on_conflict

User = TypeVar("User")

MAX_KEYS = 20
MAX_NAME_LENGTH = 100
USE_NOTED_EVERY_MS = 60_000
SCOPES: tuple[Scope, ...] = get_args(Scope)


@dataclass(frozen=True, slots=True)
class NewKey:
    """A new key, with its text, which is not stored."""

    key: ApiKey
    text: str


@dataclass(frozen=True, slots=True)
class KeyHolder(Generic[User]):
    """The owner of an API key, as the system knows it."""

    user: User
    key: ApiKey


@dataclass(frozen=True, slots=True)
class ApiKeys(Generic[User]):
    """The API keys of all owners."""

    accounts: Accounts
    owners: Owners[User]
    clock: Clock
    make_id: MakeId = make_id

    async def authenticate(self, text: str) -> KeyHolder[User]:
        """Return who has an API key; raise ApiKeyInvalid, or AccountSuspended."""
        digest = hash_key(text)
        guard = await self.accounts.key_owner(digest).consistent() if digest else None
        key = await self.accounts.api_key(guard.owner, guard.key_id).consistent() if guard else None
        if key is None or key.digest != digest:
            raise ApiKeyInvalid
        user = await self.owners.find_active(key.owner)
        if user is None:
            raise AccountSuspended
        await self._note_use(key)
        return KeyHolder(user, key)

    async def add(self, owner: str, name: str, scope: str = "write") -> NewKey:
        """Add a key of an owner; raise InvalidInput, LimitReached or AccountSuspended."""
        new = self.prepare(owner, name, scope)
        if len(await self.accounts.api_keys(owner).consistent()) >= MAX_KEYS:
            raise LimitReached(f"There may be {MAX_KEYS} API keys: revoke one first.")
        await commit_for(self.accounts, self.owners, owner, self.write(new))
        return new

    def prepare(self, owner: str, name: str, scope: str = "write") -> NewKey:
        """Return a new key of an owner, not yet written; raise InvalidInput."""
        line = name.strip()
        if not line or len(line) > MAX_NAME_LENGTH or not line.isprintable():
            raise InvalidInput([FieldError("name", f"must be a line of 1 to {MAX_NAME_LENGTH} characters")])
        text = make_key()
        digest = hash_key(text)
        assert digest is not None
        key = ApiKey(
            owner=owner,
            key_id=self.make_id(),
            name=line,
            digest=digest,
            scope=parse_choice("scope", scope, SCOPES),
            created_at=from_ms(self.clock.millis()),
        )
        return NewKey(key, text)

    def write(self, new: NewKey) -> list[Write[Any]]:
        """Return the writes of a new key, for the transaction of a system."""
        key = new.key
        guard = KeyOwner(digest=key.digest, owner=key.owner, key_id=key.key_id)
        return [self.accounts.create(key), self.accounts.create(guard)]

    async def list_by_owner(self, owner: str) -> Sequence[ApiKey]:
        """Return the keys of an owner, oldest first."""
        found = await self.accounts.api_keys(owner).consistent() if is_owner(owner) else []
        return sorted(found, key=lambda key: (key.created_at, key.key_id))

    async def revoke(self, owner: str, key_id: str) -> None:
        """Delete a key: it is no longer accepted, and sessions that began with it are over."""
        await retry_on_conflict(lambda: self._revoke(owner, key_id), "API key")

    async def _revoke(self, owner: str, key_id: str) -> None:
        known = is_owner(owner) and is_valid_id(key_id)
        key = await self.accounts.api_key(owner, key_id).consistent() if known else None
        if key is None:
            raise ResourceMissing("API key")
        drop = self.accounts.drop_key(owner, key_id, digest=key.digest)
        await self.accounts.transact(drop, self.accounts.release_key(key.digest, owner=owner)).unread()

    async def _note_use(self, key: ApiKey) -> None:
        """Record the last use of a key, at most once a minute."""
        now = to_second(self.clock.millis())
        before = to_second(self.clock.millis() - USE_NOTED_EVERY_MS)
        if key.last_used_at is not None and before < key.last_used_at <= now:
            return
        with suppress(Conflict):  # another request recorded it, or it was revoked
            await self.accounts.used_key(key.owner, key.key_id, last_used_at=now, before=before)
