"""Channels that receive alerts: added, verified, removed. Nothing is sent to an unverified channel.

A channel is verified with a signed token that is sent only to its address and expires after some days. The caller sends
the token; it comes back to `verify`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never, get_args

from hashrange import Conflict, NotFound
from hashrange_systems.checks.field_types import ChannelType
from hashrange_systems.checks.schema import Channel, Checks
from hashrange_systems.checks.service.commit import commit
from hashrange_systems.checks.service.ownership import find_active_user, find_user
from hashrange_systems.shared.channels.message_budget import MessageBudgets
from hashrange_systems.shared.channels.sender import DeliveryFailed
from hashrange_systems.shared.email_address import fold_email, validate_email
from hashrange_systems.shared.epoch import DAY_MS, from_ms, to_ms, to_second
from hashrange_systems.shared.errors import (
    AccountSuspended,
    FieldError,
    InvalidInput,
    LimitReached,
    ResourceMissing,
    TokenInvalid,
    TooSoon,
)
from hashrange_systems.shared.identifier import MakeId, is_valid_id, make_id, make_webhook_secret
from hashrange_systems.shared.signed_token import TokenSigner
from hashrange_systems.shared.user_url import validate_url
from hashrange_systems.shared.validation import parse_choice

if TYPE_CHECKING:
    from hashrange import Clock


MAX_CHANNELS = 20  # a run writes an alert for each channel and message in one transaction of at most 100 writes
ASKED_EVERY_MS = 10 * 60_000
TOKEN_LASTS_MS = 3 * DAY_MS
VERIFICATION = "verify channel"
TryService = Callable[[str], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class NewChannel:
    """An unverified channel and the token to send to its address only."""

    channel: Channel
    token: str


@dataclass(frozen=True, slots=True)
class Channels:
    """The channels of all users; `try_service` checks Apprise URLs, without it none is allowed."""

    db: Checks
    clock: Clock
    own_origins: Collection[str] = ()
    try_service: TryService | None = None
    make_id: MakeId = make_id

    async def add(self, userid: str, channel_type: str, target: str, secret: str | None = None) -> NewChannel:
        """Add an unverified channel. A webhook gets a secret, unless one is given."""
        user = await find_active_user(self.db, userid)
        if channel_type == "APPRISE":
            await self._try_apprise_url(target)
        new = self.prepare(userid, channel_type, target, secret)
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

    async def remove(self, userid: str, channel_id: str) -> None:
        """Delete a channel; queued alerts for it are not sent."""
        await self.find(userid, channel_id)
        await self.db.delete_channel(userid, channel_id)

    def prepare(self, userid: str, channel_type: str, target: str, secret: str | None = None) -> NewChannel:
        """Return an unverified channel, not yet written; raise InvalidInput for an invalid target."""
        known: ChannelType = parse_choice("channelType", channel_type, get_args(ChannelType))
        shown, kept = self._validate_target(known, target, secret)
        now = self.clock.millis()
        channel = Channel.model_validate(
            {
                "userid": userid,
                "channel_id": self.make_id(),
                "channel_type": known,
                "target": shown,
                "secret": kept,
                "created_at": from_ms(now),
                "asked_at": to_second(now),
            }
        )
        return NewChannel(channel, self._sign(channel))

    def _validate_target(self, channel_type: ChannelType, target: str, secret: str | None) -> tuple[str, str | None]:
        """Return the public and the secret part of a target."""
        match channel_type:
            case "EMAIL":
                return validate_email(target, "target"), None
            case "WEBHOOK":
                return validate_url(target, self.own_origins, "target"), secret or make_webhook_secret()
            case "APPRISE":
                return f"{target.partition('://')[0]}://…", target  # an Apprise URL contains a password
            case _:
                assert_never(channel_type)

    async def _try_apprise_url(self, url: str) -> None:
        if self.try_service is None:
            raise InvalidInput([FieldError("target", "must not be an Apprise URL: none can be used here")])
        try:
            await self.try_service(url)
        except DeliveryFailed as refused:
            raise InvalidInput([FieldError("target", f"cannot be used: {refused}")]) from None

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
    mails = (channel for channel in channels if channel.channel_type == "EMAIL")
    return next((channel for channel in mails if fold_email(channel.target) == folded), None)
