"""Channels that receive alerts: added, verified, removed. Nothing is sent to an unverified channel.

A channel is verified with a signed token that is sent only to its address and expires after some days. The caller sends
the token; it comes back to `verify`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hashrange import Conflict, NotFound
from hashrange_systems.checks.schema import Channel, Checks
from hashrange_systems.checks.service.commit import commit
from hashrange_systems.checks.service.ownership import find_active_user, find_user
from hashrange_systems.shared.channels.channel_type import ANY_TARGET, ParsedTarget, TargetRules
from hashrange_systems.shared.channels.message_budget import MessageBudgets
from hashrange_systems.shared.channels.type_registry import EMAIL, ChannelTypes, find_channel_types, parse_target
from hashrange_systems.shared.email_address import fold_email
from hashrange_systems.shared.epoch import DAY_MS, from_ms, to_ms, to_second
from hashrange_systems.shared.errors import (
    AccountSuspended,
    LimitReached,
    ResourceMissing,
    TokenInvalid,
    TooSoon,
)
from hashrange_systems.shared.identifier import MakeId, is_valid_id, make_id
from hashrange_systems.shared.signed_token import TokenSigner

if TYPE_CHECKING:
    from hashrange import Clock


MAX_CHANNELS = 20  # a run writes an alert for each channel and message in one transaction of at most 100 writes
ASKED_EVERY_MS = 10 * 60_000
TOKEN_LASTS_MS = 3 * DAY_MS
VERIFICATION = "verify channel"


@dataclass(frozen=True, slots=True)
class NewChannel:
    """An unverified channel and the token to send to its address only."""

    channel: Channel
    token: str


@dataclass(frozen=True, slots=True)
class Channels:
    """The channels of all users; `rules` are those for their targets."""

    db: Checks
    clock: Clock
    rules: TargetRules = ANY_TARGET
    types: ChannelTypes = field(default_factory=find_channel_types)
    make_id: MakeId = make_id

    async def add(self, userid: str, channel_type: str, target: str, secret: str | None = None) -> NewChannel:
        """Add an unverified channel. A webhook gets a secret, unless one is given."""
        user = await find_active_user(self.db, userid)
        parsed = await parse_target(self.types, channel_type, target, replace(self.rules, secret=secret))
        new = self.prepare(userid, channel_type, parsed)
        if len(await self.db.channels(userid).consistent()) >= MAX_CHANNELS:
            raise LimitReached(f"There may be {MAX_CHANNELS} channels: remove one first.")
        await MessageBudgets(self.db, self.clock).spend(userid, target)
        try:
            await commit(self.db, [self.db.is_active(user), self.db.create(new.channel)])
        except Conflict:
            raise AccountSuspended from None
        return new

    async def list_by_user(self, userid: str) -> Sequence[Channel]:
        """Return a user's channels, oldest first."""
        await find_user(self.db, userid)
        found = await self.db.channels(userid).consistent()
        return sorted(found, key=lambda channel: (channel.created_at, channel.channel_id))

    async def find(self, userid: str, channel_id: str) -> Channel:
        """Return a channel of this user."""
        known = is_valid_id(userid) and is_valid_id(channel_id)
        channel = await self.db.channel(userid, channel_id).consistent() if known else None
        if channel is None:
            raise ResourceMissing("channel")
        return channel

    async def resend_verification(self, userid: str, channel_id: str) -> NewChannel:
        """Return a new token for a channel, at most every ten minutes, so that nobody can flood a mailbox."""
        await find_active_user(self.db, userid)
        asked = await self.find(userid, channel_id)
        now = self.clock.millis()
        if asked.asked_at is None or to_ms(asked.asked_at) <= now - ASKED_EVERY_MS:
            await MessageBudgets(self.db, self.clock).spend(userid, asked.target)
        try:
            channel = await self.db.ask(
                userid, channel_id, asked_at=to_second(now), before=to_second(now - ASKED_EVERY_MS)
            )
        except NotFound:
            raise ResourceMissing("channel") from None
        except Conflict:
            raise TooSoon("This address was asked a moment ago: wait ten minutes.") from None
        return NewChannel(channel, self._sign(channel))

    async def verify(self, token: str) -> Channel:
        """Verify the channel of a token."""
        words = self._signer.open(VERIFICATION, token, self.clock.millis())
        userid, channel_id, target = words
        channel = await self.db.channel(userid, channel_id).consistent()
        if channel is None or channel.target != target:
            raise TokenInvalid("This link is for an address that has been removed.")
        if channel.verified_at is not None:
            return channel
        try:
            return await self.db.verify(userid, channel_id, verified_at=to_second(self.clock.millis()))
        except Conflict:
            raise TokenInvalid("This link is for an address that has been removed.") from None

    def find_revealed(self, channel: Channel) -> str | None:
        """Return the secret that the user who added a channel sees once; None if its type has none."""
        return channel.secret if self.types[channel.channel_type].reveals_secret else None

    async def remove(self, userid: str, channel_id: str) -> None:
        """Delete a channel; queued alerts for it are not sent."""
        await self.find(userid, channel_id)
        await self.db.delete_channel(userid, channel_id)

    def prepare(self, userid: str, channel_type: str, parsed: ParsedTarget) -> NewChannel:
        """Return an unverified channel, not yet written."""
        now = self.clock.millis()
        channel = Channel(
            userid=userid,
            channel_id=self.make_id(),
            channel_type=channel_type,
            target=parsed.shown,
            secret=parsed.secret,
            created_at=from_ms(now),
            asked_at=to_second(now),
        )
        return NewChannel(channel, self._sign(channel))

    def prepare_address(self, userid: str, address: str) -> NewChannel:
        """Return an unverified e-mail channel, not yet written; raise InvalidInput."""
        return self.prepare(userid, EMAIL.name, EMAIL.parse(address, self.rules))

    def _sign(self, channel: Channel) -> str:
        expires_at = self.clock.millis() + TOKEN_LASTS_MS
        words = [channel.userid, channel.channel_id, channel.target]
        return self._signer.sign(VERIFICATION, words, expires_at)

    @property
    def _signer(self) -> TokenSigner:
        return TokenSigner(self.db.session.secret, "checks")


def find_address(channels: Sequence[Channel], address: str) -> Channel | None:
    """Return the e-mail channel of an address, by its canonical form."""
    folded = fold_email(address)
    mails = (channel for channel in channels if channel.channel_type == EMAIL.name)
    return next((channel for channel in mails if fold_email(channel.target) == folded), None)
