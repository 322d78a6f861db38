"""Every difficult shop of the farm is crawled and scraped, all at the same time and with small limits."""

import asyncio

from hashrange import ManualClock
from hashrange_systems.aura.schema import Crawled, Scraped
from hashrange_systems.aura.service import site as site_module
from hashrange_systems.aura.service.registry import ShopInput
from systems.tests.aura.web.hosted_aura import host_aura

MAX_PAGES = 12
LIMIT = f"the limit of {MAX_PAGES} pages was reached"
EXPECTED = {  # failed pages, products with a price, how the crawl ended
    "bombe.test": (2, 0, None),
    "endlos.test": (0, 2, None),
    "langsam.test": (2, 0, None),
    "dicke-seiten.test": (0, 2, None),
    "abgerissen.test": (3, 0, None),
    "ueberlastet.test": (0, 4, None),
    "sortier-falle.test": (0, 7, LIMIT),
    "kalender-falle.test": (0, 8, LIMIT),
    "grosses-lager.test": (0, 8, LIMIT),
    "kreisverkehr.test": (0, 0, LIMIT),
}


async def visit(site, domain):
    """Crawl and scrape a shop; return it with its reports."""
    services = site.services
    shop = await services.registry.add(ShopInput(address=site.running.farm.find_url(domain), country="DE"))
    await services.crawler.crawl(await services.crawls.start(shop, "tester"))
    lease = await services.scrapes.start(await services.db.shop(domain).required(), "tester")
    if lease is not None:
        await services.scraper.scrape(lease)
    reports = await services.products.crawl_reports(domain), await services.products.scrape_reports(domain)
    return await services.db.shop(domain).required(), *reports


def test_every_difficult_shop_is_crawled_and_scraped_to_its_end(monkeypatch):
    """A bomb, bodies without end, drips, storms, traps, 50,000 URLs, loops: one bad page never ends a crawl."""
    monkeypatch.setattr(site_module, "PAGE_TIMEOUT_S", 1.5)
    monkeypatch.setattr(site_module, "MAX_PAGE_BYTES", 1 << 20)

    async def scenario():
        async with host_aura(ManualClock(), demo=True, AURA_MAX_PAGES=str(MAX_PAGES)) as site:
            found = await asyncio.gather(*(visit(site, domain) for domain in EXPECTED))
            return dict(zip(EXPECTED, found, strict=True)), site.running.farm

    found, farm = asyncio.run(scenario())
    for domain, (shop, crawls, scrapes) in found.items():
        assert (domain, shop.last_crawl_error, shop.last_scrape_error) == (domain, None, None)
        assert (type(shop.crawl), type(shop.scrape)) == (Crawled, Scraped)
        ended = crawls[0].failed, scrapes[0].priced, crawls[0].note
        assert (domain, *ended) == (domain, *EXPECTED[domain])
        assert len(farm.find_requests(domain)) < 6 * MAX_PAGES
