"""APPRISE: a URL of Apprise, such as slack://…, which is a credential: only its scheme is shown."""

from __future__ import annotations

from hashrange_systems.shared.channels.apprise_sender import Apprise, open_service
from hashrange_systems.shared.channels.channel_type import ChannelType, ParsedTarget, SenderParts, TargetRules
from hashrange_systems.shared.channels.sender import DeliveryRefused, Sender
from hashrange_systems.shared.errors import FieldError, InvalidInput


def parse_apprise_url(text: str, rules: TargetRules) -> ParsedTarget:
    """Return the scheme to show and the URL to hide; raise InvalidInput for a URL that cannot be used."""
    try:
        open_service(text, rules.apprise_hosts)
    except DeliveryRefused as refused:
        raise InvalidInput([FieldError("target", f"cannot be used: {refused}")]) from None
    scheme = text.partition("://")[0]
    try:
        return ParsedTarget.hidden(text, f"{scheme}://…")
    except ValueError:  # the address has the word of its scheme as a part of the credential
        raise InvalidInput(
            [FieldError("target", f"cannot be used: after :// it may not have {scheme!r} in it")]
        ) from None


def make_apprise_sender(parts: SenderParts) -> Sender:
    """Return what sends through Apprise."""
    return Apprise(parts.apprise_hosts, description=parts.description)


CHANNEL_TYPE = ChannelType(
    name="APPRISE", label="Apprise", hint="slack://…", parse=parse_apprise_url, make_sender=make_apprise_sender
)
