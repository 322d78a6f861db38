"""The shops of the demo that need no limits are crawled and scraped twice, between which they sell and change prices.

What is stored is compared with what they sell; how it was found, with the server's own log. The shops that end at a
limit are in `test_difficult_shops`, those with a Crawl-delay in `test_politeness`.
"""

import asyncio
from dataclasses import replace
from itertools import pairwise

import pytest
from protego import Protego

from hashrange import ManualClock
from hashrange_systems.aura.demo.demo_catalogue import BY_DOMAIN
from hashrange_systems.aura.demo.demo_shop import PERIOD_MS, make_product
from hashrange_systems.aura.errors import ShopTaken
from hashrange_systems.aura.schema import Crawled, NeverCrawled
from hashrange_systems.aura.service.registry import ShopInput
from systems.tests.aura.demo.test_difficult_shops import EXPECTED
from systems.tests.aura.demo.test_politeness import SLACK_S, TURNS, LoopLag
from systems.tests.aura.web.hosted_aura import host_aura

ELSEWHERE = {*EXPECTED, "langsam.test", "strenge-regeln.test", "einbruch.test"}
FARM = tuple(domain for domain in BY_DOMAIN if domain not in ELSEWHERE)
PRODUCTS, STEPS = 5, 4  # the fourth product is sold then
SHUT = "robots-kaputt.test"
SHOWS_NOTHING = {SHUT, "mensch-oder-maschine.test"}
GONE = "verschwindet.test"  # every other product
DELAY_S, RETRY_AFTER_S = 0.05, 1.0


class Farm:
    """The shops in one system, with what is stored of them and what they were asked for."""

    def __init__(self, site):
        self.services, self.server = site.services, site.services.demo_server

    async def visit(self, domain):
        """Crawl and scrape a shop; return the pages that are stored of it, by their path."""
        services = self.services
        lease = await services.crawls.start(await services.registry.find(domain), "tester")
        if await services.crawler.crawl(lease) is not None:
            shop = await services.registry.find(domain)
            await services.scraper.scrape(await services.scrapes.start(shop, "tester"))
        start = len(self.server.find_url(domain)) - 1
        return {url.url[start:]: url async for url in services.db.urls(domain)}

    async def visit_all(self):
        """Visit every shop at the same time; return its pages by domain."""
        return dict(zip(FARM, await asyncio.gather(*map(self.visit, FARM)), strict=True))


async def tell_story(lag):
    """Visit the farm, let its shops sell, visit it again; return it with both results, and where the log was."""
    async with host_aura(clock := ManualClock(), demo=True) as site, lag.measured():
        farm = Farm(site)
        for domain in FARM:
            try:
                await site.services.registry.add(ShopInput(address=farm.server.find_url(domain), country="DE"))
            except ShopTaken:
                continue  # the demo has registered it
        before = await farm.visit_all()
        asked = {domain: len(farm.server.find_requests(domain)) for domain in FARM}
        clock.advance(STEPS * PERIOD_MS / 1000)
        after = await farm.visit_all()
        shops = {domain: await site.services.registry.find(domain) for domain in FARM}
        return farm.server, before, after, asked, shops


@pytest.fixture(scope="module")
def story():
    """What happened, and how late the event loop was at worst."""
    with pytest.MonkeyPatch.context() as patch:
        for domain in FARM:
            patch.setitem(BY_DOMAIN, domain, replace(BY_DOMAIN[domain], products=PRODUCTS))
        lag = LoopLag()
        yield (*asyncio.run(tell_story(lag)), SLACK_S + TURNS * lag.worst)


def list_sold(domain, step):
    """What a shop sells at its usual addresses: the path, the title, the price and the state."""
    shop = BY_DOMAIN[domain]
    numbers = range(PRODUCTS // 2 if shop.behaviour == "soft-404" else PRODUCTS)
    for product in (make_product(shop, number, step) for number in numbers):
        is_gone = step and domain == GONE and product.number % 2
        yield product.path, product.title, product.minor, "REMOVED" if is_gone else product.state


@pytest.mark.parametrize("domain", FARM)
def test_what_is_stored_of_a_shop_is_what_it_sells_before_and_after_a_change(story, domain):
    _, before, after, _, shops, _ = story
    if domain in SHOWS_NOTHING:
        assert not [url for url in after[domain].values() if url.type == "product" or url.state]
        assert isinstance(shops[domain].crawl, NeverCrawled if domain == SHUT else Crawled)
        return
    shop = shops[domain]
    assert (shop.last_crawl_error, shop.last_scrape_error) == (None, None)
    for pages, step in ((before[domain], 0), (after[domain], STEPS)):
        products = {path: url for path, url in pages.items() if url.type == "product"}
        if BY_DOMAIN[domain].behaviour == "long-urls":
            products = {path: url for path, url in products.items() if len(path) < 1000}
        if BY_DOMAIN[domain].markup == "auction":  # its prices are bids
            assert {path: url.title for path, url in products.items()} == {
                path: title for path, title, _, _ in list_sold(domain, step)
            }
            continue
        found = {(path, url.title, url.price_minor, url.state) for path, url in products.items()}
        wanted = set(list_sold(domain, step))
        if domain == GONE and step:  # what a product cost when it was there is in its history
            found, wanted = ({each[:2] + each[3:] for each in some} for some in (found, wanted))
        assert found == wanted


def test_every_shop_of_the_demo_is_visited_by_a_test():
    assert {*FARM, *ELSEWHERE} == set(BY_DOMAIN)
    assert len(FARM) >= 30


@pytest.mark.parametrize("domain", FARM)
def test_the_log_of_a_shop_has_nothing_that_its_robots_txt_forbids_and_requests_that_keep_their_distance(story, domain):
    server, _, _, asked, _, late = story
    requests = server.find_requests(domain)
    assert requests[0].path == "/robots.txt"
    assert {request.user_agent.split("/")[0] for request in requests} == {"hashrange-aura"}
    if domain == SHUT:
        assert {request.path for request in requests} == {"/robots.txt"}
        return
    rules = Protego.parse(BY_DOMAIN[domain].robots or "")
    assert not [
        each.path
        for each in requests
        if not rules.can_fetch(server.find_url(domain)[:-1] + each.path, "hashrange-aura")
    ]
    assert not [each.path for each in requests if each.path.startswith(("/login", "/warenkorb"))]
    for some in (requests[: asked[domain]], requests[asked[domain] :]):
        assert some[-1].at - some[0].at >= DELAY_S * (len(some) - 2) - late
    for earlier, later in pairwise(requests):
        assert earlier.status != 429 or later.at - earlier.at >= RETRY_AFTER_S - late


@pytest.mark.parametrize("domain", [each for each in FARM if BY_DOMAIN[each].behaviour == "usual"])
def test_a_page_that_is_known_is_asked_for_conditionally_and_sent_again_only_if_it_changed(story, domain):
    server, before, _, asked, _, _ = story
    again = [each for each in server.find_requests(domain)[asked[domain] :] if each.path in before[domain]]
    assert len(again) >= PRODUCTS
    assert all(request.conditional for request in again)
    shop = BY_DOMAIN[domain]
    assert {request.status for request in again} == ({200} if shop.last_modified else {200, 304})
    pairs = [[make_product(shop, number, step) for step in (0, STEPS)] for number in range(PRODUCTS)]
    changed = {now.path for then, now in pairs if now != then}
    sent_again = {request.path for request in again if request.status == 200}
    assert shop.markup == "auction" or (changed and changed <= sent_again)


def test_one_product_has_one_url_however_its_links_are_written(story):
    _, before, after, _, _, _ = story
    for pages in (before, after):
        assert len([path for path in pages["sitzungen.test"] if path.startswith("/produkt/")]) == PRODUCTS
        (long,) = [path for path in pages["lange-wege.test"] if len(path) > 1024]
        assert pages["lange-wege.test"][long].url.endswith(long), "the whole URL is kept beside its shortened key"
