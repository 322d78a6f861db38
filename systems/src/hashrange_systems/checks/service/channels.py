"""Where users want to be told: added, verified, removed. Nothing is sent to a channel that is not verified.

A channel is verified by a token that only its address is sent: signed, and good for some days. Who adds a channel sends
the token there; the answer comes back to `verify`. Sending is the caller's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from hashrange import Conflict, NotFound
from hashrange_systems.checks.errors import LimitReached, NotThere, Suspended, TokenRefused, TooSoon
from hashrange_systems.checks.model.address import fold_email, settle_email
from hashrange_systems.checks.model.refusal import Fault, InputRefused
from hashrange_systems.checks.model.target import settle_url
from hashrange_systems.checks.schema import Channel, Checks
from hashrange_systems.checks.senders.sender import ReceiverRefuses
from hashrange_systems.checks.service.conflict import commit
from hashrange_systems.checks.service.identity import MakeId, can_be_id, make_id, make_webhook_secret
from hashrange_systems.checks.service.lookup import find_active_user, find_user
from hashrange_systems.checks.service.moment import from_ms, to_second
from hashrange_systems.checks.service.token import open_token, sign_token

if TYPE_CHECKING:
    from hashrange import Clock

Kind = Literal["EMAIL", "WEBHOOK", "APPRISE"]

MOST_CHANNELS = 20  # told of by one run: a transaction has a hundred writes, and a run a few messages
ASKED_EVERY_MS = 10 * 60_000
TOKEN_LASTS_MS = 3 * 86_400_000
VERIFICATION = "verify channel"
TryService = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class NewChannel:
    """A channel that is not verified yet, and the token to be sent there and nowhere else."""

    channel: Channel
    token: str


@dataclass(frozen=True, slots=True)
class Channels:
    """The channels of all users; `try_service` refuses an Apprise URL that cannot be used, without it all are."""

    db: Checks
    clock: Clock
    own_origins: Collection[str] = ()
    try_service: TryService | None = None
    make_id: MakeId = make_id

    async def add(self, userid: str, kind: str, target: str, secret: str | None = None) -> NewChannel:
        """Add a channel; it is used once it is verified. A webhook gets a secret to sign with, unless one is given."""
        user = await find_active_user(self.db, userid)
        new = self.prepare(userid, kind, target, secret)
        if len(await self.db.channels(userid).consistent()) >= MOST_CHANNELS:
            raise LimitReached(f"There may be {MOST_CHANNELS} channels: remove one first.")
        try:
            await commit(self.db, [self.db.is_active(user), self.db.create(new.channel)])
        except Conflict:
            raise Suspended from None
        return new

    async def of_user(self, userid: str) -> Sequence[Channel]:
        """Return a user's channels, the oldest first."""
        await find_user(self.db, userid)
        found = await self.db.channels(userid).consistent()
        return sorted(found, key=lambda channel: (channel.created_at, channel.channel_id))

    async def find(self, userid: str, channel_id: str) -> Channel:
        """Return a channel of this user."""
        known = can_be_id(userid) and can_be_id(channel_id)
        channel = await self.db.channel(userid, channel_id).consistent() if known else None
        if channel is None:
            raise NotThere("channel")
        return channel

    async def ask_again(self, userid: str, channel_id: str) -> NewChannel:
        """Return a new token for a channel, at most every ten minutes: nobody's mailbox is filled this way."""
        await find_active_user(self.db, userid)
        await self.find(userid, channel_id)
        now = self.clock.millis()
        try:
            channel = await self.db.ask(
                userid, channel_id, asked_at=to_second(now), before=to_second(now - ASKED_EVERY_MS)
            )
        except NotFound:
            raise NotThere("channel") from None
        except Conflict:
            raise TooSoon("This address was asked a moment ago: wait ten minutes.") from None
        return NewChannel(channel, self._sign(channel))

    async def verify(self, token: str) -> Channel:
        """Let a channel be used, because its address has sent the token back."""
        words = open_token(self.db.session.secret, VERIFICATION, token, self.clock.millis())
        userid, channel_id, target = words
        channel = await self.db.channel(userid, channel_id).consistent()
        if channel is None or channel.target != target:
            raise TokenRefused("This link is for an address that has been removed.")
        if channel.verified_at is not None:
            return channel
        try:
            return await self.db.verify(userid, channel_id, verified_at=to_second(self.clock.millis()))
        except Conflict:
            raise TokenRefused("This link is for an address that has been removed.") from None

    async def remove(self, userid: str, channel_id: str) -> None:
        """Delete a channel; what waits to be sent there is not sent."""
        await self.find(userid, channel_id)
        await self.db.delete_channel(userid, channel_id)

    def prepare(self, userid: str, kind: str, target: str, secret: str | None = None) -> NewChannel:
        """Return a channel that is not verified, or refuse its target; nothing is written yet."""
        if kind not in get_args(Kind):
            raise InputRefused([Fault("kind", f"must be one of {', '.join(get_args(Kind))}")])
        shown, kept = self._settle(kind, target, secret)
        now = self.clock.millis()
        channel = Channel.model_validate(
            {
                "userid": userid,
                "channel_id": self.make_id(),
                "kind": kind,
                "target": shown,
                "secret": kept,
                "created_at": from_ms(now),
                "asked_at": to_second(now),
            }
        )
        return NewChannel(channel, self._sign(channel))

    def _settle(self, kind: str, target: str, secret: str | None) -> tuple[str, str | None]:
        """Return what is shown of a target and what of it is secret."""
        if kind == "EMAIL":
            return settle_email(target, "target"), None
        if kind == "WEBHOOK":
            return settle_url(target, self.own_origins, "target"), secret or make_webhook_secret()
        return self._settle_service(target), target  # an Apprise URL is a password: little of it is shown

    def _settle_service(self, url: str) -> str:
        if self.try_service is None:
            raise InputRefused([Fault("target", "must not be an Apprise URL: none can be used here")])
        try:
            self.try_service(url)
        except ReceiverRefuses as refused:
            raise InputRefused([Fault("target", f"cannot be used: {refused}")]) from None
        return f"{url.partition('://')[0]}://…"

    def _sign(self, channel: Channel) -> str:
        expires_at = self.clock.millis() + TOKEN_LASTS_MS
        words = [channel.userid, channel.channel_id, channel.target]
        return sign_token(self.db.session.secret, VERIFICATION, words, expires_at)


def find_address(channels: Sequence[Channel], address: str) -> Channel | None:
    """Return the channel that mails to this address, however it is spelled."""
    folded = fold_email(address)
    mails = (channel for channel in channels if channel.kind == "EMAIL")
    return next((channel for channel in mails if fold_email(channel.target) == folded), None)
