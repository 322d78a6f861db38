"""The accounts of the pages: members, who sign in with an API key."""

from __future__ import annotations

from dataclasses import dataclass

from hashrange_systems.aura.application import Application
from hashrange_systems.aura.service.members import name_key
from hashrange_systems.aura.work_schema import Member
from hashrange_systems.shared.errors import ApiKeyInvalid, ResourceMissing
from hashrange_systems.shared.identifier import hash_key
from hashrange_systems.shared.web.session import Session


@dataclass(frozen=True, slots=True)
class MemberAccounts:
    """Members as the accounts of the pages."""

    services: Application

    async def find_signed_in(self, session: Session) -> Member | None:
        """Return the member of a session, while its key is valid and it has not been ended."""
        members = self.services.members
        try:
            member = await members.find(session.userid)
        except ResourceMissing:
            return None
        if not await self._has_valid_key(member, session) or await members.has_ended(session):
            return None
        return member

    async def _has_valid_key(self, member: Member, session: Session) -> bool:
        if session.is_demo:
            return member.email == self.services.demo_email
        keys = await self.services.members.list_keys(member.member_id)
        return any(name_key(key.digest) == session.key_id for key in keys)

    async def end_session(self, session: Session) -> None:
        """End a session."""
        await self.services.members.end_session(session)

    async def authenticate_key(self, key: str) -> tuple[str, str]:
        """Return the ids of the member and of an API key; raise ApiKeyInvalid."""
        member, digest = await self.services.members.authenticate(key), hash_key(key)
        if digest is None:
            raise ApiKeyInvalid
        return member.member_id, name_key(digest)

    async def find_demo_user(self) -> tuple[str, Member] | None:
        """Return the demo's member; None without a demo, or while its data is being written."""
        if self.services.demo_email is None:
            return None
        try:
            member = await self.services.members.by_email(self.services.demo_email)
        except ResourceMissing:
            return None
        return member.member_id, member
