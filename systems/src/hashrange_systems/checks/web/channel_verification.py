"""Verification of channels: sends a signed link to the address of a channel."""

from __future__ import annotations

import asyncio
import logging
from urllib.parse import quote

from hashrange_systems.checks.application import Application
from hashrange_systems.checks.model.alert_message import render_verification
from hashrange_systems.checks.service.channels import NewChannel
from hashrange_systems.shared.channels.sender import DeliveryFailed

log = logging.getLogger(__name__)

SEND_TIMEOUT_S = 15.0


async def send_verification(services: Application, new: NewChannel) -> bool:
    """Send the verification link; return whether it was accepted."""
    sender = services.senders.get(new.channel.channel_type)
    if sender is None:
        return False
    notification = render_verification(f"{services.runtime.base_url}/verify?token={quote(new.token)}")
    key = f"verify-{new.channel.channel_id}-{services.clock.millis()}"
    try:
        async with asyncio.timeout(SEND_TIMEOUT_S):
            await sender.send(new.channel, notification, key)
    except (DeliveryFailed, TimeoutError) as error:
        log.warning(
            "an address could not be asked",
            extra={"fields": {"channel_type": new.channel.channel_type, "why": str(error)}},
        )
        return False
    return True
