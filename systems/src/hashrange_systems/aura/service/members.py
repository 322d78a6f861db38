"""Members: people with a watch list, their API keys and the channels that their messages go to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, get_args

from hashrange import Taken
from hashrange_systems.aura.errors import OperatorOnly
from hashrange_systems.aura.service.confirmations import Confirmations
from hashrange_systems.aura.work_schema import (
    Channel,
    EndedSession,
    Member,
    MemberEmail,
    MemberKey,
    Subscription,
    Work,
)
from hashrange_systems.shared.channels.channel_type import TargetRules
from hashrange_systems.shared.channels.type_registry import ChannelTypes, find_channel_types, parse_target
from hashrange_systems.shared.email_address import fold_email, validate_email
from hashrange_systems.shared.epoch import DAY_MS, from_ms
from hashrange_systems.shared.errors import (
    ApiKeyInvalid,
    LimitReached,
    ResourceMissing,
    StateConflict,
)
from hashrange_systems.shared.fetching.policy import Policy
from hashrange_systems.shared.identifier import MakeId, hash_key, make_id, make_key
from hashrange_systems.shared.validation import parse_choice
from hashrange_systems.shared.web.session import LIFETIME_MS, Session

if TYPE_CHECKING:
    from datetime import datetime

    from hashrange import Clock


KEY_ID_LENGTH = 32  # of the hash of a key
MAX_CHANNELS = 10
PUBLIC_TARGETS = TargetRules(policy=Policy())
MAX_KEYS = 20


@dataclass(frozen=True, slots=True)
class NewMember:
    """A new member with the first API key, which is shown once."""

    member: Member
    key: str


@dataclass(frozen=True, slots=True)
class Members:
    """All members."""

    work: Work
    clock: Clock
    rules: TargetRules = PUBLIC_TARGETS
    types: ChannelTypes = field(default_factory=find_channel_types)
    make_id: MakeId = make_id

    async def add(self, email: str, *, operator: bool = False) -> NewMember:
        """Add a member with a key, who may remove shops if an operator; e-mail addresses are unique."""
        address = validate_email(email)
        member = Member(member_id=self.make_id(), email=address, created_at=self._now(), operator=operator)
        key = make_key()
        stored = MemberKey(
            digest=digest_of(key), member_id=member.member_id, name="first key", created_at=member.created_at
        )
        guard = MemberEmail(address=fold_email(address), member_id=member.member_id)
        try:
            await self.work.transact(self.work.create(member), self.work.create(guard), self.work.create(stored))
        except Taken as error:
            raise StateConflict("This e-mail address is already in use.") from error
        return NewMember(member, key)

    async def find(self, member_id: str) -> Member:
        """Return a member; raise ResourceMissing."""
        found = await self.work.member(member_id)
        if found is None:
            raise ResourceMissing("member")
        return found

    async def by_email(self, email: str) -> Member:
        """Return the member with an e-mail address; raise ResourceMissing."""
        guard = await self.work.member_by_email(fold_email(email.strip()))
        if guard is None:
            raise ResourceMissing("member")
        return await self.find(guard.member_id)

    async def set_operator(self, email: str, *, operator: bool) -> Member:
        """Let a member remove shops, or not any more; raise ResourceMissing."""
        return await self.work.set_operator((await self.by_email(email)).member_id, operator=operator)

    async def authenticate(self, key: str) -> Member:
        """Return the member of an API key; raise ApiKeyInvalid."""
        digest = hash_key(key)
        found = await self.work.member_key(digest) if digest else None
        member = await self.work.member(found.member_id) if found else None
        if member is None:
            raise ApiKeyInvalid
        return member

    async def list_members(self) -> list[Member]:
        """Return all members."""
        return await self.work.members()

    # ── keys ─────────────────────────────────────────────────────────────────────────────────────────────────────────
    async def add_key(self, member_id: str, name: str) -> str:
        """Return a new API key of a member; only its hash is stored."""
        await self.find(member_id)
        if len(await self.work.keys_of(member_id)) >= MAX_KEYS:
            raise LimitReached(f"A member has at most {MAX_KEYS} keys: remove one first.")
        key = make_key()
        stored = MemberKey(
            digest=digest_of(key), member_id=member_id, name=name.strip()[:100] or "key", created_at=self._now()
        )
        await self.work.create(stored)
        return key

    async def list_keys(self, member_id: str) -> list[MemberKey]:
        """Return the keys of a member."""
        return await self.work.keys_of(member_id)

    async def remove_key(self, member_id: str, key_id: str) -> None:
        """Revoke a key of a member, and with it its sessions; raise ResourceMissing."""
        found = next((key for key in await self.work.keys_of(member_id) if name_key(key.digest) == key_id), None)
        if found is None or await self.work.drop_key(found.digest, member_id=member_id) is None:
            raise ResourceMissing("key")

    # ── sessions ─────────────────────────────────────────────────────────────────────────────────────────────────────
    async def end_session(self, session: Session) -> None:
        """End a session; the record is kept until the cookie would have expired."""
        expires_at = from_ms(session.started_at + LIFETIME_MS + DAY_MS)
        await self.work.put(
            EndedSession(member_id=session.userid, session_id=session.session_id, expires_at=expires_at)
        )

    async def has_ended(self, session: Session) -> bool:
        """Return whether a session was ended before its expiry."""
        return await self.work.ended_session(session.userid, session.session_id).consistent() is not None

    # ── channels ─────────────────────────────────────────────────────────────────────────────────────────────────────
    async def add_channel(
        self, member_id: str, channel_type: str, target: str, subscription: str = "WATCHED"
    ) -> Channel:
        """Add a channel; a webhook gets a signing secret, every other one must be confirmed."""
        await self.find(member_id)
        if len(await self.work.channels(member_id)) >= MAX_CHANNELS:
            raise LimitReached(f"A member has at most {MAX_CHANNELS} channels: remove one first.")
        parsed = await parse_target(self.types, channel_type, target, self.rules)
        channel = Channel(
            member_id=member_id,
            channel_id=self.make_id(),
            channel_type=channel_type,
            subscription=parse_choice("subscription", subscription, get_args(Subscription)),
            target=parsed.shown,
            secret=parsed.secret,
            created_at=self._now(),
        )
        if not channel.is_usable:
            await self.confirmations.spend(member_id, channel.target)
        await self.work.create(channel)
        if not channel.is_usable:
            await self.confirmations.ask(channel)
        return channel

    async def ask_again(self, member_id: str, channel_id: str) -> None:
        """Send the link to confirm an address again; raise ResourceMissing, or DayBudgetSpent."""
        channel = await self.work.channel(member_id, channel_id)
        if channel is None or channel.is_usable:
            raise ResourceMissing("unconfirmed address")
        await self.confirmations.spend(member_id, channel.target)
        await self.confirmations.ask(channel)

    @property
    def confirmations(self) -> Confirmations:
        """The confirmations of addresses."""
        return Confirmations(self.work, self.clock, make_id=self.make_id)

    def find_revealed(self, channel: Channel) -> str | None:
        """Return the secret that the member who added a channel sees once; None if its type has none."""
        return channel.secret if self.types[channel.channel_type].reveals_secret else None

    async def list_channels(self, member_id: str) -> list[Channel]:
        """Return the channels of a member."""
        return await self.work.channels(member_id)

    async def remove_channel(self, member_id: str, channel_id: str) -> None:
        """Remove a channel of a member; raise ResourceMissing."""
        if await self.work.drop_channel(member_id, channel_id) is None:
            raise ResourceMissing("channel")

    def _now(self) -> datetime:
        return from_ms(self.clock.millis())


def name_key(digest: str) -> str:
    """Return the id of a key, which names it in sessions and forms: the beginning of its hash."""
    return digest[:KEY_ID_LENGTH]


def find_limited(member: Member) -> str | None:
    """Return the member whose shops are counted; None for operators, who may add any number."""
    return None if member.operator else member.member_id


def require_operator(member: Member) -> None:
    """Raise OperatorOnly unless the member is an operator."""
    if not member.operator:
        raise OperatorOnly


def digest_of(key: str) -> str:
    """Return the hash of a key that was just made."""
    digest = hash_key(key)
    assert digest is not None
    return digest
