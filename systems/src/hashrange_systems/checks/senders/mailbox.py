"""Keeps e-mails instead of sending them: the demo's inbox, for when no mail server is configured.

In memory, and only the last ones: what is sent for real leaves no such copy, so neither should a demo in the tables.
The alerts themselves are stored, and after a restart still tell what was sent.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from hashrange import Clock
from hashrange_systems.checks.model.message import Letter
from hashrange_systems.checks.schema import Channel

MOST_MAILS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """A message that would have been sent, and when."""

    key: str
    owner: str
    recipient: str
    letter: Letter
    at: int


class Mailbox:
    """A sender that keeps what it is given."""

    def __init__(self, clock: Clock, most: int = MOST_MAILS) -> None:
        self._clock = clock
        self._most = most
        self._mails: OrderedDict[str, Mail] = OrderedDict()

    async def send(self, channel: Channel, letter: Letter, key: str) -> None:
        """Keep it; the same message again is the same mail."""
        mail = Mail(key=key, owner=channel.userid, recipient=channel.target, letter=letter, at=self._clock.millis())
        self._mails.setdefault(key, mail)
        while len(self._mails) > self._most:
            self._mails.popitem(last=False)

    def mails(self, owner: str) -> list[Mail]:
        """Return the mails of a user, the latest first."""
        return [mail for mail in reversed(self._mails.values()) if mail.owner == owner]

    def find(self, owner: str, key: str) -> Mail | None:
        """Return one mail of a user."""
        mail = self._mails.get(key)
        return mail if mail and mail.owner == owner else None
