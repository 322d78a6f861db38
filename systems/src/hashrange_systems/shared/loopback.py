"""Ports of this machine, for the pages of demos."""

from __future__ import annotations

import logging
import socket

log = logging.getLogger(__name__)

LOOPBACK = "127.0.0.1"


def bind_loopback(port: int, variable: str) -> socket.socket:
    """Return a socket on this port, or on any free one if it is taken; log that, and the variable that chooses it."""
    try:
        return socket.create_server((LOOPBACK, port))
    except (OSError, OverflowError) as error:
        found = socket.create_server((LOOPBACK, 0))
        other = found.getsockname()[1]
        log.warning(
            "port %s of the demo pages is not available (%s): port %s is used instead; %s chooses another",
            port, error, other, variable,
        )  # fmt: skip
        return found
