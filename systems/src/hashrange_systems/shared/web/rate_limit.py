"""A rate limit for each name, such as an API key or a client's network: a burst, refilled at a constant rate.

The state is in memory: each process has its own, and a restart forgets it.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from ipaddress import IPv4Address, ip_address, ip_network
from math import ceil

from hashrange import Clock
from hashrange_systems.shared.errors import TooManyRequests

CLIENT_PREFIX = 64  # of IPv6: what a provider gives one customer, who can use a new address for every request
MAX_NAMES = 10_000  # remembered at the same time; the least recently used is forgotten first


@dataclass(slots=True)
class RateLimit:
    """A token bucket for each name."""

    clock: Clock
    burst: int
    per_second: float
    _spent: OrderedDict[str, tuple[float, int]] = field(default_factory=OrderedDict)  # how much, as of when

    def consume(self, name: str) -> None:
        """Count a request of this name; raise TooManyRequests if the limit is reached."""
        now = self.clock.millis()
        spent, seen = self._spent.pop(name, (0.0, now))
        spent = max(0.0, spent - max(0, now - seen) / 1000 * self.per_second)
        refused = spent + 1 > self.burst
        self._spent[name] = (spent if refused else spent + 1), now
        if len(self._spent) > MAX_NAMES:
            self._spent.popitem(last=False)
        if refused:
            raise TooManyRequests(max(1, ceil((spent + 1 - self.burst) / self.per_second)))


def find_network(host: str) -> str:
    """Return by what a client is counted: its IPv4 address, or the /64 network of its IPv6 address."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    inner = getattr(address, "ipv4_mapped", None) or address
    if isinstance(inner, IPv4Address):
        return str(inner)
    return str(ip_network((inner, CLIENT_PREFIX), strict=False))
