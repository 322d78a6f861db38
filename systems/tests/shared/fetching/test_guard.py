"""Where a fetch refuses to go, whatever names, redirects and resolvers do."""

import asyncio
import socket
from ipaddress import ip_address

import pytest

from hashrange_systems.shared.fetching.errors import (
    BadUrl,
    ForbiddenAddress,
    ForbiddenPort,
    NameUnresolved,
    RedirectForbidden,
)
from hashrange_systems.shared.fetching.fetcher import Fetcher
from hashrange_systems.shared.fetching.http_message import Request
from hashrange_systems.shared.fetching.http_url import parse_url
from hashrange_systems.shared.fetching.own_address import list_machine_addresses, read_host_and_port, read_own_address
from hashrange_systems.shared.fetching.policy import Policy, parse_exemptions
from hashrange_systems.shared.fetching.resolver import SystemResolver
from systems.tests.shared.fetching.target import LOOPBACK, ScriptedResolver, fetch, never_reached, serving

HIDDEN = [  # spellings of this machine, and names that lead to it
    "127.0.0.1",
    "127.1",
    "2130706433",
    "[::ffff:127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "localhost",
    "LOCALHOST.",
    "db.internal",
    "other.example",
]
EVERYTHING = parse_exemptions(["127.0.0.0/8", "::1", "0.0.0.0/0", "::/0", "localhost", "db.internal", "other.example"])
NAMES = {"localhost": [["127.0.0.1"]], "db_internal": [["127.0.0.1"]], "other_example": [["127.0.0.1"]]}


@pytest.mark.parametrize("host", HIDDEN)
@pytest.mark.parametrize("own", ["127.0.0.1", "localhost", "db.internal"])
def test_the_service_itself_is_never_reached_even_if_an_exemption_covers_it(host, own):
    policy = Policy(exempt=EVERYTHING, own=frozenset({read_own_address(f"http://{own}:8000/")}))
    with pytest.raises(ForbiddenAddress, match="our own"):
        fetch(never_reached, f"http://{host}:8000/", policy=policy, resolver=ScriptedResolver(**NAMES))


OTHER_ADDRESSES = ["127.0.0.1", "127.0.0.2", "127.255.255.254", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.3]", "0"]


@pytest.mark.parametrize("host", OTHER_ADDRESSES)
@pytest.mark.parametrize("own", ["127.0.0.1", "127.0.0.5", "0.0.0.0", "[::1]", "[::]", "localhost", "db.internal"])
def test_a_service_on_this_machine_is_refused_at_every_address_of_this_machine(host, own):
    policy = Policy(exempt=EVERYTHING, own=frozenset({read_own_address(f"http://{own}:8000/")}))

    async def redirect(exchange):
        await exchange.redirect(f"http://{host}:8000/")

    with pytest.raises(ForbiddenAddress, match="our own"):
        fetch(never_reached, f"http://{host}:8000/", policy=policy, resolver=ScriptedResolver(**NAMES))
    with pytest.raises(RedirectForbidden, match="our own"):
        fetch(redirect, "http://127.0.0.1:{port}/", policy=policy, resolver=ScriptedResolver(**NAMES))


def test_a_service_on_port_80_of_this_machine_is_refused_at_every_address_of_it():
    policy = Policy(exempt=EVERYTHING, own=frozenset({read_own_address("http://127.0.0.1/checks")}))
    with pytest.raises(ForbiddenAddress, match="our own"):
        fetch(never_reached, "http://127.0.0.2/", policy=policy, resolver=ScriptedResolver(**NAMES))


def test_a_service_on_another_machine_leaves_the_ports_of_this_one_alone():
    policy = Policy(exempt=EVERYTHING, own=frozenset({read_own_address("http://10.0.0.7:8000")}))
    policy.check_own(parse_url("http://127.0.0.2:8000/"), [ip_address("127.0.0.2")], {})


def test_the_addresses_of_this_machine_contain_both_loopback_addresses():
    assert {"127.0.0.1", "::1"} <= set(list_machine_addresses())


@pytest.mark.parametrize("text", ["[::1]:8000", "[2001:db8::5]:8000", "10.0.0.5:8000"])
def test_an_address_that_a_process_wrote_is_read(text):
    own = read_host_and_port(text)
    assert own is not None
    assert (f"[{own.host}]:8000" if ":" in own.host else f"{own.host}:8000") == text


def test_a_redirect_to_the_service_itself_is_not_followed():
    async def redirect(exchange):
        await exchange.redirect("http://db.internal:8000/")

    policy = Policy(exempt=EVERYTHING, own=frozenset({read_own_address("http://10.0.0.7:8000")}))
    resolver = ScriptedResolver(db_internal=[["10.0.0.7"]])
    with pytest.raises(RedirectForbidden, match="our own"):
        fetch(redirect, "http://127.0.0.1:{port}/", policy=policy, resolver=resolver)


def test_a_service_at_a_public_address_is_refused_too():
    policy = Policy(own=frozenset({read_own_address("http://93.184.215.14:8000")}))
    resolver = ScriptedResolver(a_example=[["93.184.215.14"]])
    with pytest.raises(ForbiddenAddress, match="our own"):
        fetch(never_reached, "http://a.example:8000/", policy=policy, resolver=resolver)


def test_a_port_of_this_process_is_refused_at_every_address_of_this_machine():
    policy = Policy(exempt=EVERYTHING, own_ports=frozenset({8000}))
    for address in [*list_machine_addresses(), "127.9.9.9", "::1", "0.0.0.0", "::ffff:127.0.0.1"]:
        with pytest.raises(ForbiddenAddress, match="our own"):
            policy.check_own(parse_url("http://a.example:8000/"), [ip_address(address)], {})
    policy.check_own(parse_url("http://a.example:8000/"), [ip_address("93.184.215.14")], {})


def test_sites_behind_the_proxy_of_our_pages_are_allowed_and_the_pages_are_not():
    own = read_own_address("https://checks.example.com/checks")
    proxy = [ip_address("93.184.215.14")]
    Policy(own=frozenset({own})).check_own(parse_url("https://shop.example.com/"), proxy, {own.host: proxy})
    with pytest.raises(ForbiddenAddress):
        Policy(own=frozenset({own})).check_own(parse_url("https://checks.example.com/"), proxy, {own.host: proxy})


async def answer(exchange):
    await exchange.respond(b"reached")


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "2130706433",
        "0x7f.1",
        "0177.1",
        "127.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "0",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "169.254.169.254",
        "１２７.1",  # noqa: RUF001 - wide digits
        "[::]",
    ],
)
def test_no_spelling_of_an_internal_address_is_requested(host):
    with pytest.raises(ForbiddenAddress) as refusal:
        fetch(never_reached, f"http://{host}:{{port}}/", policy=Policy())
    assert refusal.value.__cause__ is None


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "::1", "::ffff:127.0.0.1", "10.0.0.1", "fe80::1%lo", "64:ff9b::a00:1"]
)
def test_no_name_that_leads_to_an_internal_address_is_requested(address):
    resolver = ScriptedResolver(a_example=[["1.1.1.1", address]])
    with pytest.raises(ForbiddenAddress):
        fetch(never_reached, "http://a.example:{port}/", policy=Policy(), resolver=resolver)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "gopher://127.0.0.1/", "http://user:pw@127.0.0.1/"])
def test_other_schemes_and_credentials_are_refused(url):
    with pytest.raises(BadUrl):
        fetch(never_reached, url)


def test_other_protocols_are_not_spoken_to():
    with pytest.raises(ForbiddenPort):
        fetch(never_reached, "http://127.0.0.1:25/")


def test_a_name_is_looked_up_once_and_the_connection_goes_where_the_check_looked():
    resolver = ScriptedResolver(a_example=[["127.0.0.1"], ["127.0.0.2"]])
    response = fetch(answer, "http://a.example:{port}/", resolver=resolver)
    assert (response.body, response.address, resolver.asked) == (b"reached", "127.0.0.1", ["a.example"])


def test_a_name_that_moves_inside_between_two_fetches_is_refused_the_second_time():
    resolver = ScriptedResolver(a_example=[["127.0.0.1"], ["127.0.0.2"]])
    fetch(answer, "http://a.example:{port}/", resolver=resolver)
    with pytest.raises(ForbiddenAddress):
        fetch(never_reached, "http://a.example:{port}/", resolver=resolver)


def test_a_name_that_moves_inside_before_its_redirect_is_refused():
    resolver = ScriptedResolver(a_example=[["127.0.0.1"], ["127.0.0.2"]])
    paths = []

    async def script(exchange):
        paths.append(exchange.path)
        await exchange.redirect("/inside")

    with pytest.raises(RedirectForbidden) as refusal:
        fetch(script, "http://a.example:{port}/", resolver=resolver)
    assert isinstance(refusal.value.__cause__, ForbiddenAddress)
    assert (paths, resolver.asked) == (["/"], ["a.example", "a.example"])


@pytest.mark.parametrize(
    ("location", "cause"),
    [
        ("http://169.254.169.254/latest/meta-data/", ForbiddenAddress),
        ("//169.254.169.254/", ForbiddenAddress),
        ("http://[::ffff:a9fe:a9fe]/", ForbiddenAddress),
        ("http://2852039166/", ForbiddenAddress),
        ("http://inside.example/", ForbiddenAddress),
        ("http://127.0.0.1:22/", ForbiddenPort),
        ("file:///etc/passwd", BadUrl),
        ("ftp://example.com/", BadUrl),
        ("http://user:pw@example.com/", BadUrl),
    ],
)
def test_a_redirect_opens_no_door_that_is_closed(location, cause):
    async def script(exchange):
        await exchange.redirect(location)

    resolver = ScriptedResolver(inside_example=[["192.168.1.1"]])
    with pytest.raises(RedirectForbidden) as refusal:
        fetch(script, resolver=resolver)
    assert isinstance(refusal.value.__cause__, cause)


def test_a_name_without_addresses_is_unresolved():
    with pytest.raises(NameUnresolved):
        fetch(never_reached, "http://a.example/", resolver=ScriptedResolver(a_example=[[]]))
    with pytest.raises(NameUnresolved):
        fetch(never_reached, "http://b.example/")


def test_localhost_is_looked_up_by_the_system_and_refused():
    with pytest.raises(ForbiddenAddress):
        fetch(never_reached, "http://localhost:{port}/", policy=Policy(), resolver=SystemResolver())


@pytest.mark.parametrize(("code", "temporary"), [(socket.EAI_NONAME, False), (socket.EAI_AGAIN, True)])
def test_the_system_says_whether_a_name_is_unknown_or_cannot_be_looked_up_now(monkeypatch, code, temporary):
    def fail(*arguments, **options):
        raise socket.gaierror(code, "no")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(NameUnresolved) as failure:
        asyncio.run(SystemResolver().resolve("a.example"))
    assert failure.value.temporary is temporary


def test_many_fetches_share_one_fetcher():
    async def run():
        fetcher = Fetcher(resolver=ScriptedResolver(), policy=LOOPBACK)
        async with serving(answer) as port:
            requests = [Request(url=f"http://127.0.0.1:{port}/{number}") for number in range(50)]
            return await asyncio.gather(*(fetcher.fetch(request) for request in requests))

    responses = asyncio.run(run())
    assert [response.url.rpartition("/")[2] for response in responses] == [str(number) for number in range(50)]
