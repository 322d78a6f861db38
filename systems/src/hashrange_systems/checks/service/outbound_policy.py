"""Where this process may send requests: the policy of the deployment, without the service itself.

Every process writes where it listens into its presence. So a worker on another machine knows the pages and databases
that checks must not reach.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from ipaddress import ip_address

from hashrange_systems.checks.deployment_schema import WorkerPresence
from hashrange_systems.checks.service.deployment import DeploymentSettings
from hashrange_systems.shared.fetching.fetcher import Fetcher
from hashrange_systems.shared.fetching.own_address import OwnAddress, list_machine_addresses, read_host_and_port
from hashrange_systems.shared.fetching.policy import Policy, parse_exemptions
from hashrange_systems.shared.work.presence import Presence, PresenceFields

REFRESH_S = 10.0


@dataclass(slots=True)
class OutboundPolicy:
    """Keeps the policy of a fetcher up to date; `base` is what this process alone knows."""

    fetcher: Fetcher
    base: Policy
    deployment: DeploymentSettings
    presence: Presence[WorkerPresence]

    async def refresh(self) -> None:
        """Read the exemptions of the deployment and the addresses of its processes, and apply them."""
        self.apply(await self.deployment.read_policy(), await self.presence.list_all())

    def apply(self, allow: Sequence[str], processes: Iterable[PresenceFields] = ()) -> None:
        """Apply exemptions, and refuse the addresses of all processes."""
        own = frozenset(find_addresses(processes, socket.gethostname()))
        exempt = self.base.exempt | parse_exemptions(allow)
        self.fetcher.apply_policy(replace(self.base, exempt=exempt, own=self.base.own | own))


def list_own_addresses(ports: Iterable[int]) -> list[str]:
    """Return the addresses and ports of this machine that this process listens on, for its presence."""
    return [
        f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
        for address in list_machine_addresses()
        for port in sorted(ports)
    ]


def find_addresses(processes: Iterable[PresenceFields], here: str) -> Iterable[OwnAddress]:
    """Yield the addresses of processes; loopback addresses only of this machine's."""
    for process in processes:
        for text in process.addresses:
            own = read_host_and_port(text)
            if own is not None and (process.host == here or not is_local(own.host)):
                yield own


def is_local(host: str) -> bool:
    """Return whether a host is a loopback address or the wildcard: these mean another machine elsewhere."""
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified
