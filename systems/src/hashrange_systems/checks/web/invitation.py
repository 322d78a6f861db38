"""Asks a new channel's address whether it wants messages: sends it the link that only it can follow."""

from __future__ import annotations

import asyncio
import logging
from urllib.parse import quote

from hashrange_systems.checks.model.message import write_verification
from hashrange_systems.checks.senders.sender import Undelivered
from hashrange_systems.checks.service.channels import NewChannel
from hashrange_systems.checks.web.services import Services

log = logging.getLogger(__name__)

PATIENCE_S = 15.0


async def invite(services: Services, base_url: str, new: NewChannel) -> bool:
    """Send the link; return whether it was taken."""
    sender = services.senders.get(new.channel.kind)
    if sender is None:
        return False
    letter = write_verification(f"{base_url}/verify?token={quote(new.token)}")
    key = f"verify-{new.channel.channel_id}-{services.clock.millis()}"
    try:
        async with asyncio.timeout(PATIENCE_S):
            await sender.send(new.channel, letter, key)
    except (Undelivered, TimeoutError) as fault:
        log.warning("an address could not be asked", extra={"fields": {"kind": new.channel.kind, "why": str(fault)}})
        return False
    return True
