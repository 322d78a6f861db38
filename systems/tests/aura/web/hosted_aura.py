"""The system as the host runs it, in this process, with a client that keeps cookies and fills forms."""

import asyncio
import re
from contextlib import asynccontextmanager

import httpx
from starlette.applications import Starlette
from starlette.routing import Mount

import hashrange
from hashrange import Host
from hashrange_systems.aura.schema import Scraped
from hashrange_systems.aura.system import SYSTEM

BASE = "http://127.0.0.1:8002"
WAIT_S = 240.0


class HostedAura:
    """The running system and a browser without JavaScript."""

    def __init__(self, running, client):
        self.running, self.client = running, client
        self.services = running.application

    async def get(self, path, status=200):
        response = await self.client.get(f"/aura{path}")
        assert response.status_code == status, response.text
        return response

    async def post(self, path, status=303, page="/account", **fields):
        """Post a form with the token of a page."""
        response = await self.post_any(path, page, **fields)
        assert response.status_code == status, response.text
        return response

    async def post_any(self, path, page="/account", **fields):
        """Post a form with the token of a page, whatever the answer."""
        token = await self.find_token(page)
        return await self.client.post(f"/aura{path}", data=fields | {"form_token": token})

    async def find_token(self, page="/account"):
        """Return the token that the forms of a page send."""
        return re.search(r'name="form_token" value="([^"]+)"', (await self.get(page)).text)[1]

    async def sign_up(self, email, **role):
        """Add a member, and sign in as it."""
        added = await self.services.members.add(email, **role)
        response = await self.client.post("/aura/sign-in", data={"key": added.key})
        assert response.status_code == 303, response.text
        return added

    async def wait_until_scraped(self, domain, after=None):
        """Wait until a scrape of a shop has ended, after the one that is known."""
        async with asyncio.timeout(WAIT_S):
            while True:
                shop = await self.services.db.shop(domain)
                if isinstance(shop.scrape, Scraped) and shop.scrape.last_scraped_end != after:
                    return shop.scrape.last_scraped_end
                await asyncio.sleep(0.05)


@asynccontextmanager
async def host_aura(clock, *, demo=False, **environment):
    """Host the system on a database in memory; with `demo`, its shops are served too."""
    with hashrange.open(clock=clock) as database:
        hashrange.create_tables(database, *SYSTEM.patterns)
        host = Host(
            database=database,
            clock=clock,
            directory=None,
            base_url=f"{BASE}/aura",
            demo=demo,
            own_ports=frozenset(),
            environment={"AURA_DEMO_PORT": "0", **environment},
        )
        running = SYSTEM.start(host)
        try:
            if demo:
                await running.fill_demo()
            transport = httpx.ASGITransport(Starlette(routes=[Mount("/aura", running.app)]))
            async with httpx.AsyncClient(transport=transport, base_url=BASE) as client:
                yield HostedAura(running, client)
        finally:
            await running.close()
