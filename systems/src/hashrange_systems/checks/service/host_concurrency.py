"""Limits the concurrent requests to each host, so that many checks of one site are not an attack.

The permits of a host are divided between users, so that one of them cannot keep the others from watching it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from hashrange_systems.checks.worker_limit import AT_A_HOST, AT_A_HOST_OF_A_USER, HOST_WAIT
from hashrange_systems.shared.work.fair_semaphore import FairSemaphore, SemaphoreFull


class HostBusy(Exception):
    """The wait for other requests to the host took too long."""


@dataclass(slots=True)
class HostLimiter:
    """Allows `at_once` requests to each host, and `of_a_user` of them to a user; others wait up to a timeout."""

    at_once: int = AT_A_HOST.count
    of_a_user: int = AT_A_HOST_OF_A_USER.count
    timeout_s: float = HOST_WAIT.count
    hosts: dict[str, FairSemaphore] = field(default_factory=dict)  # with requests that use or wait for them

    @asynccontextmanager
    async def enter(self, host: str, userid: str) -> AsyncIterator[None]:
        """Hold a permit of the host for the block; raise HostBusy after the timeout."""
        permits = self.hosts.setdefault(host, FairSemaphore(self.at_once, self.of_a_user))
        try:
            async with AsyncExitStack() as stack:
                try:
                    await stack.enter_async_context(permits.enter(userid, timeout_s=self.timeout_s))
                except SemaphoreFull as error:
                    raise HostBusy("too many checks look at this host at once") from error
                yield
        finally:
            if not permits.taken and not permits.queued:
                self.hosts.pop(host, None)
