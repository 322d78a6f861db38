"""Ports of this machine, for the pages of demos."""

from __future__ import annotations

import logging
import socket

log = logging.getLogger(__name__)

LOOPBACK = "127.0.0.1"


def bind_loopback(port: int) -> socket.socket:
    """Return a socket on this port, or on any free one if it is taken, and log that."""
    try:
        return socket.create_server((LOOPBACK, port))
    except (OSError, OverflowError) as error:
        found = socket.create_server((LOOPBACK, 0))
        other = found.getsockname()[1]
        log.warning("port %s of the demo pages is not available (%s): port %s is used instead", port, error, other)
        return found
