"""What a type of channel is: its texts for forms, how its targets are parsed, and what sends to them.

Every module of `channels.types` declares one as `CHANNEL_TYPE`. Its `parse` is the only source of what is stored of a
target: the shown part, which pages, lists and logs may have, and the secret part, which is only stored encrypted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import NewType

from hashrange import Clock
from hashrange_systems.shared.channels.demo_mailbox import Mailbox
from hashrange_systems.shared.channels.email_sender import MailServer
from hashrange_systems.shared.channels.sender import Sender
from hashrange_systems.shared.fetching.fetcher import Fetcher
from hashrange_systems.shared.fetching.policy import Policy

Shown = NewType("Shown", str)  # only a ParsedTarget makes one
PART = re.compile(r"\w{5,}")


@dataclass(frozen=True, slots=True)
class ParsedTarget:
    """The shown and the secret part of a target; `public` and `hidden` make one."""

    shown: Shown
    secret: str | None = field(repr=False)

    @classmethod
    def public(cls, address: str, secret: str | None = None) -> ParsedTarget:
        """Return a target whose whole address may be shown; the secret, if any, signs what is sent there."""
        if secret is not None and secret in address:
            raise ValueError("the address of a public target contains its secret")
        return cls(Shown(address), secret)

    @classmethod
    def hidden(cls, address: str, shown: str) -> ParsedTarget:
        """Return a target whose address is a credential; raise ValueError if the shown text has a part of it."""
        _, _, credential = address.rpartition("://")
        if any(part in shown for part in (credential, *PART.findall(credential)) if part):
            raise ValueError("the shown text contains a part of the secret")
        return cls(Shown(shown), address)


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRules:
    """Which targets a system takes; `secret` is one that the user chose for signatures."""

    own_origins: Collection[str] = ()
    policy: Policy | None = None
    apprise_hosts: Collection[str] = ()
    secret: str | None = field(default=None, repr=False)


ANY_TARGET = TargetRules()


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderParts:
    """What senders are made of; in the demo, e-mails stay in the mailbox."""

    fetcher: Fetcher
    clock: Clock
    mail: MailServer | None = None
    mailbox: Mailbox | None = None
    apprise_hosts: Collection[str] = ()
    description: str = "hashrange"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelType:
    """A type of channel; without `make_sender`'s parts there is no sender, and the type is not offered."""

    name: str
    label: str
    hint: str
    parse: Callable[[str, TargetRules], ParsedTarget]  # raises InvalidInput; runs in a thread, and does no I/O
    make_sender: Callable[[SenderParts], Sender | None]
    needs_confirmation: bool = True  # by the link in a message to it, so that nobody can flood the target of another
    reveals_secret: bool = False  # to the user who added it, once: the receiver verifies signatures with it
