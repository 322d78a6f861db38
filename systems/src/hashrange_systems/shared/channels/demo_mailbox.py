"""Keeps e-mails instead of sending them: the inbox of the demo, when no mail server is configured.

It is in memory and keeps only the latest. The alerts themselves are stored, and survive a restart.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from hashrange import Clock
from hashrange_systems.shared.channels.sender import Destination, Notification

MAX_MAILS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """A message that would have been sent."""

    key: str
    owner: str
    recipient: str
    notification: Notification
    at: int


class Mailbox:
    """A sender that keeps the messages."""

    def __init__(self, clock: Clock, most: int = MAX_MAILS) -> None:
        self._clock = clock
        self._most = most
        self._mails: OrderedDict[str, Mail] = OrderedDict()

    async def send(self, destination: Destination, notification: Notification, key: str) -> None:
        """Keep a message; a repeated key is ignored."""
        mail = Mail(
            key=key,
            owner=destination.userid,
            recipient=destination.target,
            notification=notification,
            at=self._clock.millis(),
        )
        self._mails.setdefault(key, mail)
        while len(self._mails) > self._most:
            self._mails.popitem(last=False)

    def all(self) -> list[Mail]:
        """Return the mails to everybody, latest first."""
        return list(reversed(self._mails.values()))

    def mails(self, owner: str) -> list[Mail]:
        """Return the mails of a user, latest first."""
        return [mail for mail in reversed(self._mails.values()) if mail.owner == owner]

    def find(self, owner: str, key: str) -> Mail | None:
        """Return one mail of a user."""
        mail = self._mails.get(key)
        return mail if mail and mail.owner == owner else None
