"""Channels: where the messages of an owner go. A channel is added, confirmed by a link that is sent to it, and removed.

Nothing but the link is sent to a channel that is not confirmed. The token of the link is signed when the message is
sent, and not stored: who can read the messages of an owner cannot confirm a channel for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from urllib.parse import quote

from hashrange import Clock, Conflict, NotFound, Write
from hashrange_systems.shared.accounts.owner_name import is_owner
from hashrange_systems.shared.accounts.owners import Owners, commit_for
from hashrange_systems.shared.accounts.schema import Accounts, Channel, UsableChannel
from hashrange_systems.shared.channels.channel_type import ANY_TARGET, ParsedTarget, TargetRules
from hashrange_systems.shared.channels.message_budget import MessageBudgets
from hashrange_systems.shared.channels.messages import Messages, NewMessage
from hashrange_systems.shared.channels.type_registry import EMAIL, ChannelTypes, find_channel_types, parse_target
from hashrange_systems.shared.email_address import fold_email
from hashrange_systems.shared.epoch import DAY_MS, from_ms, to_ms, to_second
from hashrange_systems.shared.errors import LimitReached, ResourceMissing, TokenInvalid, TooSoon
from hashrange_systems.shared.identifier import MakeId, is_valid_id, make_id
from hashrange_systems.shared.signed_token import TokenSigner

MAX_CHANNELS = 20  # the messages of one cause to all channels are in one transaction of at most 100 writes
ASKED_EVERY_MS = 10 * 60_000
TOKEN_LASTS_MS = 3 * DAY_MS
CONFIRM = "confirm channel"  # the topic of the message, and the purpose of the token
OnConfirmed = Callable[[Channel], Awaitable[None]]
REMOVED = "This link is for an address that has been removed."


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelOptions:
    """What a system says about its channels; `on_confirmed` is called again for a link that is opened again."""

    rules: TargetRules = ANY_TARGET
    types: ChannelTypes = field(default_factory=find_channel_types)
    trusted: Collection[str] = ()  # types whose channels are confirmed at once
    most: int = MAX_CHANNELS
    on_confirmed: OnConfirmed | None = None


USUAL_OPTIONS = ChannelOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class Channels:
    """The channels of all owners."""

    accounts: Accounts
    owners: Owners[object]
    messages: Messages
    clock: Clock
    signer: TokenSigner
    base_url: str
    options: ChannelOptions = USUAL_OPTIONS
    make_id: MakeId = make_id

    @property
    def types(self) -> ChannelTypes:
        """The types of channels that there are."""
        return self.options.types

    # ── adding ───────────────────────────────────────────────────────────────────────────────────────────────────────
    async def add(
        self, owner: str, channel_type: str, target: str, subscription: str | None = None, secret: str | None = None
    ) -> Channel:
        """Add a channel, and send the link to confirm it; a given secret signs what is sent to a webhook."""
        parsed = await parse_target(self.types, channel_type, target, replace(self.options.rules, secret=secret))
        channel = self.prepare(owner, channel_type, parsed, subscription)
        if len(await self.accounts.usable_channels(owner).consistent()) >= self.options.most:
            raise LimitReached(f"There may be {self.options.most} channels: remove one first.")
        await self._spend(channel)
        await commit_for(self.accounts, self.owners, owner, self.write(channel))
        return channel

    def prepare(self, owner: str, channel_type: str, parsed: ParsedTarget, subscription: str | None = None) -> Channel:
        """Return a channel, not yet written; only what its type has parsed can be one."""
        now = self.clock.millis()
        confirmed = channel_type in self.options.trusted or not self.types[channel_type].needs_confirmation
        return Channel(
            owner=owner,
            channel_id=self.make_id(),
            channel_type=channel_type,
            shown=parsed.shown,
            secret=parsed.secret,
            subscription=subscription,
            created_at=from_ms(now),
            asked_at=None if confirmed else to_second(now),
            confirmed_at=from_ms(now) if confirmed else None,
        )

    def prepare_address(self, owner: str, address: str) -> Channel:
        """Return an e-mail channel, not yet written; raise InvalidInput."""
        return self.prepare(owner, EMAIL.name, EMAIL.parse(address, self.options.rules))

    def write(self, channel: Channel) -> list[Write[Any]]:
        """Return the writes of a channel and of the link to confirm it, for the transaction of a system."""
        asked = [] if channel.confirmed_at is not None else [self._write_question(channel)]
        return [self.accounts.create(channel), *asked]

    def find_revealed(self, channel: Channel) -> str | None:
        """Return the secret that the owner who added a channel sees once; None if its type has none."""
        return channel.secret if self.types[channel.channel_type].reveals_secret else None

    # ── finding ──────────────────────────────────────────────────────────────────────────────────────────────────────
    async def list_by_owner(self, owner: str) -> Sequence[Channel]:
        """Return the channels of an owner, oldest first."""
        found = await self.accounts.channels(owner).consistent() if is_owner(owner) else []
        return sorted(found, key=lambda channel: (channel.created_at, channel.channel_id))

    async def list_usable(self, owner: str) -> Sequence[UsableChannel]:
        """Return the channels of an owner that are confirmed, without their secrets, to write messages to them."""
        found = await self.accounts.usable_channels(owner)
        return [channel for channel in found if channel.confirmed_at is not None]

    async def list_subscribed(self, subscription: str) -> Sequence[Channel]:
        """Return the confirmed channels of all owners that have a subscription."""
        listed = await self.accounts.subscribed(subscription)
        found = await self.accounts.fetch(self.accounts.channel(each.owner, each.channel_id) for each in listed)
        return [channel for channel in found if channel is not None and channel.confirmed_at is not None]

    async def find(self, owner: str, channel_id: str) -> Channel:
        """Return a channel of this owner; raise ResourceMissing."""
        known = is_owner(owner) and is_valid_id(channel_id)
        channel = await self.accounts.channel(owner, channel_id).consistent() if known else None
        if channel is None:
            raise ResourceMissing("channel")
        return channel

    async def remove(self, owner: str, channel_id: str) -> None:
        """Delete a channel: messages that wait for it are not sent; raise ResourceMissing."""
        await self.find(owner, channel_id)
        await self.accounts.drop_channel(owner, channel_id)

    # ── confirming ───────────────────────────────────────────────────────────────────────────────────────────────────
    async def ask_again(self, owner: str, channel_id: str) -> Channel:
        """Send the link again, at most every ten minutes; raise ResourceMissing, TooSoon or DayBudgetSpent."""
        channel = await self.find(owner, channel_id)
        if channel.confirmed_at is not None:
            raise ResourceMissing("unconfirmed channel")
        now = self.clock.millis()
        if channel.asked_at is None or not now - ASKED_EVERY_MS < to_ms(channel.asked_at) <= now:
            await self._spend(channel)
        asked = channel.model_copy(update={"asked_at": to_second(now)})
        ask = self.accounts.ask(owner, channel_id, asked_at=to_second(now), before=to_second(now - ASKED_EVERY_MS))
        try:
            await commit_for(self.accounts, self.owners, owner, [ask, self._write_question(asked)])
        except NotFound:
            raise ResourceMissing("channel") from None
        except Conflict:
            raise TooSoon("This address was asked a moment ago: wait ten minutes.") from None
        return asked

    async def confirm(self, token: str) -> Channel:
        """Confirm the channel of a token; raise TokenInvalid."""
        owner, channel_id, address = self.signer.open(CONFIRM, token, self.clock.millis())
        channel = await self.accounts.channel(owner, channel_id).consistent()
        if channel is None or self._name_address(channel) != address:
            raise TokenInvalid(REMOVED)
        if channel.confirmed_at is None:
            now = from_ms(self.clock.millis())
            try:
                channel = await self.accounts.confirm_channel(owner, channel_id, confirmed_at=now)
            except Conflict:
                raise TokenInvalid(REMOVED) from None
        if self.options.on_confirmed is not None:
            await self.options.on_confirmed(channel)
        return channel

    def make_link(self, channel: Channel) -> str:
        """Return the address of the page that confirms a channel, with a new token."""
        words = [channel.owner, channel.channel_id, self._name_address(channel)]
        token = self.signer.sign(CONFIRM, words, self.clock.millis() + TOKEN_LASTS_MS)
        return f"{self.base_url}/confirm?token={quote(token)}"

    def _write_question(self, channel: Channel) -> Write[Any]:
        cause = f"{channel.channel_id} {channel.asked_at}"
        kept = timedelta(milliseconds=TOKEN_LASTS_MS)
        new = NewMessage(about=channel.owner, topic=CONFIRM, cause=cause, content={}, kept=kept)
        return self.messages.write(new, channel)

    async def _spend(self, channel: Channel) -> None:
        if channel.confirmed_at is None:
            asking = hash_words(channel.owner)  # a counter outlives its owner
            await MessageBudgets(self.accounts, self.clock).spend(asking, self._find_address(channel))

    def _find_address(self, channel: Channel) -> str:
        """Return the whole address: the secret, if that is the address and not what signs messages."""
        known = self.types.get(channel.channel_type)
        hidden = channel.secret if known is not None and not known.reveals_secret else None
        return hidden or channel.shown

    def _name_address(self, channel: Channel) -> str:
        return hash_words(self._find_address(channel))


def hash_words(text: str) -> str:
    """Return a hash of a text, which names it without containing it."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def find_address(channels: Sequence[Channel], address: str) -> Channel | None:
    """Return the e-mail channel of an address, by its canonical form."""
    folded = fold_email(address)
    mails = (channel for channel in channels if channel.channel_type == EMAIL.name)
    return next((channel for channel in mails if fold_email(channel.shown) == folded), None)
