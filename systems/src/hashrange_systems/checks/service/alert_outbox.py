"""The outbox of alerts: sends the queued alerts of checks to the channels of their users."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from hashrange_systems.checks.model.alert_message import read_alert_context, render_notification
from hashrange_systems.checks.schema import Alert, Checks, Outgoing, Waiting
from hashrange_systems.shared.channels.delivery import Delivery
from hashrange_systems.shared.channels.sender import DeliveryFailed, DeliveryRefused, Sender


@dataclass(frozen=True, kw_only=True)
class AlertOutbox(Delivery[Outgoing, Waiting]):
    """Sends due alerts; `senders` by type of channel, `find_page` returns the URL of a check's page."""

    db: Checks
    senders: Mapping[str, Sender]
    find_page: Callable[[str], str] | None = None

    async def find_due(self, shard: str, now: datetime, limit: int) -> Sequence[Outgoing]:
        """Return the due alerts of a shard."""
        return await self.db.outbox(shard, send_at=now).limit(limit)

    def claim(self, due: Outgoing, lease: datetime) -> Awaitable[Waiting]:
        """Claim an alert."""
        return self.db.claim_alert(due, send_at=lease, attempts=1)

    async def deliver(self, message: Waiting) -> None:
        """Send an alert to its channel."""
        channel = await self.db.channel(message.owner, message.channel_id)
        if channel is None:
            raise DeliveryRefused("the channel was removed")
        if channel.verified_at is None:
            raise DeliveryRefused("the channel is not verified")
        sender = self.senders.get(channel.channel_type)
        if sender is None:
            raise DeliveryFailed(f"sending by {channel.channel_type} is not set up")
        page = self.find_page(message.checkid) if self.find_page else None
        context = read_alert_context(message.topic, message.checkid, message.content, page)
        await sender.send(channel, render_notification(context), make_key(message))

    def mark_sent(self, message: Waiting, at: datetime) -> Awaitable[object]:
        """Record that an alert was sent, even if the lease was lost."""
        return self.db.sent(message, sent_at=at)

    def postpone(self, message: Waiting, send_at: datetime, error: str) -> Awaitable[object]:
        """Schedule the next attempt."""
        return self.db.retry_alert(message, send_at=send_at, last_error=error)

    def give_up(self, message: Waiting, error: str) -> Awaitable[object]:
        """Mark an alert as undeliverable."""
        return self.db.give_up(message, lease=message.send_at, last_error=error)


def make_key(alert: Alert) -> str:
    """Return the deduplication key of an alert: the same for each attempt."""
    return hashlib.sha256(f"{alert.checkid}\n{alert.message_id}\n{alert.channel_id}".encode()).hexdigest()[:32]
