"""WEBHOOK: a URL to which messages are posted as JSON, signed with a secret that its owner sees once."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

from hashrange_systems.shared.channels.channel_type import ChannelType, ParsedTarget, SenderParts, TargetRules
from hashrange_systems.shared.channels.sender import Sender
from hashrange_systems.shared.channels.webhook_sender import Webhook
from hashrange_systems.shared.errors import FieldError, InvalidInput
from hashrange_systems.shared.fetching.errors import FetchError
from hashrange_systems.shared.fetching.http_url import Target, parse_url
from hashrange_systems.shared.identifier import make_webhook_secret
from hashrange_systems.shared.loopback import LOOPBACK
from hashrange_systems.shared.user_url import validate_url


def parse_webhook_url(text: str, rules: TargetRules) -> ParsedTarget:
    """Return the URL and a secret for signatures; raise InvalidInput for a URL that may not be requested."""
    url = validate_url(text, rules.own_origins, "target")
    if rules.policy is not None:
        try:
            parsed = parse_url(url)
            rules.policy.check_port(parsed.port)
            rules.policy.check_addresses(parsed, find_addresses(parsed))
        except FetchError as error:
            raise InvalidInput([FieldError("target", str(error))]) from error
    if rules.secret and rules.secret in url:
        raise InvalidInput([FieldError("target", "must not have the secret in it, which signs what is sent there")])
    return ParsedTarget.public(url, rules.secret or make_webhook_secret())


def find_addresses(target: Target) -> list[IPv4Address | IPv6Address]:
    """Return the addresses that a URL names itself; those of other names are checked when a message is sent."""
    if target.host == "localhost" or target.host.endswith(".localhost"):
        return [IPv4Address(LOOPBACK)]
    return [] if target.literal is None else [target.literal]


def make_webhook_sender(parts: SenderParts) -> Sender:
    """Return what posts messages."""
    return Webhook(parts.fetcher, parts.clock)


CHANNEL_TYPE = ChannelType(
    name="WEBHOOK",
    label="webhook",
    hint="https://…",
    parse=parse_webhook_url,
    make_sender=make_webhook_sender,
    reveals_secret=True,
)
