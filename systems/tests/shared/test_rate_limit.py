"""By what clients are counted: a new address of the same network gives nobody a new limit."""

import asyncio

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

import hashrange
from hashrange import Host
from hashrange_systems.aura.system import SYSTEM as AURA
from hashrange_systems.checks.system import SYSTEM as CHECKS
from hashrange_systems.kelifax.system import SYSTEM as KELIFAX
from hashrange_systems.shared.errors import TooManyRequests
from hashrange_systems.shared.web.rate_limit import find_network

SIGN_IN = {AURA: "/sign-in", CHECKS: "/sign-in", KELIFAX: "/admin/sign-in"}


@pytest.mark.parametrize(
    ("host", "network"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::1%eth0", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("testclient", "testclient"),
        ("", ""),
    ],
)
def test_a_client_is_counted_by_its_ipv4_address_or_its_ipv6_network(host, network):
    assert find_network(host) == network


@pytest.mark.parametrize(("wait_s", "said"), [(2, "wait 2 s."), (11_075, "wait 3 h 4 min.")])
def test_the_time_to_wait_is_said_in_words_and_in_seconds_for_programs(wait_s, said):
    error = TooManyRequests(wait_s)
    assert str(error).endswith(said)
    assert error.headers == {"Retry-After": str(wait_s)}


@pytest.mark.parametrize("system", SIGN_IN, ids=lambda system: system.name)
def test_sign_ins_of_one_ipv6_network_share_a_limit(clock, system):
    async def sign_in(app, address):
        transport = httpx.ASGITransport(Starlette(routes=[Mount(f"/{system.name}", app)]), client=(address, 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8002") as client:
            form = {"key": "wrong", "name": "ann", "password": "wrong"}
            return (await client.post(f"/{system.name}{SIGN_IN[system]}", data=form)).status_code

    async def scenario(database):
        host = Host(
            database=database,
            clock=clock,
            directory=None,
            base_url=f"http://127.0.0.1:8002/{system.name}",
            demo=False,
            own_ports=frozenset(),
            environment={},
        )
        running = system.start(host)
        try:
            codes = [await sign_in(running.app, f"2001:db8:1:2::{number:x}") for number in range(12)]
            return codes, await sign_in(running.app, "2001:db8:1:3::1"), await sign_in(running.app, "203.0.113.7")
        finally:
            closing = running.close()
            if closing is not None:
                await closing

    with hashrange.open(clock=clock) as database:
        hashrange.create_tables(database, *system.patterns)
        codes, other_network, other_address = asyncio.run(scenario(database))
    assert codes[0] != 429
    assert codes[-1] == 429
    assert 429 not in (other_network, other_address)
