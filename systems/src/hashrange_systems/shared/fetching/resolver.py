"""From a name to its addresses: the port that tests script, and the machine's own resolver behind it."""

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
    """Where the fetcher gets addresses from; it asks once per request and once per redirect."""

    async def resolve(self, host: str) -> Sequence[str]:
        """Return the addresses of a name, the preferred one first, or raise NameUnresolved."""
        ...


class SystemResolver:
    """The machine's resolver, in threads of its own: names that are slow to look up hold up nothing but other names."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(LOOKUPS_AT_ONCE, thread_name_prefix="resolver")

    async def resolve(self, host: str) -> Sequence[str]:
        """Return the addresses that the machine knows for the name."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, _look_up, host)
        except socket.gaierror as error:
            raise NameUnresolved(host, temporary=error.errno not in UNKNOWN_NAME) from error


def _look_up(host: str) -> list[str]:
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]
