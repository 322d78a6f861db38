from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange_systems.shared.fetching.public_address import FORBIDDEN_V4, explain_forbidden, unwrap

FORBIDDEN_V4_ADDRESSES = st.sampled_from([network for network, _ in FORBIDDEN_V4]).flatmap(
    lambda network: st.integers(int(network[0]), int(network[-1])).map(IPv4Address)
)


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("0.0.0.0", "an unspecified"),
        ("10.1.2.3", "a private"),
        ("100.64.0.1", "a carrier-internal"),
        ("100.100.100.200", "a carrier-internal"),
        ("127.0.0.1", "a loopback"),
        ("127.255.255.254", "a loopback"),
        ("168.63.129.16", "a cloud-internal"),
        ("169.254.169.254", "a link-local"),
        ("172.31.255.255", "a private"),
        ("192.0.0.192", "a reserved"),
        ("192.88.99.1", "a reserved"),
        ("192.168.0.1", "a private"),
        ("198.19.0.1", "a benchmarking"),
        ("224.0.0.1", "a multicast"),
        ("255.255.255.255", "a reserved"),
        ("::", "an unspecified"),
        ("::1", "a loopback"),
        ("::127.0.0.1", "a reserved"),
        ("100::1", "a reserved"),
        ("2001::1", "a reserved"),
        ("2001:db8::1", "a documentation"),
        ("3fff:fff::1", "a documentation"),
        ("64:ff9b:1::1", "a reserved"),
        ("fd00:ec2::254", "a private"),
        ("fe80::1", "a link-local"),
        ("fe80::1%eth0", "a link-local"),
        ("fec0::1", "a private"),
        ("ff02::1", "a multicast"),
    ],
)
def test_an_address_that_is_not_public_is_forbidden_by_its_kind(address, reason):
    assert explain_forbidden(ip_address(address)) == reason


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "172.15.0.1",
        "172.32.0.1",
        "192.0.1.1",
        "223.255.255.255",
        "2606:4700::1111",
        "2a00:1450::1",
        "::ffff:1.1.1.1",
        "64:ff9b::101:101",
        "2002:101:101::1",
    ],
)
def test_a_public_address_is_allowed(address):
    assert explain_forbidden(ip_address(address)) is None


@given(FORBIDDEN_V4_ADDRESSES)
def test_a_forbidden_ipv4_address_stays_forbidden_inside_ipv6(inner):
    mapped = IPv6Address(0xFFFF << 32 | int(inner))
    nat64 = IPv6Address(int(IPv6Address("64:ff9b::")) | int(inner))
    six_to_four = IPv6Address(0x2002 << 112 | int(inner) << 80 | 1)
    for outer in (mapped, nat64, six_to_four):
        assert unwrap(outer) == inner
        assert explain_forbidden(outer) == explain_forbidden(inner) is not None


@given(st.ip_addresses(v=4))
def test_nothing_that_python_calls_private_is_public_here(address):
    if address.is_private or address.is_multicast or address.is_reserved or address.is_link_local:
        # Python 3.11 and 3.13 differ about 192.0.0.9 and 192.0.0.10; here all of 192.0.0.0/24 is forbidden
        assert explain_forbidden(address)
