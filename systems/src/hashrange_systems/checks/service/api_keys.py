"""API keys: created, shown once, found by their hash, revoked."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hashrange import Conflict, Write
from hashrange_systems.checks.schema import ActiveUser, ApiKey, Checks, KeyClaim
from hashrange_systems.checks.service.commit import commit
from hashrange_systems.checks.service.ownership import find_active_user, find_user
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
from hashrange_systems.shared.work.retry import retry_on_conflict

if TYPE_CHECKING:
    from hashrange import Clock

MAX_KEYS = 20
MAX_NAME_LENGTH = 100
USE_NOTED_EVERY_MS = 60_000


@dataclass(frozen=True, slots=True)
class NewKey:
    """A new key, with its text, which is not stored."""

    key: ApiKey
    text: str


@dataclass(frozen=True, slots=True)
class Keys:
    """The API keys of all users."""

    db: Checks
    clock: Clock
    make_id: MakeId = make_id

    async def authenticate(self, text: str) -> ActiveUser:
        """Return the user of an API key; raise ApiKeyInvalid."""
        digest = hash_key(text)
        claim = await self.db.key_owner(digest).consistent() if digest else None
        user = await self.db.user(claim.owner).consistent() if claim else None
        if claim is None or user is None:
            raise ApiKeyInvalid
        if not isinstance(user, ActiveUser):
            raise AccountSuspended
        await self._note_use(claim)
        return user

    async def add(self, userid: str, name: str) -> NewKey:
        """Add a key for a user."""
        user = await find_active_user(self.db, userid)
        if len(await self.db.api_keys(userid).consistent()) >= MAX_KEYS:
            raise LimitReached(f"There may be {MAX_KEYS} API keys: revoke one first.")
        new = self.prepare(userid, name)
        try:
            await commit(self.db, [self.db.is_active(user), *self.write(new)])
        except Conflict:
            raise AccountSuspended from None
        return new

    async def list_by_user(self, userid: str) -> Sequence[ApiKey]:
        """Return a user's keys, oldest first."""
        await find_user(self.db, userid)
        found = await self.db.api_keys(userid).consistent()
        return sorted(found, key=lambda key: (key.created_at, key.key_id))

    async def revoke(self, userid: str, key_id: str) -> None:
        """Delete a key; it is no longer accepted."""
        await retry_on_conflict(lambda: self._revoke(userid, key_id), "API key")

    async def _revoke(self, userid: str, key_id: str) -> None:
        known = is_valid_id(userid) and is_valid_id(key_id)
        key = await self.db.api_key(userid, key_id).consistent() if known else None
        if key is None:
            raise ResourceMissing("API key")
        delete = self.db.delete_key(userid, key_id, digest=key.digest)
        await commit(self.db, [delete, self.db.release_key(key.digest, owner=userid)])

    def prepare(self, userid: str, name: str) -> NewKey:
        """Return a new key for a user, not yet written."""
        if not name.strip() or len(name) > MAX_NAME_LENGTH or not name.isprintable():
            raise InvalidInput([FieldError("name", f"must be a line of 1 to {MAX_NAME_LENGTH} characters")])
        text = make_key()
        digest = hash_key(text)
        assert digest is not None
        now = from_ms(self.clock.millis())
        key = ApiKey(userid=userid, key_id=self.make_id(), name=name.strip(), digest=digest, created_at=now)
        return NewKey(key, text)

    def write(self, new: NewKey) -> list[Write[Any]]:
        """Return the writes of a new key, for a transaction."""
        key = new.key
        claim = KeyClaim(digest=key.digest, owner=key.userid, key_id=key.key_id)
        return [self.db.create(key), self.db.create(claim)]

    async def _note_use(self, claim: KeyClaim) -> None:
        """Record the last use of a key, at most once a minute."""
        now = to_second(self.clock.millis())
        before = to_second(self.clock.millis() - USE_NOTED_EVERY_MS)
        key = await self.db.api_key(claim.owner, claim.key_id)
        if key is None or (key.last_used_at is not None and key.last_used_at > before):
            return
        with suppress(Conflict):  # another request recorded it, or it was revoked
            await self.db.used_key(claim.owner, claim.key_id, last_used_at=now, before=before)
