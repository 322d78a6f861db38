"""The types of channels: every module of `channels.types` is one; and their senders."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from hashrange_systems.shared.channels import types
from hashrange_systems.shared.channels.channel_type import ChannelType, ParsedTarget, SenderParts, TargetRules
from hashrange_systems.shared.channels.sender import Sender
from hashrange_systems.shared.validation import parse_choice

ChannelTypes = Mapping[str, ChannelType]
FIRST = ("EMAIL", "WEBHOOK")  # are offered before the others


@cache
def find_channel_types() -> ChannelTypes:
    """Return the types of all modules of `channels.types`, in the order in which they are offered."""
    modules = [import_module(f"{types.__name__}.{found.name}") for found in iter_modules(types.__path__)]
    found = [module.CHANNEL_TYPE for module in modules]
    ordered = sorted(found, key=lambda each: (FIRST.index(each.name) if each.name in FIRST else len(FIRST), each.name))
    return {each.name: each for each in ordered}


CHANNEL_TYPES = find_channel_types()
EMAIL = CHANNEL_TYPES["EMAIL"]


async def parse_target(types: ChannelTypes, channel_type: str, text: str, rules: TargetRules) -> ParsedTarget:
    """Return the parts of a target of a named type; raise InvalidInput. The event loop goes on meanwhile."""
    known = types[parse_choice("channelType", channel_type, tuple(types))]
    return await asyncio.to_thread(known.parse, text, rules)


def make_senders(parts: SenderParts, types: ChannelTypes = CHANNEL_TYPES) -> dict[str, Sender]:
    """Return the senders by type; without a mail server or a mailbox there is none of e-mails."""
    made = {name: each.make_sender(parts) for name, each in types.items()}
    return {name: sender for name, sender in made.items() if sender is not None}


def close_senders(senders: Mapping[str, Sender]) -> None:
    """Release the threads of the senders that have some."""
    for sender in senders.values():
        close = getattr(sender, "close", None)
        if close is not None:
            close()
