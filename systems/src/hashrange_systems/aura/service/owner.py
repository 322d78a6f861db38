"""The names under which processes own leases."""

from __future__ import annotations

import os
import socket

from hashrange_systems.shared.identifier import make_id


def make_owner(what: str | None = None) -> str:
    """Return a name that nobody else has: host, process and a random part, with what it is for.

    A process that was suspended until its lease expired must not take the lease of its successor for its own.
    """
    name = f"{socket.gethostname()}-{os.getpid()}-{make_id()[:6]}"
    return f"{name} ({what})" if what else name
