"""The accounts of the pages: members, who sign in with an API key."""

from __future__ import annotations

from dataclasses import dataclass

from hashrange_systems.aura.services import Services
from hashrange_systems.aura.work_schema import Member
from hashrange_systems.shared.errors import ApiKeyInvalid, ResourceMissing
from hashrange_systems.shared.identifier import hash_key
from hashrange_systems.shared.web.session import DEMO_KEY

KEY_ID_LENGTH = 32  # of the hash of a key, which names it in a session


@dataclass(frozen=True, slots=True)
class MemberAccounts:
    """Members as the accounts of the pages."""

    services: Services

    async def find_signed_in(self, userid: str, key_id: str) -> Member | None:
        """Return the member of a session, while its key is valid."""
        try:
            member = await self.services.members.find(userid)
        except ResourceMissing:
            return None
        if key_id == DEMO_KEY:
            return member if member.email == self.services.demo_email else None
        keys = await self.services.members.list_keys(userid)
        return member if any(key.digest[:KEY_ID_LENGTH] == key_id for key in keys) else None

    async def authenticate_key(self, key: str) -> tuple[str, str]:
        """Return the ids of the member and of an API key; raise ApiKeyInvalid."""
        member, digest = await self.services.members.authenticate(key), hash_key(key)
        if digest is None:
            raise ApiKeyInvalid
        return member.member_id, digest[:KEY_ID_LENGTH]

    async def find_demo_user(self) -> tuple[str, Member] | None:
        """Return the demo's member; None without a demo, or while its data is being written."""
        if self.services.demo_email is None:
            return None
        try:
            member = await self.services.members.by_email(self.services.demo_email)
        except ResourceMissing:
            return None
        return member.member_id, member
