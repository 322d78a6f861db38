"""The systems request nothing of their own service on behalf of a user, whatever their operator exempts."""

import asyncio

import pytest

import hashrange
from hashrange import Host
from hashrange_systems.aura.system import SYSTEM as AURA
from hashrange_systems.checks.system import SYSTEM as CHECKS
from hashrange_systems.kelifax.system import SYSTEM as KELIFAX
from hashrange_systems.shared.errors import InvalidInput
from hashrange_systems.shared.fetching.errors import OwnAddressForbidden
from hashrange_systems.shared.fetching.http_message import Request

PAGES = "http://127.0.0.1:29801"
FETCHERS = {
    AURA: lambda application: application.tools.fetcher,
    CHECKS: lambda application: application.outbound.fetcher,
    KELIFAX: lambda application: application.link_checks.fetcher,
}


@pytest.fixture
def remote(server_url):
    """A database of another process."""
    with hashrange.connect(server_url) as database:
        yield database
        for name in database.call("ListTables", {})["TableNames"]:
            database.call("UpdateTable", {"TableName": name, "DeletionProtectionEnabled": False})
            database.call("DeleteTable", {"TableName": name})


async def act_in(system, database, clock, action):
    """Run an action with a system on a database; requests to this machine are exempt."""
    hashrange.create_tables(database, *system.patterns)
    host = Host(
        database=database,
        clock=clock,
        directory=None,
        base_url=f"{PAGES}/{system.name}",
        demo=False,
        own_ports=frozenset(),
        environment={f"{system.name.upper()}_ALLOW": "127.0.0.0/8,::1,localhost"},
    )
    running = system.start(host)
    try:
        return await action(running.application)
    finally:
        closing = running.close()
        if closing is not None:
            await closing


@pytest.mark.parametrize("system", FETCHERS, ids=lambda system: system.name)
@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "localhost"])
def test_a_database_elsewhere_and_our_pages_are_refused_although_an_exemption_covers_them(remote, clock, system, host):
    async def fetch(application):
        fetcher = FETCHERS[system](application)
        for own in (remote.endpoint, PAGES):
            port = own.rpartition(":")[2].rstrip("/")
            with pytest.raises(OwnAddressForbidden):
                await fetcher.fetch(Request(url=f"http://{host}:{port}/", max_bytes=100))

    asyncio.run(act_in(system, remote, clock, fetch))


def test_a_webhook_of_aura_is_neither_our_database_nor_our_pages(remote, clock):
    async def add(application):
        member = (await application.members.add("ann@example.com")).member
        for own in (remote.endpoint, f"{PAGES}/aura/"):
            with pytest.raises(InvalidInput, match="page of this service"):
                await application.accounts.channels.add(member.member_id, "WEBHOOK", own)

    asyncio.run(act_in(AURA, remote, clock, add))
