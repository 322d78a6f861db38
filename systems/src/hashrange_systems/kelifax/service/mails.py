"""Mails: queued in the transaction that causes them, and sent by the worker through the shared outbox.

`Mailer.write(...)` returns the write that queues a mail; `MailOutbox.send_due(shard)` sends what is due. The links in a
mail are signed when it is sent. The id of a mail follows from its cause: the same mail is never queued twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hashrange import Clock, Write
from hashrange_systems.kelifax.model.mail_text import TOPICS, render_mail
from hashrange_systems.kelifax.model.slug import encode_slug
from hashrange_systems.kelifax.record_item import OutgoingMail, WaitingMail
from hashrange_systems.kelifax.schema import Kelifax
from hashrange_systems.shared.channels.delivery import Delivery
from hashrange_systems.shared.channels.sender import DeliveryFailed, Sender
from hashrange_systems.shared.epoch import from_ms
from hashrange_systems.shared.signed_token import TokenSigner

SHARDS = 4


@dataclass(frozen=True, slots=True)
class Recipient:
    """The destination of a mail."""

    target: str
    userid: str = "visitor"
    secret: str | None = None


@dataclass(frozen=True, slots=True)
class Mailer:
    """Queues mails."""

    db: Kelifax
    clock: Clock
    enabled: bool = True  # whether there is a mail server

    def write_all(
        self, topic: str, recipient: str, cause: str, content: Mapping[str, Any], delay_ms: int = 0
    ) -> list[Write[Any]]:
        """Return the write that queues a mail, or none without a mail server."""
        return [self.write(topic, recipient, cause, content, delay_ms)] if self.enabled else []

    def write(
        self, topic: str, recipient: str, cause: str, content: Mapping[str, Any], delay_ms: int = 0
    ) -> Write[WaitingMail]:
        """Return the write that queues a mail; `content` has the words of its link and what its text names."""
        now = self.clock.millis()
        mail = WaitingMail(
            address=recipient,
            message_id=make_message_id(topic, cause),
            recipient=recipient,
            topic=topic,
            content=dict(content),
            created_at=from_ms(now),
            send_at=from_ms(now + delay_ms),
        )
        return self.db.create(mail)


@dataclass(frozen=True, kw_only=True)
class MailOutbox(Delivery[OutgoingMail, WaitingMail]):
    """Sends due mails; without a sender they wait until they are given up."""

    db: Kelifax
    signer: TokenSigner
    sender: Sender | None
    base_url: str
    site: str

    async def find_due(self, shard: str, now: datetime, limit: int) -> Sequence[OutgoingMail]:
        """Return the due mails of a shard."""
        return await self.db.outbox(shard, send_at=now).limit(limit)

    async def send_all_due(self) -> None:
        """Send the due mails of all shards."""
        for shard in range(SHARDS):
            await self.send_due(str(shard))

    def claim(self, due: OutgoingMail, lease: datetime) -> Awaitable[WaitingMail]:
        """Claim a mail."""
        return self.db.claim_mail(due, send_at=lease, attempts=1)

    async def deliver(self, message: WaitingMail) -> None:
        """Send a mail."""
        if self.sender is None:
            raise DeliveryFailed("there is no mail server: set KELIFAX_SMTP_URL")
        link = self.make_link(message.topic, message.content)
        notification = render_mail(message.topic, message.content, link, self.site)
        key = hashlib.sha256(f"{message.address}\n{message.message_id}".encode()).hexdigest()[:32]
        await self.sender.send(Recipient(message.recipient), notification, key)

    def make_link(self, topic: str, content: Mapping[str, Any]) -> str:
        """Return the link of a mail, with a new token if its topic needs one."""
        kind = TOPICS[topic]
        token = ""
        if kind.purpose is not None:
            words = [str(word) for word in content.get("words", ())]
            token = self.signer.sign(kind.purpose, words, self.clock.millis() + kind.valid_ms)
        return self.base_url + kind.page.format(token=token, slug=encode_slug(str(content.get("slug", ""))))

    def mark_sent(self, message: WaitingMail, at: datetime) -> Awaitable[object]:
        """Record that a mail was sent, even if the lease was lost."""
        return self.db.sent(message, sent_at=at)

    def postpone(self, message: WaitingMail, send_at: datetime, error: str) -> Awaitable[object]:
        """Schedule the next attempt."""
        return self.db.retry_mail(message, send_at=send_at, last_error=error)

    def give_up(self, message: WaitingMail, error: str) -> Awaitable[object]:
        """Mark a mail as undeliverable."""
        return self.db.give_up(message, lease=message.send_at, last_error=error)


def make_message_id(topic: str, cause: str) -> str:
    """Return the id of a mail."""
    return f"{topic}-{hashlib.sha256(cause.encode()).hexdigest()[:24]}"
