"""Messages: written in the transaction that causes them, and sent by the outbox until accepted or given up.

The id of a message is derived from its cause and its destination: the same message is never written twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import orjson

from hashrange import Clock, Page, Taken, Write
from hashrange_systems.shared.accounts.schema import Accounts, AnyMessage, Channel, Message, UsableChannel, Waiting
from hashrange_systems.shared.channels.channel_type import ParsedTarget
from hashrange_systems.shared.epoch import from_ms

KEPT = timedelta(days=90)


@dataclass(frozen=True, slots=True)
class MailAddress:
    """An e-mail address as a destination, for people without a channel; the message belongs to the owner, if any."""

    target: ParsedTarget
    owner: str | None = None


Receiver = Channel | UsableChannel | MailAddress


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage:
    """What a message says: its topic, the cause of which its id is made, and what its text is rendered from."""

    about: str
    topic: str
    cause: str
    content: Mapping[str, Any]
    delay_ms: int = 0
    kept: timedelta = KEPT
    message_id: str | None = None  # one that the system has made of the cause and the destination


@dataclass(frozen=True, slots=True)
class Messages:
    """The messages of all owners."""

    accounts: Accounts
    clock: Clock

    def write(self, new: NewMessage, to: Receiver) -> Write[Waiting]:
        """Return the write of a message, for the transaction of its cause; it raises Taken if it was written before."""
        now = self.clock.millis()
        channel_id = None if isinstance(to, MailAddress) else to.channel_id
        message = Waiting(
            about=new.about,
            message_id=new.message_id or make_message_id(new, to),
            owner=to.owner,
            channel_id=channel_id,
            recipient=to.target.shown if isinstance(to, MailAddress) else None,
            topic=new.topic,
            content=dict(new.content),
            created_at=from_ms(now),
            send_at=from_ms(now + new.delay_ms),
            expires_at=from_ms(now) + new.kept,
        )
        return self.accounts.create(message)

    def write_each(self, new: NewMessage, channels: Iterable[Channel | UsableChannel]) -> list[Write[Waiting]]:
        """Return the writes of a message to each channel that is confirmed."""
        return [self.write(new, each) for each in channels if each.confirmed_at is not None]

    async def send(self, new: NewMessage, to: Receiver) -> None:
        """Write a message that belongs to no transaction, once."""
        with suppress(Taken):
            await self.write(new, to)

    async def page_by_owner(self, owner: str, size: int, after: str | None = None) -> Page[Message]:
        """Return a page of the messages of an owner, newest first."""
        return await self.accounts.messages_of(owner).whole().page(size, after=after)

    async def list_about(self, about: str) -> Sequence[AnyMessage]:
        """Return the messages about something."""
        return await self.accounts.messages_about(about)

    async def delete_about(self, about: str) -> None:
        """Delete the messages about something that is deleted; those that wait are not sent."""
        await self.accounts.batch(delete=list(await self.accounts.messages_about(about).with_expired()))


def make_message_id(new: NewMessage, to: Receiver) -> str:
    """Return the id of a message, which follows from its cause and its destination."""
    where = str(to.target.shown) if isinstance(to, MailAddress) else to.channel_id
    words = orjson.dumps([new.topic, new.cause, to.owner, where])
    return hashlib.sha256(words).hexdigest()[:32]
