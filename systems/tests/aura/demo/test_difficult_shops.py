"""Every difficult shop of the demo is crawled and scraped, all at the same time and with small limits."""

import asyncio
from dataclasses import replace

import pytest

from hashrange import ManualClock
from hashrange_systems.aura.demo import demo_site
from hashrange_systems.aura.demo.demo_catalogue import BY_DOMAIN
from hashrange_systems.aura.schema import Crawled, Scraped
from hashrange_systems.aura.service import crawler as crawler_module
from hashrange_systems.aura.service import site as site_module
from hashrange_systems.aura.service.registry import ShopInput
from systems.tests.aura.web.hosted_aura import host_aura

MAX_PAGES = 12
LIMIT = f"the limit of {MAX_PAGES} pages was reached"
EXPECTED = {  # failed pages, products with a price, how the crawl ended
    "bombe.test": (2, 0, None),
    "endlos.test": (0, 2, None),
    "dicke-seiten.test": (0, 2, None),
    "abgerissen.test": (3, 0, None),
    "ueberlastet.test": (0, 4, None),
    "sortier-falle.test": (0, 7, LIMIT),
    "kalender-falle.test": (0, 8, LIMIT),
    "grosses-lager.test": (0, 8, LIMIT),
    "kreisverkehr.test": (0, 0, LIMIT),
}
LARGE, LARGE_FILE = 3000, 1000  # of the 50,000 URLs that the demo has: all of them are in the frontier before the limit
PATIENT_S, HURRIED_S = 60.0, 6.0  # nothing but the drip is slow; it never ends, so any timeout finds it


async def visit(site, domain):
    """Crawl and scrape a shop; return it with its reports."""
    services = site.services
    shop = await services.registry.add(ShopInput(address=site.services.demo_server.find_url(domain), country="DE"))
    await services.crawler.crawl(await services.crawls.start(shop, "tester"))
    lease = await services.scrapes.start(await services.db.shop(domain).required(), "tester")
    if lease is not None:
        await services.scraper.scrape(lease)
    reports = await services.products.crawl_reports(domain), await services.products.scrape_reports(domain)
    return await services.db.shop(domain).required(), *reports


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Pages of at most 1 MiB, and a warehouse that is large for its files only."""
    monkeypatch.setattr(site_module, "MAX_PAGE_BYTES", 1 << 20)
    monkeypatch.setattr(demo_site, "SITEMAP_SIZE", LARGE_FILE)
    monkeypatch.setitem(BY_DOMAIN, "grosses-lager.test", replace(BY_DOMAIN["grosses-lager.test"], products=LARGE))


def visit_all(*domains):
    """Visit shops at the same time; return what `visit` does by domain, and the server."""

    async def scenario():
        async with host_aura(ManualClock(), demo=True, AURA_MAX_PAGES=str(MAX_PAGES)) as site:
            found = await asyncio.gather(*(visit(site, domain) for domain in domains))
            return dict(zip(domains, found, strict=True)), site.services.demo_server

    return asyncio.run(scenario())


def test_every_difficult_shop_is_crawled_and_scraped_to_its_end(monkeypatch):
    """A bomb, bodies without end, storms, traps, a large sitemap, loops: one bad page never ends a crawl."""
    monkeypatch.setattr(site_module, "PAGE_TIMEOUT_S", PATIENT_S)
    found, demo_server = visit_all(*EXPECTED)
    for domain, (shop, crawls, scrapes) in found.items():
        assert (domain, shop.last_crawl_error, shop.last_scrape_error) == (domain, None, None)
        assert (type(shop.crawl), type(shop.scrape)) == (Crawled, Scraped)
        ended = crawls[0].failed, scrapes[0].priced, crawls[0].note
        assert (domain, *ended) == (domain, *EXPECTED[domain])
        assert len(demo_server.find_requests(domain)) < 6 * MAX_PAGES
    assert found["grosses-lager.test"][1][0].found > LARGE


def test_a_page_that_drips_is_given_up_and_the_crawl_goes_on(monkeypatch):
    monkeypatch.setattr(site_module, "PAGE_TIMEOUT_S", HURRIED_S)
    monkeypatch.setattr(crawler_module, "MAX_TRIES", 1)
    found, _ = visit_all("langsam.test")
    shop, crawls, scrapes = found["langsam.test"]
    assert (shop.last_crawl_error, type(shop.crawl), type(shop.scrape)) == (None, Crawled, Scraped)
    assert (crawls[0].failed, scrapes[0].priced) == (2, 0)
