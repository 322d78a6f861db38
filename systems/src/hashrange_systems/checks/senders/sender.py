"""The port that alerts leave by: what a sender is, and the two ways in which it can fail.

Undelivered                not now; tried again later
└── ReceiverRefuses        not ever: there is no such receiver, or it wants none of it
"""

from __future__ import annotations

from typing import Protocol

from hashrange import HashrangeError
from hashrange_systems.checks.model.message import Letter
from hashrange_systems.checks.schema import Channel


class Undelivered(HashrangeError):
    """The message was not taken; `wait_s` is how long the receiver wants to be left alone. The text is for the user."""

    def __init__(self, reason: str, wait_s: int | None = None) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


class ReceiverRefuses(Undelivered):
    """The message will never be taken."""


class Sender(Protocol):
    """Sends messages to channels of one kind."""

    async def send(self, channel: Channel, letter: Letter, key: str) -> None:
        """Send it, and return once it is taken; the same message has the same key, by which a receiver can tell."""
        ...
