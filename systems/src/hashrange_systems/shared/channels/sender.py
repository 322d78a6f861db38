"""The interface of senders: what they send, where to, and the two ways in which sending fails.

DeliveryFailed             temporary: it is tried again later
└── DeliveryRefused       permanent: there is no such receiver, or it refuses the message
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from hashrange import HashrangeError

Severity = Literal["failure", "success", "warning", "info"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """A message in all its formats; notifications with the same `thread` belong together."""

    severity: Severity
    subject: str
    text: str
    html: str
    data: dict[str, Any]
    thread: str | None = None
    unsubscribe_url: str | None = None  # of a mailing list: mail programs show a button (RFC 8058)


class Destination(Protocol):
    """Where a notification goes; items such as a channel of a user have these attributes."""

    @property
    def userid(self) -> str:
        """The user that it belongs to."""
        ...

    @property
    def target(self) -> str:
        """The address, as it may be shown."""
        ...

    @property
    def secret(self) -> str | None:
        """What signs a webhook, or the whole URL of an Apprise service."""
        ...


class DeliveryFailed(HashrangeError):
    """The message was not accepted; `wait_s` is the pause that the receiver asks for. The text is for the user."""

    def __init__(self, reason: str, wait_s: int | None = None) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


class DeliveryRefused(DeliveryFailed):
    """The message will never be accepted."""


class Sender(Protocol):
    """Sends notifications to destinations of one kind."""

    async def send(self, destination: Destination, notification: Notification, key: str) -> None:
        """Send it, and return when it is accepted; each attempt has the same key, so that receivers can deduplicate."""
        ...
