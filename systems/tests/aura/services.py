"""The services of aura as a test uses them: real tables, a real sandbox, requests to loopback only, no pauses."""

from datetime import timedelta

from hashrange_systems.aura.service.changes import Changes
from hashrange_systems.aura.service.confirmations import Confirmations
from hashrange_systems.aura.service.crawler import Crawler, CrawlLimits
from hashrange_systems.aura.service.crawls import Crawls
from hashrange_systems.aura.service.members import Members
from hashrange_systems.aura.service.notices import NoticeOutbox, Notices
from hashrange_systems.aura.service.preview import Preview
from hashrange_systems.aura.service.price_recorder import PriceRecorder
from hashrange_systems.aura.service.products import Products
from hashrange_systems.aura.service.registry import Registry, ShopInput
from hashrange_systems.aura.service.schedule import Intervals
from hashrange_systems.aura.service.scraper import Scraper
from hashrange_systems.aura.service.scrapes import Scrapes
from hashrange_systems.aura.service.site import SiteTools
from hashrange_systems.aura.service.watches import Watches
from hashrange_systems.shared.channels.channel_type import TargetRules
from hashrange_systems.shared.channels.demo_mailbox import Mailbox
from hashrange_systems.shared.channels.webhook_sender import Webhook
from systems.tests.aura.shop_server import LOOPBACK_POLICY, loopback_fetcher

OWNER = "w1"


class AuraServices:
    """All services on one database."""

    def __init__(self, db, work, clock, sandbox, fetcher=None, **limits):
        self.db, self.work, self.clock = db, work, clock
        self.tools = SiteTools(fetcher=fetcher or loopback_fetcher(), sandbox=sandbox, clock=clock, agent="aura-test")
        limits = CrawlLimits(**{"delay_s": 0.0, "max_pages": 1000, **limits})
        intervals = Intervals(crawl=timedelta(days=2), scrape=timedelta(days=2))
        self.registry = Registry(db, work, clock)
        self.products = Products(db, work, clock, self.registry)
        self.members = Members(work, clock, TargetRules(policy=LOOPBACK_POLICY))
        self.notices = Notices(work, clock)
        self.watches = Watches(work, clock, self.products, self.notices)
        self.confirmations = Confirmations(work, clock, "https://aura.example")
        self.mailbox = Mailbox(clock)
        self.outbox = NoticeOutbox(
            work=work,
            clock=clock,
            senders={"WEBHOOK": Webhook(self.tools.fetcher, clock), "EMAIL": self.mailbox},
            confirmations=self.confirmations,
        )
        self.changes = Changes(work, clock)
        self.crawls, self.scrapes = Crawls(db, work, clock, intervals), Scrapes(db, work, clock, intervals)
        self.crawler = Crawler(db, work, clock, self.crawls, self.tools, limits)
        self.recorder = PriceRecorder(db, work, clock)
        self.scraper = Scraper(db, work, clock, self.scrapes, self.products, self.recorder, self.tools, limits)
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
