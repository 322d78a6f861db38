"""The accounts of the pages: active users, who sign in with an API key and, if they want, a second factor."""

from __future__ import annotations

from dataclasses import dataclass

from hashrange_systems.checks.application import Application
from hashrange_systems.checks.schema import ActiveUser
from hashrange_systems.shared.errors import ApiKeyInvalid, ResourceMissing
from hashrange_systems.shared.identifier import hash_key
from hashrange_systems.shared.web.session import Session

SECOND_FACTOR = "second factor"
SECOND_FACTOR_MS = 5 * 60_000


@dataclass(frozen=True, slots=True)
class UserAccounts:
    """Users as the accounts of the pages."""

    services: Application

    async def find_signed_in(self, session: Session) -> ActiveUser | None:
        """Return the active user of a session, while its key is valid and it has not been ended."""
        try:
            user = await self.services.users.find(session.userid)
        except ResourceMissing:
            return None
        if not isinstance(user, ActiveUser) or not await self._has_valid_key(session):
            return None
        return None if await self.services.ended_sessions.has_ended(user, session) else user

    async def _has_valid_key(self, session: Session) -> bool:
        if session.is_demo:
            return self.services.demo_email is not None
        return any(key.key_id == session.key_id for key in await self.services.keys.list_by_user(session.userid))

    async def authenticate_key(self, key: str) -> tuple[str, str]:
        """Return the ids of the user and of an API key; raise ApiKeyInvalid."""
        user = await self.services.keys.authenticate(key)
        digest = hash_key(key)
        keys = await self.services.keys.list_by_user(user.userid)
        key_id = next((each.key_id for each in keys if each.digest == digest), None)
        if key_id is None:
            raise ApiKeyInvalid
        return user.userid, key_id

    async def end_session(self, session: Session) -> None:
        """End a session."""
        await self.services.ended_sessions.end(session)

    async def find_demo_user(self) -> tuple[str, ActiveUser] | None:
        """Return the demo user; None without a demo, or while its data is being written."""
        if self.services.demo_email is None:
            return None
        try:
            user = await self.services.users.by_email(self.services.demo_email)
        except ResourceMissing:
            return None
        return (user.userid, user) if isinstance(user, ActiveUser) else None


@dataclass(frozen=True, slots=True)
class SecondFactorStep:
    """The step of a sign-in between the API key and the code of the second factor."""

    services: Application

    def ask_for_code(self, userid: str, key_id: str) -> str:
        """Return the token that proves the first factor, for a few minutes."""
        expires_at = self.services.clock.millis() + SECOND_FACTOR_MS
        return self.services.runtime.signer.sign(SECOND_FACTOR, [userid, key_id], expires_at)

    async def check_code(self, token: str, code: str) -> tuple[str, str]:
        """Return the ids of the user and of the API key; raise TokenInvalid, CodeInvalid or TooManyRequests."""
        userid, key_id = self.services.runtime.signer.open(SECOND_FACTOR, token, self.services.clock.millis())
        await self.services.second_factors.verify(userid, code)
        return userid, key_id
