"""Shops whose domain another program stored in another spelling than ours: in capitals, in Unicode, with a port."""

import asyncio

import pytest

from hashrange import ManualClock
from hashrange_systems.aura.schema import Crawled, Scraped, Shop
from systems.tests.aura.web.hosted_aura import host_aura

SERVED = "silber-lang.test"


@pytest.mark.parametrize(
    "stored", ["Silber-Lang.test", "WWW.silber-lang.test", "\uff53ilber-lang.test", "silber-lang.test:443"]
)
def test_a_shop_is_found_and_crawled_and_scraped_under_the_domain_that_is_stored(stored):
    async def scenario():
        async with host_aura(ManualClock(), demo=True) as site:
            services = site.services
            start_url = site.services.demo_server.find_url(SERVED)
            await services.db.create(Shop(domain=stored, core_domain_name="silber-lang", start_url=start_url))
            shop = await services.registry.find(stored)
            assert shop.domain == stored
            await services.crawler.crawl(await services.crawls.start(shop, "tester"))
            shop = await services.registry.find(stored)
            assert (shop.last_crawl_error, type(shop.crawl)) == (None, Crawled)
            await services.scraper.scrape(await services.scrapes.start(shop, "tester"))
            shop = await services.registry.find(stored)
            assert (shop.last_scrape_error, type(shop.scrape)) == (None, Scraped)
            assert len((await services.products.list_products(stored)).items) == 12

    asyncio.run(scenario())
