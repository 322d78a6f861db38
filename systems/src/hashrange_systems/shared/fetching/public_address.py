"""Which IP addresses users may not reach: everything but public unicast addresses.

The tables are from the IANA special-purpose registries; `ipaddress.is_global` differs between Python versions.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

FORBIDDEN_V4 = tuple(
    (IPv4Network(network), reason)
    for network, reason in (
        ("0.0.0.0/8", "an unspecified"),
        ("10.0.0.0/8", "a private"),
        ("100.64.0.0/10", "a carrier-internal"),
        ("127.0.0.0/8", "a loopback"),
        ("168.63.129.16/32", "a cloud-internal"),  # services of Azure for virtual machines
        ("169.254.0.0/16", "a link-local"),
        ("172.16.0.0/12", "a private"),
        ("192.0.0.0/24", "a reserved"),
        ("192.0.2.0/24", "a documentation"),
        ("192.88.99.0/24", "a reserved"),
        ("192.168.0.0/16", "a private"),
        ("198.18.0.0/15", "a benchmarking"),
        ("198.51.100.0/24", "a documentation"),
        ("203.0.113.0/24", "a documentation"),
        ("224.0.0.0/4", "a multicast"),
        ("240.0.0.0/4", "a reserved"),
    )
)
FORBIDDEN_V6 = tuple(
    (IPv6Network(network), reason)
    for network, reason in (
        ("::/128", "an unspecified"),
        ("::1/128", "a loopback"),
        ("2001::/23", "a reserved"),  # Teredo, benchmarking, ORCHID
        ("2001:db8::/32", "a documentation"),
        ("3fff::/20", "a documentation"),
        ("fc00::/7", "a private"),
        ("fe80::/10", "a link-local"),
        ("fec0::/10", "a private"),
        ("ff00::/8", "a multicast"),
    )
)
PUBLIC_V6 = IPv6Network("2000::/3")
NAT64 = IPv6Network("64:ff9b::/96")
SIX_TO_FOUR = IPv6Network("2002::/16")


def explain_forbidden(address: Address) -> str | None:
    """Return the kind of a forbidden address (`a loopback`); None for a public one."""
    inner = unwrap(address)
    if isinstance(inner, IPv4Address):
        return next((reason for network, reason in FORBIDDEN_V4 if inner in network), None)
    listed = next((reason for network, reason in FORBIDDEN_V6 if inner in network), None)
    return listed or (None if inner in PUBLIC_V6 else "a reserved")


def unwrap(address: Address) -> Address:
    """Return the IPv4 address embedded in an IPv6 address (mapped, NAT64, 6to4), or the address itself."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped:
        return address.ipv4_mapped
    if address in NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    if address in SIX_TO_FOUR:
        return IPv4Address(int(address) >> 80 & 0xFFFF_FFFF)
    return address
