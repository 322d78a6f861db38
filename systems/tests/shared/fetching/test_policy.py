from ipaddress import ip_address

import pytest

from hashrange_systems.shared.fetching.errors import ForbiddenAddress, ForbiddenPort, PolicyInvalid
from hashrange_systems.shared.fetching.http_url import parse_url
from hashrange_systems.shared.fetching.policy import Policy, parse_exemptions


def allows(exemption, url, address):
    try:
        Policy(exempt=parse_exemptions([exemption])).check_addresses(parse_url(url), [ip_address(address)])
    except ForbiddenAddress:
        return False
    return True


@pytest.mark.parametrize(
    ("exemption", "url", "address", "allowed"),
    [
        ("10.0.0.0/8", "http://a.example/", "10.2.3.4", True),
        ("10.0.0.0/8", "http://a.example/", "::ffff:10.2.3.4", True),
        ("10.0.0.0/8", "http://a.example/", "192.168.0.1", False),
        ("127.0.0.1", "http://127.0.0.1/", "127.0.0.1", True),
        ("127.0.0.1", "http://127.0.0.2/", "127.0.0.2", False),
        ("127.0.0.1:9000", "http://127.0.0.1:9000/", "127.0.0.1", True),
        ("127.0.0.1:9000", "http://127.0.0.1:8000/", "127.0.0.1", False),
        ("[::1]:9000", "http://[::1]:9000/", "::1", True),
        ("[::1]:9000", "http://[::1]/", "::1", False),
        ("::1", "http://localhost/", "::1", True),
        ("fc00::/7", "http://a.example/", "fd00::1", True),
        ("Wiki.Internal.", "http://wiki.internal/", "10.0.0.1", True),
        ("wiki.internal", "http://evil.wiki.internal/", "10.0.0.1", False),
        ("wiki.internal:8080", "http://wiki.internal/", "10.0.0.1", False),
        ("wiki.internal:8080", "http://wiki.internal:8080/", "10.0.0.1", True),
    ],
)
def test_an_exemption_covers_what_it_names_and_nothing_else(exemption, url, address, allowed):
    assert allows(exemption, url, address) is allowed


@pytest.mark.parametrize("text", ["", "a b", "127.0.0.1:0", "a:70000", "a:http", "2130706433", "10.0.0.1/8"])
def test_an_exemption_that_cannot_be_read_is_the_operators_mistake(text):
    with pytest.raises(PolicyInvalid):
        parse_exemptions([text])


def test_one_forbidden_address_among_public_ones_is_enough_to_refuse():
    addresses = [ip_address("1.1.1.1"), ip_address("169.254.169.254"), ip_address("8.8.8.8")]
    with pytest.raises(ForbiddenAddress) as refusal:
        Policy().check_addresses(parse_url("http://a.example/"), addresses)
    assert refusal.value.address == "169.254.169.254"
    assert "169.254" not in str(refusal.value), "the user learns the kind of address, not the address"


@pytest.mark.parametrize("port", [22, 25, 53, 465, 587, 6379, 11211])
def test_ports_of_other_protocols_are_refused_unless_allowed(port):
    Policy(ports=frozenset({port})).check_port(port)
    with pytest.raises(ForbiddenPort):
        Policy().check_port(port)


@pytest.mark.parametrize("port", [80, 443, 8000, 8080, 8443, 3000, 65535])
def test_web_ports_are_allowed(port):
    Policy().check_port(port)


@pytest.mark.parametrize(("port", "refused"), [(8000, True), (9000, False)])
def test_no_exemption_covers_a_port_of_this_process(port, refused):
    policy = Policy(exempt=parse_exemptions(["127.0.0.0/8", "localhost"]), own_ports=frozenset({8000}))
    for host in ("127.0.0.1", "127.0.0.2", "localhost"):
        try:
            policy.check_addresses(parse_url(f"http://{host}:{port}/"), [ip_address("127.0.0.1")])
        except ForbiddenAddress:
            assert refused
        else:
            assert not refused


def test_a_public_server_may_have_the_port_that_is_ours():
    Policy(own_ports=frozenset({8000})).check_addresses(
        parse_url("http://example.com:8000/"), [ip_address("93.184.215.14")]
    )
