"""Which targets are allowed: public addresses, web ports, and the operator's exemptions. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path

from hashrange_systems.shared.fetching.errors import (
    BadUrl,
    ForbiddenAddress,
    ForbiddenPort,
    OwnAddressForbidden,
    PolicyInvalid,
)
from hashrange_systems.shared.fetching.http_url import Target, normalise_host
from hashrange_systems.shared.fetching.own_address import OwnAddress, is_of_this_machine
from hashrange_systems.shared.fetching.public_address import Address, Network, explain_forbidden, unwrap

# Ports of text protocols that an HTTP request could abuse: those that browsers block, Redis and memcached.
FORBIDDEN_PORTS = frozenset(
    {1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110}
    | {111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531}
    | {532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190}
    | {5060, 5061, 6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080, 11211}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exemption:
    """A name or network that is allowed although it is not public, on one port or all."""

    host: str | None = None
    network: Network | None = None
    port: int | None = None

    def covers(self, target: Target, address: Address) -> bool:
        """Return whether it allows a request to this target at this address."""
        if self.port not in {None, target.port}:
            return False
        return target.host == self.host or (self.network is not None and unwrap(address) in self.network)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What the operator allows besides public web servers; `ca_file` is trusted besides the public authorities.

    No exemption covers `own_ports`, the ports of this process, nor `own`, where the service listens elsewhere.
    """

    exempt: frozenset[Exemption] = frozenset()
    ports: frozenset[int] = frozenset()
    ca_file: Path | None = None
    own_ports: frozenset[int] = frozenset()
    own: frozenset[OwnAddress] = frozenset()

    def check_port(self, port: int) -> None:
        """Raise ForbiddenPort for ports of other protocols."""
        if port in FORBIDDEN_PORTS and port not in self.ports:
            raise ForbiddenPort(port)

    def check_addresses(self, target: Target, addresses: Iterable[Address]) -> None:
        """Raise ForbiddenAddress if any address of the target is forbidden."""
        for address in addresses:
            reason = explain_forbidden(address)
            if reason and not self._exempts(target, address):
                raise ForbiddenAddress(target.host, str(address), reason)

    def find_own(self, port: int) -> list[OwnAddress]:
        """Return the addresses of the service that have this port."""
        return [own for own in self.own if own.port == port]

    def check_own(self, target: Target, addresses: Sequence[Address], own: Mapping[str, Sequence[Address]]) -> None:
        """Raise OwnAddressForbidden if the target is the service itself; `own` has the addresses of its names."""
        here = target.port in self.own_ports and any(map(is_of_this_machine, addresses))
        reached = (each.is_reached(target, addresses, own.get(each.host, ())) for each in self.find_own(target.port))
        if here or any(reached):
            raise OwnAddressForbidden(target.host, str(addresses[0]))

    def _exempts(self, target: Target, address: Address) -> bool:
        if target.port in self.own_ports:
            return False
        return any(exemption.covers(target, address) for exemption in self.exempt)


def parse_exemptions(texts: Iterable[str]) -> frozenset[Exemption]:
    """Parse exemptions as an operator writes them: `10.0.0.0/8`, `127.0.0.1:9000`, `[::1]:9000`, `wiki.internal`."""
    return frozenset(parse_exemption(text) for text in texts)


def parse_exemption(text: str) -> Exemption:
    """Parse one exemption."""
    address, port = _split_port(text.strip())
    try:
        return Exemption(network=ip_network(address), port=port)
    except ValueError:
        return Exemption(host=_read_name(address, text), port=port)


def _read_name(address: str, text: str) -> str:
    try:
        host = normalise_host(address)
    except BadUrl as error:
        raise PolicyInvalid(f"{text!r} is neither a network nor a host name: {error}") from error
    if not isinstance(host, str):
        raise PolicyInvalid(f"{text!r} is an unusual spelling of {host}: write that")
    return host


def _split_port(text: str) -> tuple[str, int | None]:
    if text.startswith("["):
        address, _, port = text[1:].partition("]")
        port = port.removeprefix(":")
    else:
        address, _, port = text.partition(":") if text.count(":") == 1 else (text, "", "")
    if port and not (port.isascii() and port.isdecimal() and 0 < int(port) < 65536):
        raise PolicyInvalid(f"{text!r} has a port that is not a number from 1 to 65535")
    return address, int(port) if port else None
