"""Members: people with a watch list, who sign in with API keys, and whose messages go to their channels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hashrange import Taken, Write
from hashrange_systems.aura.errors import OperatorOnly
from hashrange_systems.aura.work_schema import Member, Work
from hashrange_systems.shared.accounts.account_services import AccountServices
from hashrange_systems.shared.email_address import validate_email
from hashrange_systems.shared.epoch import from_ms
from hashrange_systems.shared.errors import ResourceMissing, StateConflict
from hashrange_systems.shared.identifier import MakeId, make_id

if TYPE_CHECKING:
    from hashrange import Clock


@dataclass(frozen=True, slots=True)
class MemberOwners:
    """Members as the owners of keys and channels."""

    work: Work

    async def find_active(self, owner: str) -> Member | None:
        """Return a member."""
        return await self.work.member(owner).consistent()

    def ensure_active(self, owner: str) -> Write[Any]:
        """Return the condition that there is this member."""
        return self.work.is_member(owner)


@dataclass(frozen=True, slots=True)
class NewMember:
    """A new member with the first API key, which is shown once."""

    member: Member
    key: str


@dataclass(frozen=True, slots=True)
class Members:
    """All members."""

    work: Work
    accounts: AccountServices[Member]
    clock: Clock
    make_id: MakeId = make_id

    async def add(self, email: str, *, operator: bool = False) -> NewMember:
        """Add a member with a key, who may remove shops if an operator; e-mail addresses are unique."""
        address, now = validate_email(email), from_ms(self.clock.millis())
        member = Member(member_id=self.make_id(), email=address, created_at=now, operator=operator)
        key = self.accounts.keys.prepare(member.member_id, "first key")
        login = self.accounts.logins.claim(address, member.member_id)
        try:
            await self.work.transact_all([self.work.create(member), login, *self.accounts.keys.write(key)]).unread()
        except Taken as error:
            raise StateConflict("This e-mail address is already in use.") from error
        return NewMember(member, key.text)

    async def find(self, member_id: str) -> Member:
        """Return a member; raise ResourceMissing."""
        found = await self.work.member(member_id)
        if found is None:
            raise ResourceMissing("member")
        return found

    async def by_email(self, email: str) -> Member:
        """Return the member with an e-mail address; raise ResourceMissing."""
        member_id = await self.accounts.logins.find_owner(email)
        if member_id is None:
            raise ResourceMissing("member")
        return await self.find(member_id)

    async def set_operator(self, email: str, *, operator: bool) -> Member:
        """Let a member remove shops, or not any more; raise ResourceMissing."""
        return await self.work.set_operator((await self.by_email(email)).member_id, operator=operator)

    async def list_members(self) -> list[Member]:
        """Return all members."""
        return await self.work.members()


def find_limited(member: Member) -> str | None:
    """Return the member whose shops are counted; None for operators, who may add any number."""
    return None if member.operator else member.member_id


def require_operator(member: Member) -> None:
    """Raise OperatorOnly unless the member is an operator."""
    if not member.operator:
        raise OperatorOnly
