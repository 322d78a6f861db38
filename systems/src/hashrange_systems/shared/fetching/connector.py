"""Finds and connects to hosts that users give: resolves a name once, checks every address, connects to a checked one.

The fetcher uses it for HTTP, and checks of ports, certificates, name servers and echoes use it directly.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

from hashrange_systems.shared.fetching.errors import NameUnresolved
from hashrange_systems.shared.fetching.http_stream import connect, order
from hashrange_systems.shared.fetching.http_url import Target, normalise_host
from hashrange_systems.shared.fetching.policy import Policy
from hashrange_systems.shared.fetching.public_address import Address, unwrap
from hashrange_systems.shared.fetching.resolver import Resolver
from hashrange_systems.shared.fetching.timing import PhaseTimer

ADDRESSES_TRIED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long each phase may take at each server, in seconds; a request's `timeout_s` bounds the whole."""

    dns_s: float = 5.0
    connect_s: float = 10.0
    tls_s: float = 10.0
    answer_s: float = 30.0


@dataclass(frozen=True, slots=True)
class Connector:
    """Locates and connects, within a policy and limits; any number of tasks may share it."""

    policy: Policy
    limits: Limits
    resolver: Resolver

    async def locate(self, target: Target, timer: PhaseTimer) -> tuple[Address, ...]:
        """Return the addresses to connect to, after the policy has checked all of them."""
        found: Sequence[Address] = [target.literal] if target.literal else await self._resolve(target.host, timer)
        await self._refuse_own(target, found)
        self.policy.check_addresses(target, found)
        return order(map(unmap, found), ADDRESSES_TRIED)

    async def connect(self, target: Target, timer: PhaseTimer) -> socket.socket:
        """Return a socket that is connected to a checked address of the target."""
        addresses = await self.locate(target, timer)
        async with timer.time("connect"):
            return await connect(addresses, target.port, self.limits.connect_s)

    async def _refuse_own(self, target: Target, found: Sequence[Address]) -> None:
        """Raise ForbiddenAddress if the target is the service itself, by whatever name."""
        own = {each.host: await self._find_addresses(each.host) for each in self.policy.find_own(target.port)}
        self.policy.check_own(target, found, own)

    async def _find_addresses(self, host: str) -> list[Address]:
        """Return the addresses of a name of ours; none if it cannot be resolved: then only its name is refused."""
        with suppress(ValueError):
            return [ip_address(host)]
        with suppress(NameUnresolved, TimeoutError):
            async with asyncio.timeout(self.limits.dns_s):
                return [ip_address(text) for text in await self.resolver.resolve(host)]
        return []

    async def _resolve(self, host: str, timer: PhaseTimer) -> list[Address]:
        async with timer.time("dns", self.limits.dns_s):
            found = [ip_address(text) for text in await self.resolver.resolve(host)]
        if not found:
            raise NameUnresolved(host, temporary=False)
        return found


def make_target(scheme: str, host: str, port: int) -> Target:
    """Return the target of a connection that is not HTTP; raise BadUrl if the host is not valid."""
    raw = f"[{host}]" if ":" in host else host
    found = normalise_host(raw)
    literal = found if isinstance(found, IPv4Address | IPv6Address) else None
    return Target(scheme=scheme, host=str(found), port=port, path="", literal=literal)


def unmap(address: Address) -> Address:
    """Return a mapped IPv4 address as itself: some systems do not connect to the IPv6 form."""
    return unwrap(address) if isinstance(address, IPv6Address) and address.ipv4_mapped else address
