"""What a crawl keeps to on a site with several origins, changing rules, waits and long catalogues: the server's log."""

import asyncio

import pytest

from hashrange_systems.aura.schema import Crawled, NeverCrawled
from hashrange_systems.aura.service import crawler as crawler_module
from hashrange_systems.aura.service import frontier as frontier_module
from hashrange_systems.aura.service.registry import ShopInput
from hashrange_systems.aura.work_schema import ShopOptions
from systems.tests.aura.plain import put_shop
from systems.tests.aura.services import AuraServices
from systems.tests.aura.shop_server import Answer, LoopbackNames, loopback_fetcher, serving_shop

pytestmark = pytest.mark.parametrize("database", ["embedded"], indirect=True)

FORBID_ALL = "User-agent: *\nDisallow: /\n"


@pytest.fixture
def named(database, work, clock, sandbox):
    """The services, for which every name is this machine."""
    return AuraServices(database, clock, sandbox, loopback_fetcher(resolver=LoopbackNames()))


def find_requests(server):
    """Return the host and path of each request."""
    heads = [(path, head.lower().partition("host: ")[2].split("\r\n")[0]) for _, path, head in server.log]
    return [f"{host.partition(':')[0]}{path}" for path, host in heads]


async def crawl(services, domain):
    """Crawl a registered shop, and return it."""
    await services.crawler.crawl(await services.crawls.start(await services.db.shop(domain).required(), "w1"))
    return await services.db.shop(domain).required()


def test_a_shop_stored_with_www_is_crawled_and_scraped(named, database, clock):
    async def run():
        async with serving_shop() as server:
            server.page("/", "/vase", f"http://antik.test:{server.port}/bare")
            server.product("/vase")
            server.product("/bare")
            put_shop(database, "www.antik.test", start_url=f"http://www.antik.test:{server.port}/")
            shop = await crawl(named, "www.antik.test")
            clock.advance(60)
            await named.scraper.scrape(await named.scrapes.start(shop, "w1"))
            return shop, [url async for url in named.db.urls("www.antik.test")]

    shop, urls = asyncio.run(run())
    assert (type(shop.crawl), shop.last_crawl_error) == (Crawled, None)
    assert len(urls) == 3
    assert [url.price_minor for url in urls if url.type == "product"] == [10000, 10000]


def test_the_robots_txt_of_every_host_of_a_shop_is_kept(named):
    async def run():
        async with serving_shop() as server:

            def robots(exchange):
                is_www = exchange.header("host").startswith("www.")
                return Answer(FORBID_ALL.encode() if is_www else b"User-agent: *\nDisallow: /private")

            www = f"http://www.antik.test:{server.port}"
            server.answers["/robots.txt"] = robots
            server.page("/", "/vase", "/moved", f"{www}/page", f"{www}/other")
            server.text("/sitemap.xml", f"http://antik.test:{server.port}/listed\n{www}/listed")
            server.text("/moved", "", 302, Location=f"{www}/moved")
            for path in ("/page", "/vase", "/listed", "/other"):
                server.page(path)
            await named.registry.add(ShopInput(address=f"http://antik.test:{server.port}/", country="DE"))
            return await crawl(named, "antik.test"), find_requests(server)

    shop, requests = asyncio.run(run())
    assert isinstance(shop.crawl, Crawled)
    assert [each for each in requests if each.startswith("www.")] == ["www.antik.test/robots.txt"]
    assert {"antik.test/vase", "antik.test/listed", "antik.test/moved"} <= set(requests)


def test_a_dry_run_keeps_the_robots_txt_of_every_host_too(named):
    async def run():
        async with serving_shop() as server:
            server.answers["/robots.txt"] = lambda exchange: Answer(
                FORBID_ALL.encode() if exchange.header("host").startswith("www.") else b""
            )
            server.page("/", f"http://www.antik.test:{server.port}/page")
            found = await named.preview.dry_run(f"http://antik.test:{server.port}/")
            return found, find_requests(server)

    found, requests = asyncio.run(run())
    assert len(found.pages) == 1
    assert "www.antik.test/page" not in requests


@pytest.mark.parametrize("declared", [False, True])
def test_a_sitemap_that_robots_txt_forbids_is_not_requested(services, declared):
    async def run():
        async with serving_shop() as server:
            line = f"Sitemap: {server.url}sitemap.xml\n" if declared else ""
            server.text("/robots.txt", f"{line}User-agent: *\nDisallow: /sitemap")
            server.text("/sitemap.xml", f"{server.url}vase")
            server.page("/")
            await services.add(server)
            shop = await services.crawl(server)
            (report,) = await services.work.crawl_reports(server.domain)
            return server.paths, shop, report

    paths, shop, report = asyncio.run(run())
    assert sorted(paths) == ["/", "/robots.txt"]
    assert isinstance(shop.crawl, Crawled)
    assert ("robots.txt forbids it" in (report.note or "")) is declared


@pytest.mark.parametrize("rule", ["robots", "option"])
def test_what_is_forbidden_while_a_crawl_is_interrupted_is_not_requested_when_it_goes_on(services, rule):
    async def run():
        async with serving_shop() as server:
            server.page("/", *(f"/vase/{number}" for number in range(60)), "/open")
            server.page("/open")
            for number in range(60):
                server.page(f"/vase/{number}")

            async def stop(path):
                if len(server.log) == 20:
                    await services.registry.request_stop(server.domain, stop=True)

            server.before = stop
            await services.add(server)
            await services.crawl(server)
            server.before = None
            server.log.clear()
            if rule == "robots":
                server.text("/robots.txt", "User-agent: *\nDisallow: /vase")
            excludes = ["/vase"] if rule == "option" else []
            await services.registry.save_options(ShopOptions(domain=server.domain, excludes=excludes))
            return await services.crawl(server), server.paths

    shop, paths = asyncio.run(run())
    assert isinstance(shop.crawl, Crawled)
    assert not [path for path in paths if path.startswith("/vase")]


def test_a_start_page_that_is_forbidden_while_a_crawl_is_interrupted_fails_it(services):
    async def run():
        async with serving_shop() as server:
            server.page("/", "/a", "/b")

            async def stop(path):
                await services.registry.request_stop(server.domain, stop=True)

            await services.add(server)
            server.before = stop
            await services.crawl(server)
            server.before = None
            await services.registry.request_stop(server.domain, stop=False)
            server.text("/robots.txt", FORBID_ALL)
            return await services.crawl(server)

    shop = asyncio.run(run())
    assert isinstance(shop.crawl, NeverCrawled)
    assert "forbids the start page" in shop.last_crawl_error


# ── waits ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_sitemap_whose_server_asks_to_wait_is_read_after_the_wait(services):
    async def run():
        async with serving_shop() as server:
            asked = []

            def sitemap(exchange):
                asked.append(exchange.path)
                if len(asked) == 1:
                    return Answer(b"", 429, {"Retry-After": "1"})
                return Answer(f"{server.url}vase".encode(), 200, {"Content-Type": "text/plain"})

            server.answers["/sitemap.xml"] = sitemap
            server.page("/")
            server.product("/vase")
            await services.add(server)
            await services.crawl(server)
            times = [at for at, path, _ in server.log if path == "/sitemap.xml"]
            return times, await services.stored(server)

    times, stored = asyncio.run(run())
    assert "/vase" in stored
    assert times[1] - times[0] >= 0.5  # a second; the first request may arrive late


def test_a_storm_of_errors_fails_the_crawl_and_it_goes_on_later(services, clock):
    async def run():
        async with serving_shop() as server:
            server.page("/", *(f"/vase/{number}" for number in range(60)))
            for number in range(60):
                server.text(f"/vase/{number}", "busy", 503, **{"Retry-After": "0"})
            await services.add(server)
            failed = await services.crawl(server)
            requests = len(server.log)
            for number in range(60):
                server.product(f"/vase/{number}")
            clock.advance(3600)
            return failed, requests, await services.crawl(server), await services.stored(server)

    failed, requests, done, stored = asyncio.run(run())
    assert isinstance(failed.crawl, NeverCrawled)
    assert "answers 503" in failed.last_crawl_error
    assert requests < 30
    assert isinstance(done.crawl, Crawled)
    assert len(stored) == 61


# ── long catalogues ──────────────────────────────────────────────────────────────────────────────────────────────────
def prepare_catalogue(server, pages):
    """A catalogue whose pages have only a link to the next one, and one product each."""
    server.page("/", "/list?page=1")
    for number in range(1, pages + 1):
        server.page(f"/list?page={number}", f"/vase/{number}", f"/list?page={number + 1}")
        server.product(f"/vase/{number}")


def crawl_catalogue(services, pages):
    async def run():
        async with serving_shop() as server:
            prepare_catalogue(server, pages)
            await services.add(server)
            await services.crawl(server)
            (report,) = await services.work.crawl_reports(server.domain)
            return [path for path in await services.stored(server) if path.startswith("/vase")], report

    return asyncio.run(run())


def test_a_catalogue_with_only_next_links_is_read_to_its_end(services):
    products, report = crawl_catalogue(services, 40)
    assert len(products) == 40
    assert report.note is None


def test_links_that_are_too_deep_are_left_out_with_a_note(services, monkeypatch):
    monkeypatch.setattr(frontier_module, "MAX_DEPTH", 5)
    monkeypatch.setattr(crawler_module, "MAX_DEPTH", 5)
    products, report = crawl_catalogue(services, 40)
    assert len(products) == 4
    assert report.note == "pages more than 5 links away from the start were left out"
