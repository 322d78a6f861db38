"""Where the service itself listens: no request on behalf of a user may reach it, whatever an operator exempts."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address

from hashrange_systems.shared.fetching.errors import BadUrl, PolicyInvalid
from hashrange_systems.shared.fetching.http_url import DEFAULT_PORTS, Target, normalise_host, parse_url
from hashrange_systems.shared.fetching.public_address import Address, unwrap

LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnAddress:
    """A host and a port of the service: a database, or its pages.

    Its name, and every address that the name has, are refused; if one of them is of this machine, every address of this
    machine: a process may listen on all of them. With `name_only` other names at the same address are allowed, as of
    sites behind the same proxy.
    """

    host: str
    port: int
    name_only: bool = False

    def is_reached(self, target: Target, addresses: Iterable[Address], own: Iterable[Address]) -> bool:
        """Return whether a target with these addresses is this one, whose addresses are `own`."""
        if target.port != self.port:
            return False
        if target.host == self.host:
            return True
        if self.name_only:
            return False
        mine = {unwrap(address) for address in own}
        here = any(map(is_of_this_machine, mine))
        return any(unwrap(address) in mine or (here and is_of_this_machine(address)) for address in addresses)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceLocation:
    """Where a system runs: its URL, the ports of its process, and the endpoint of its database elsewhere."""

    base_url: str
    own_ports: frozenset[int] = frozenset()
    endpoint: str | None = None

    @property
    def own_origins(self) -> tuple[str, ...]:
        """The origins of the service, which URLs of users must not name."""
        endpoint = (self.endpoint,) if self.endpoint else ()
        return (*list_own_origins(self.base_url, self.own_ports), *endpoint)

    @property
    def own(self) -> frozenset[OwnAddress]:
        """Where the service listens that is not this process: its public pages, and its database."""
        return frozenset(read_own_address(url) for url in (self.base_url, self.endpoint) if url)


def find_endpoint(database: object) -> str | None:
    """Return the endpoint of a database; None if this process has opened it."""
    endpoint = getattr(database, "endpoint", None)
    return endpoint if isinstance(endpoint, str) else None


def list_own_origins(base_url: str, ports: Iterable[int]) -> tuple[str, ...]:
    """Return the origins of a service: that of its pages, and those of the ports of its process."""
    local = (f"http://{host}:{port}" for host in LOOPBACK_HOSTS for port in sorted(ports))
    return (base_url, *local)


def read_own_address(url: str) -> OwnAddress:
    """Return the address in a URL of the service; pages on the ports of the web may share their address with others."""
    try:
        target = parse_url(url)
    except BadUrl as error:
        raise PolicyInvalid(f"{url!r} is not a URL of the service: {error}") from error
    shared = target.port in DEFAULT_PORTS.values() and target.literal is None and target.host != "localhost"
    return OwnAddress(host=target.host, port=target.port, name_only=shared)


def read_host_and_port(text: str) -> OwnAddress | None:
    """Return the address that another process has written, such as `10.0.0.5:8002`; None if it is none."""
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdecimal() and 0 < int(port) < 65536):
        return None
    try:
        return OwnAddress(host=str(normalise_host(host)), port=int(port))
    except BadUrl:
        return None


@lru_cache(maxsize=1000)
def is_of_this_machine(address: Address) -> bool:
    """Return whether an address is one of this machine's: only these can be listened on."""
    inner = unwrap(address)
    if inner.is_loopback or inner.is_unspecified:
        return True
    family = socket.AF_INET if inner.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(inner), 0))
    except OSError:
        return False
    return True


def list_machine_addresses() -> list[str]:
    """Return the addresses of this machine: loopback, and those that it sends from; nothing is sent to find them."""
    found = {"127.0.0.1", "::1"}
    for family, far in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.connect((far, 9))  # of a datagram socket: chooses the address to send from, and sends nothing
                found.add(str(ip_address(probe.getsockname()[0])))
        except OSError:
            continue
    return sorted(found)
