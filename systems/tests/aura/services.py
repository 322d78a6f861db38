"""The services of aura as a test uses them: real tables, a real sandbox, requests to loopback only, no pauses."""

from dataclasses import replace

import hashrange
from hashrange_systems.aura.application import PATTERNS, Application
from hashrange_systems.aura.service.preview import Preview
from hashrange_systems.aura.service.registry import ShopInput
from hashrange_systems.aura.settings import Settings
from hashrange_systems.aura.work_schema import checkpoints
from hashrange_systems.shared.application.runtime import Runtime
from hashrange_systems.shared.channels.demo_mailbox import Mailbox
from systems.tests.aura.shop_server import loopback_fetcher
from systems.tests.hosting import make_host

OWNER = "w1"
USUAL = {"AURA_ALLOW": "127.0.0.1", "AURA_DELAY_MS": "0", "AURA_MAX_PAGES": "1000", "AURA_USER_AGENT": "aura-test/1"}


class AuraServices(Application):
    """The application, whose e-mails go to a mailbox."""

    def __init__(self, database, clock, sandbox, fetcher=None, **environment):
        hashrange.create_tables(database, *PATTERNS, checkpoints)
        host = make_host(database, clock, base_url="https://aura.example", **USUAL | environment)
        runtime = replace(Runtime.open(host, Settings), mailbox=Mailbox(clock))
        super().__init__(runtime, sandbox=sandbox, fetcher=fetcher or loopback_fetcher())
        self.preview = Preview(self.tools, delay_s=0.0)

    async def add(self, server, country="DE"):
        """Register a served shop."""
        return await self.registry.add(ShopInput(address=server.url, name="Antik", country=country))

    async def crawl(self, server, owner=OWNER):
        """Crawl a shop, and return it."""
        lease = await self.crawls.start(await self.db.shop(server.domain).required(), owner)
        assert lease is not None
        await self.crawler.crawl(lease)
        return await self.db.shop(server.domain).required()

    async def scrape(self, server, owner=OWNER):
        """Scrape a shop, and return it."""
        lease = await self.scrapes.start(await self.db.shop(server.domain).required(), owner)
        assert lease is not None
        await self.scraper.scrape(lease)
        return await self.db.shop(server.domain).required()

    async def stored(self, server):
        """Return the URLs of a shop by their path."""
        start = len(server.url) - 1
        return {url.url[start:]: url async for url in self.db.urls(server.domain)}
