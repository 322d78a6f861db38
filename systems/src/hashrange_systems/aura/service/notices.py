"""Messages to members about changes: written once for each cause and channel."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from html import escape

from hashrange_systems.aura.model.price_format import format_price
from hashrange_systems.aura.work_schema import Change
from hashrange_systems.shared.accounts.schema import Channel, Message, UsableChannel, Waiting
from hashrange_systems.shared.channels.channels import CONFIRM, Channels
from hashrange_systems.shared.channels.messages import Messages, NewMessage
from hashrange_systems.shared.channels.sender import Notification

TOPIC = "notice"
KEPT = timedelta(days=30)
QUESTION = "Confirm this address"


@dataclass(frozen=True, slots=True)
class Notices:
    """Writes the messages of members."""

    messages: Messages
    channels: Channels

    async def write(self, member_id: str, change: Change, reason: str) -> None:
        """Write a message about a change to each channel of a member; the same message is written once."""
        await self.write_to(await self.channels.list_usable(member_id), change, reason)

    async def write_to(self, channels: Iterable[Channel | UsableChannel], change: Change, reason: str) -> None:
        """Write a message about a change to some channels; the same message is written once."""
        content = {
            "subject": f"{change.title or change.url}: {reason}"[:200],
            "text": describe_change(change, reason),
            "data": make_data(change, reason),
        }
        for channel in channels:
            new = NewMessage(
                about=channel.owner,
                topic=TOPIC,
                cause=f"{change.change_id} {reason}",
                content=content,
                kept=KEPT,
                message_id=make_message_id(change.change_id, channel.owner, channel.channel_id, reason),
            )
            await self.messages.send(new, channel)

    async def list_messages(self, member_id: str, limit: int = 50) -> Sequence[Message]:
        """Return the last messages of a member, newest first."""
        return (await self.messages.page_by_owner(member_id, limit)).items


def render_notice(message: Waiting, _channel: Channel | None) -> Notification:
    """Return a message as senders take it."""
    content = message.content
    text = content["text"]
    return Notification(
        severity="info",
        subject=content["subject"],
        text=text,
        html=f"<p>{escape(text).replace(chr(10), '<br>')}</p>",
        data=dict(content["data"]),
    )


def name_message(message: Message) -> str:
    """Return the subject of a message."""
    return QUESTION if message.topic == CONFIRM else str(message.content.get("subject", ""))


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
