"""EMAIL: an e-mail address, to which messages go through the operator's mail server."""

from __future__ import annotations

from hashrange_systems.shared.channels.channel_type import ChannelType, ParsedTarget, SenderParts, TargetRules
from hashrange_systems.shared.channels.email_sender import Email
from hashrange_systems.shared.channels.sender import Sender
from hashrange_systems.shared.email_address import validate_email


def parse_address(text: str, _rules: TargetRules) -> ParsedTarget:
    """Return the address as its owner spells it."""
    return ParsedTarget.public(validate_email(text, "target"))


def make_email_sender(parts: SenderParts) -> Sender | None:
    """Return the mailbox of the demo, or what sends through the mail server; None without both."""
    if parts.mailbox is not None:
        return parts.mailbox
    return None if parts.mail is None else Email(parts.mail, parts.clock)


CHANNEL_TYPE = ChannelType(
    name="EMAIL", label="e-mail", hint="ann@example.com", parse=parse_address, make_sender=make_email_sender
)
