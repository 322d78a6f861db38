"""The outbox of a system: sends its due messages, each to its channel or address, rendered by the system.

`partial(render_question, purpose="alerts about websites")` renders the link to confirm a channel.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from html import escape

from hashrange_systems.shared.accounts.schema import Accounts, Channel, Message, Outgoing, Waiting
from hashrange_systems.shared.channels.channels import CONFIRM, Channels
from hashrange_systems.shared.channels.delivery import Delivery, DeliveryCounts
from hashrange_systems.shared.channels.sender import DeliveryFailed, DeliveryRefused, Notification, Sender
from hashrange_systems.shared.channels.type_registry import EMAIL

Render = Callable[[Waiting, Channel | None], Notification]  # the channel is None for a message to an address
RenderQuestion = Callable[[str], Notification]  # with the link that confirms a channel
RenderNotice = Callable[[Waiting], Awaitable[Notification | None]]  # None if there is nothing to say any more
NOTICE = "account: "  # how the topics of mails about accounts begin


def render_question(link: str, purpose: str = "messages") -> Notification:
    """Return the message that asks to confirm a channel."""
    text = (
        f"Somebody asked to send {purpose} to this address.\n"
        f"If that was you, confirm it within three days: {link}\n"
        "If not, do nothing: no other message is sent."
    )
    paragraphs = escape(text).replace("\n", "<br>")
    return Notification(
        severity="info",
        subject="Confirm this address",
        text=text,
        html=f'<p>{paragraphs}</p><p><a href="{escape(link)}">Confirm this address</a></p>',
        data={"type": "confirm", "url": link},
    )


@dataclass(frozen=True, slots=True)
class Receiver:
    """Where a message goes, as senders take it."""

    userid: str
    target: str
    secret: str | None = None


@dataclass(frozen=True, kw_only=True)
class Outbox(Delivery[Outgoing, Waiting]):
    """Sends due messages; `senders` by type of channel, and `notices` render the mails about accounts by topic."""

    accounts: Accounts
    channels: Channels
    senders: Mapping[str, Sender]
    render: Render
    render_question: RenderQuestion = render_question
    notices: Mapping[str, RenderNotice] = field(default_factory=dict)

    async def send_all(self) -> DeliveryCounts:
        """Send all messages that are due; return the number of each outcome."""
        return await self.send_due("")

    async def find_due(self, shard: str, now: datetime, limit: int) -> Sequence[Outgoing]:
        """Return due messages of all shards, the longest waiting first."""
        return await self.accounts.outbox(send_at=now).limit(limit)

    def claim(self, due: Outgoing, lease: datetime) -> Awaitable[Waiting]:
        """Claim a message."""
        return self.accounts.claim_message(due, send_at=lease, attempts=1)

    async def deliver(self, message: Waiting) -> None:
        """Send a message to its channel or address."""
        if message.topic.startswith(NOTICE):
            await self._send_notice(message)
            return
        if message.channel_id is None or message.owner is None:
            await self._send(message, EMAIL.name, Receiver(message.owner or "", message.recipient or ""), None)
            return
        channel = await self.accounts.channel(message.owner, message.channel_id).consistent()
        if channel is None:
            raise DeliveryRefused("the channel was removed")
        if (channel.confirmed_at is None) != (message.topic == CONFIRM):
            raise DeliveryRefused(
                "the channel is not confirmed" if channel.confirmed_at is None else "the channel is confirmed already"
            )
        receiver = Receiver(channel.owner, channel.shown, channel.secret)
        await self._send(message, channel.channel_type, receiver, channel)

    async def _send_notice(self, message: Waiting) -> None:
        """Send a mail about an account; delete the message if there is nothing to say any more."""
        sender, render = self.senders.get(EMAIL.name), self.notices.get(message.topic)
        if sender is None or render is None:
            raise DeliveryFailed("mails about accounts are not set up")
        notification = await render(message)
        if notification is None:
            await self.accounts.drop_message(message.about, message.message_id)
            return
        receiver = Receiver(message.owner or "", message.recipient or "")
        await sender.send(receiver, notification, make_delivery_key(message))

    async def _send(self, message: Waiting, channel_type: str, receiver: Receiver, channel: Channel | None) -> None:
        sender = self.senders.get(channel_type)
        if sender is None:
            raise DeliveryFailed(f"sending by {channel_type} is not set up")
        if message.topic == CONFIRM and channel is not None:
            notification = self.render_question(self.channels.make_link(channel))
        else:
            notification = self.render(message, channel)
        await sender.send(receiver, notification, make_delivery_key(message))

    def mark_sent(self, message: Waiting, at: datetime) -> Awaitable[object]:
        """Record that a message was sent, even if the lease was lost."""
        return self.accounts.mark_sent(message, sent_at=at)

    def postpone(self, message: Waiting, send_at: datetime, error: str) -> Awaitable[object]:
        """Schedule the next attempt."""
        return self.accounts.retry_message(message, send_at=send_at, last_error=error)

    def give_up(self, message: Waiting, error: str) -> Awaitable[object]:
        """Mark a message as undeliverable."""
        return self.accounts.give_up(message, lease=message.send_at, last_error=error)


def make_delivery_key(message: Message) -> str:
    """Return the deduplication key of a message: the same for each attempt."""
    return hashlib.sha256(f"{message.about}\n{message.message_id}".encode()).hexdigest()[:32]
