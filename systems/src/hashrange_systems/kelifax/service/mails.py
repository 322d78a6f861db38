"""Mails: messages to addresses, written in the transaction that causes them, and sent by the shared outbox.

A mail is about the address that it goes to. Its text is made when it is sent, with a link that is signed then: no link
is stored. Its id follows from its cause: the same mail is never queued twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from hashrange import Clock, Write
from hashrange_systems.kelifax.model.mail_text import TOPICS, render_mail
from hashrange_systems.kelifax.model.slug import encode_slug
from hashrange_systems.shared.accounts.schema import Channel, Waiting
from hashrange_systems.shared.channels.channel_type import ParsedTarget
from hashrange_systems.shared.channels.messages import MailAddress, Messages, NewMessage
from hashrange_systems.shared.channels.sender import Notification
from hashrange_systems.shared.email_address import fold_email
from hashrange_systems.shared.signed_token import TokenSigner

KEPT = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Mailer:
    """Queues mails."""

    messages: Messages
    enabled: bool = True  # whether there is a mail server

    def write_all(
        self, topic: str, recipient: str, cause: str, content: Mapping[str, Any], delay_ms: int = 0
    ) -> list[Write[Any]]:
        """Return the write that queues a mail, or none without a mail server."""
        return [self.write(topic, recipient, cause, content, delay_ms)] if self.enabled else []

    def write(
        self, topic: str, recipient: str, cause: str, content: Mapping[str, Any], delay_ms: int = 0
    ) -> Write[Waiting]:
        """Return the write that queues a mail; `content` has the words of its link and what its text names."""
        new = NewMessage(
            about=fold_email(recipient), topic=topic, cause=cause, content=content, delay_ms=delay_ms, kept=KEPT
        )
        return self.messages.write(new, MailAddress(ParsedTarget.public(recipient)))

    async def withdraw(self, topic: str, recipient: str, slug: str) -> list[Write[Any]]:
        """Return the writes that delete the mails about a resource that still wait."""
        db = self.messages.accounts
        return [
            db.drop_message(each.about, each.message_id)
            for each in await db.messages_about(fold_email(recipient)).consistent()
            if isinstance(each, Waiting) and each.topic == topic and each.content.get("slug") == slug
        ]


@dataclass(frozen=True, slots=True)
class MailRenderer:
    """Makes the text of a mail when it is sent."""

    signer: TokenSigner
    clock: Clock
    base_url: str
    site: str

    def render(self, message: Waiting, _channel: Channel | None) -> Notification:
        """Return the mail, for the outbox."""
        link = self.make_link(message.topic, message.content)
        return render_mail(message.topic, message.content, link, self.site)

    def make_link(self, topic: str, content: Mapping[str, Any]) -> str:
        """Return the link of a mail, with a new token if its topic needs one."""
        kind = TOPICS[topic]
        token = ""
        if kind.purpose is not None:
            words = [str(word) for word in content.get("words", ())]
            token = self.signer.sign(kind.purpose, words, self.clock.millis() + kind.valid_ms)
        return self.base_url + kind.page.format(token=token, slug=encode_slug(str(content.get("slug", ""))))
