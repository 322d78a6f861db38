"""Messages to members: written once for each cause and channel, and sent by the outbox until accepted or given up."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape
from typing import TYPE_CHECKING

from hashrange import Taken
from hashrange_systems.aura.model.price_format import format_price
from hashrange_systems.aura.service.confirmations import Confirmations
from hashrange_systems.aura.work_schema import Change, Channel, Message, WaitingMessage, Work
from hashrange_systems.shared.channels.delivery import Delivery
from hashrange_systems.shared.channels.sender import DeliveryFailed, DeliveryRefused, Notification, Sender
from hashrange_systems.shared.epoch import from_ms

if TYPE_CHECKING:
    from hashrange import Clock

KEPT = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Notices:
    """Writes the messages of members."""

    work: Work
    clock: Clock

    async def write(self, member_id: str, change: Change, reason: str) -> None:
        """Write a message about a change to each channel of a member; the same message is written once."""
        await self.write_to(await self.work.channels(member_id), change, reason)

    async def write_to(self, channels: Iterable[Channel], change: Change, reason: str) -> None:
        """Write a message about a change to some channels; the same message is written once."""
        now = from_ms(self.clock.millis())
        for channel in filter(lambda each: each.is_usable, channels):
            message = WaitingMessage(
                message_id=make_message_id(change.change_id, channel.member_id, channel.channel_id, reason),
                member_id=channel.member_id,
                channel_id=channel.channel_id,
                subject=f"{change.title or change.url}: {reason}"[:200],
                text=describe_change(change, reason),
                data=make_data(change, reason),
                created_at=now,
                send_at=now,
                expires_at=now + KEPT,
            )
            with suppress(Taken):
                await self.work.create(message)

    async def list_messages(self, member_id: str, limit: int = 50) -> Sequence[Message]:
        """Return the last messages of a member, newest first."""
        return await self.work.messages(member_id).limit(limit)


@dataclass(frozen=True, kw_only=True)
class NoticeOutbox(Delivery[WaitingMessage, WaitingMessage]):
    """Sends due messages; `senders` by type of channel."""

    work: Work
    senders: Mapping[str, Sender]
    confirmations: Confirmations

    async def find_due(self, shard: str, now: datetime, limit: int) -> Sequence[WaitingMessage]:
        """Return the due messages of all shards."""
        return await self.work.outbox(now).limit(limit)

    def claim(self, due: WaitingMessage, lease: datetime) -> Awaitable[WaitingMessage]:
        """Claim a message."""
        return self.work.claim_message(due, lease=due.send_at, send_at=lease, attempts=1)

    async def deliver(self, message: WaitingMessage) -> None:
        """Send a message to its channel."""
        channel = await self.work.channel(message.member_id, message.channel_id)
        if channel is None:
            raise DeliveryRefused("the channel was removed")
        if not channel.is_usable and not message.confirms:
            raise DeliveryRefused("the address is not confirmed")
        sender = self.senders.get(channel.channel_type)
        if sender is None:
            raise DeliveryFailed(f"sending by {channel.channel_type} is not set up")
        text = self.confirmations.write_text(channel) if message.confirms else message.text
        notification = Notification(
            severity="info",
            subject=message.subject,
            text=text,
            html=f"<p>{escape(text).replace(chr(10), '<br>')}</p>",
            data=dict(message.data),
        )
        await sender.send(channel, notification, message.message_id)

    def mark_sent(self, message: WaitingMessage, at: datetime) -> Awaitable[object]:
        """Record that a message was sent."""
        return self.work.mark_sent(message, sent_at=at)

    def postpone(self, message: WaitingMessage, send_at: datetime, error: str) -> Awaitable[object]:
        """Schedule the next attempt."""
        return self.work.retry_message(message, send_at=send_at, last_error=error)

    def give_up(self, message: WaitingMessage, error: str) -> Awaitable[object]:
        """Mark a message as undeliverable."""
        return self.work.give_up(message, last_error=error)


def make_message_id(change_id: str, member_id: str, channel_id: str, reason: str) -> str:
    """Return the id of a message, which follows from its cause."""
    return hashlib.sha256(f"{change_id}\n{member_id}\n{channel_id}\n{reason}".encode()).hexdigest()[:32]


def describe_change(change: Change, reason: str) -> str:
    """Return the text of a message."""
    price = format_price(change.price_minor, change.currency)
    old = format_price(change.old_price_minor, change.old_currency)
    lines = [change.title or change.url, reason, f"{change.state or ''} {price}".strip()]
    if old and old != price:
        lines.append(" ".join(filter(None, ("before:", change.old_state, old))))
    lines += [change.detail or "", change.url]
    return "\n".join(line for line in lines if line)[:2000]


def make_data(change: Change, reason: str) -> dict[str, str]:
    """Return the fields of a webhook; absent ones are left out."""
    given = {
        "reason": reason,
        "kind": change.kind,
        "domain": change.domain,
        "url": change.url,
        "title": change.title,
        "state": change.state,
        "oldState": change.old_state,
        "priceMinor": change.price_minor,
        "oldPriceMinor": change.old_price_minor,
        "currency": change.currency,
        "detail": change.detail,
        "at": change.at.isoformat(),
    }
    return {name: str(value) for name, value in given.items() if value is not None}
