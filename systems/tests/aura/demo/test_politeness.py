"""Crawls of the demo's difficult shops, judged by the server's own log; and the demo data, which is written once."""

import asyncio
import time
from contextlib import asynccontextmanager
from itertools import pairwise

from hashrange import ManualClock
from hashrange_systems.aura.demo.demo_data import Demo
from hashrange_systems.aura.schema import Price
from hashrange_systems.aura.service.registry import ShopInput
from systems.tests.aura.web.hosted_aura import host_aura

SLACK_S = 0.2  # between the start of a request and the moment at which the server notes it, on a quiet machine
TURNS = 5  # of the event loop between the two: to connect, to accept, to send and to read
BEAT_S = 0.01


class LoopLag:
    """How late the event loop was at worst: that much later, for each of its turns, a request may be noted."""

    worst = 0.0

    @asynccontextmanager
    async def measured(self):
        """Measure until the block ends."""
        task = asyncio.create_task(self._measure())
        try:
            yield
        finally:
            task.cancel()

    async def _measure(self):
        while True:
            start = time.monotonic()
            await asyncio.sleep(BEAT_S)
            self.worst = max(self.worst, time.monotonic() - start - BEAT_S)


async def crawl(site, domain):
    shop = await site.services.registry.add(ShopInput(address=site.services.demo_server.find_url(domain), country="DE"))
    lease = await site.services.crawls.start(shop, "tester")
    assert lease is not None
    return await site.services.crawler.crawl(lease)


def test_robots_rules_crawl_delays_and_private_redirects_are_kept():
    lag = LoopLag()

    async def scenario():
        async with host_aura(ManualClock(), demo=True) as site, lag.measured():
            done = await asyncio.gather(crawl(site, "strenge-regeln.test"), crawl(site, "einbruch.test"))
            stored = {url.url async for url in site.services.db.urls("einbruch.test")}
            return site.services.demo_server, done, stored

    demo_server, done, stored = asyncio.run(scenario())
    requests = demo_server.find_requests("strenge-regeln.test")
    paths = [request.path for request in requests]
    assert [path for path in paths if path.startswith("/produkt/")], "it was crawled"
    assert not [path for path in paths if path.endswith("-3") or "?" in path or path.startswith("/intern")]
    gaps = [later.at - earlier.at for earlier, later in pairwise(requests[1:])]
    late = SLACK_S + TURNS * lag.worst
    assert min(gaps) >= 1 - late, "Crawl-delay: 1, after robots.txt was read"
    assert sum(gaps) >= len(gaps) - late, "one late request does not hide that the others were too early"
    assert all(done), "a redirect to a private address does not end a crawl"
    assert not [url for url in stored if "127.0.0.1" in url or "169.254" in url]


def test_the_demo_data_is_the_same_however_often_it_is_written():
    async def scenario():
        async with host_aura(ManualClock(), demo=True) as site:
            db, work = site.services.db, site.services.work
            shops = [shop async for shop in db.shops()]
            prices = [entry async for entry in db.site("antik-mueller.test")]
            history = [each for each in prices if isinstance(each, Price)]
            assert not [
                each
                for each, after in pairwise(history)
                if (each.url, each.price_minor) == (after.url, after.price_minor)
            ]
            watches = await work.watches("demo")
            site.services.clock.advance(3600)
            await Demo(site.services, site.services.demo_server).fill()
            assert [shop async for shop in db.shops()] == shops
            assert [entry async for entry in db.site("antik-mueller.test")] == prices
            assert await work.watches("demo") == watches
            return len(shops), len(prices), len(watches)

    shops, prices, watches = asyncio.run(scenario())
    assert (shops, watches) == (13, 3)
    assert prices > 30
