"""A crawl of a shop whose sitemap has 50,000 URLs, as many as one may have: in two files in gzip behind an index."""

import asyncio
import gzip
from collections import Counter

import pytest

from hashrange_systems.aura.schema import Crawled
from hashrange_systems.aura.service import site as site_module
from systems.tests.aura.services import AuraServices
from systems.tests.aura.shop_server import serving_shop

URLS, MAX_PAGES = 50_000, 20


@pytest.mark.parametrize("database", ["embedded"], indirect=True)
def test_all_urls_of_a_large_sitemap_wait_for_their_visit_and_the_limit_ends_the_crawl(database, work, clock, sandbox):
    services = AuraServices(database, clock, sandbox, AURA_MAX_PAGES=str(MAX_PAGES))

    def serve(server):
        server.page("/")
        server.product("/product", "/")
        paths = [f"/vase/{number}" for number in range(URLS)]
        server.answers |= dict.fromkeys(paths, server.answers["/product"])
        server.text("/robots.txt", f"User-agent: *\nDisallow: /private\nSitemap: {server.url}index.xml")
        for name, some in (("a", paths[: URLS // 2]), ("b", paths[URLS // 2 :])):
            entries = "".join(f"<url><loc>{server.url[:-1]}{path}</loc></url>" for path in some)
            server.text(f"/{name}.xml.gz", gzip.compress(f"<urlset>{entries}</urlset>".encode()))
        files = "".join(f"<sitemap><loc>{server.url}{name}.xml.gz</loc></sitemap>" for name in "ab")
        server.text("/index.xml", f"<sitemapindex>{files}</sitemapindex>")

    async def run():
        async with serving_shop() as server:
            serve(server)
            await services.add(server)
            shop = await services.crawl(server)
            (report,) = await work.crawl_reports(server.domain)
            return server, shop, report, await services.stored(server), await work.frontier(server.domain).count()

    server, shop, report, stored, waiting = asyncio.run(run())
    assert isinstance(shop.crawl, Crawled), shop.last_crawl_error
    assert (report.found, report.fetched, report.sitemaps, waiting) == (URLS + 1, MAX_PAGES, 3, URLS + 1)
    assert report.note == f"the limit of {MAX_PAGES} pages was reached"
    assert len(stored) == MAX_PAGES, "what was visited is stored"
    visited = [path for path in server.paths if path.startswith("/vase/")]
    assert max(Counter(visited).values()) == 1
    assert [server.paths.count(f"/{name}.xml.gz") for name in "ab"] == [1, 1]


@pytest.mark.parametrize("database", ["embedded"], indirect=True)
def test_a_sitemap_that_exceeds_its_budget_is_noted_and_the_shop_is_crawled_without_it(services, work, monkeypatch):
    monkeypatch.setattr(site_module, "SITEMAP_CPU_S", 0.0001)

    async def run():
        async with serving_shop() as server:
            server.page("/", "/vase")
            server.product("/vase", "/")
            server.text("/robots.txt", f"Sitemap: {server.url}all.xml")
            entries = "".join(f"<url><loc>{server.url}page/{number}</loc></url>" for number in range(50_000))
            server.text("/all.xml", f"<urlset>{entries}</urlset>")
            await services.add(server)
            shop = await services.crawl(server)
            return shop, await work.crawl_reports(server.domain), await services.stored(server)

    shop, reports, stored = asyncio.run(run())
    assert isinstance(shop.crawl, Crawled), shop.last_crawl_error
    assert "all.xml: it cannot be read" in reports[0].note
    assert set(stored) == {"/", "/vase"}
