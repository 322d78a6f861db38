"""Name resolution: an interface that tests replace, and the machine's resolver."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from hashrange_systems.shared.fetching.errors import NameUnresolved

LOOKUPS_AT_ONCE = 32
UNKNOWN_NAME = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}


class Resolver(Protocol):
    """Resolves names for the fetcher, once for each request and each redirect."""

    async def resolve(self, host: str) -> Sequence[str]:
        """Return the addresses of a name, the preferred one first; raise NameUnresolved."""
        ...


class SystemResolver:
    """The machine's resolver in its own threads, so that slow names delay only other lookups."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(LOOKUPS_AT_ONCE, thread_name_prefix="resolver")

    async def resolve(self, host: str) -> Sequence[str]:
        """Return the addresses of a name from the machine's resolver."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, _resolve_name, host)
        except socket.gaierror as error:
            raise NameUnresolved(host, temporary=error.errno not in UNKNOWN_NAME) from error


def _resolve_name(host: str) -> list[str]:
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]
