"""Shops that mean harm or ask for a lot: what a crawl and a scrape request of them, by the server's log."""

import asyncio
from itertools import pairwise

import pytest

from hashrange_systems.aura.schema import Crawled, NeverCrawled, Scraped
from hashrange_systems.aura.service import crawler as crawler_module
from hashrange_systems.aura.service.crawler import MAX_REDIRECTS
from hashrange_systems.aura.work_schema import ShopOptions
from systems.tests.aura.services import AuraServices
from systems.tests.aura.shop_server import HTML, Answer, loopback_fetcher, serving_shop

pytestmark = pytest.mark.parametrize("database", ["embedded"], indirect=True)

HOUR, DAY = 3600, 86400
PRIVATE = ("169.254.169.254", "10.0.0.1", "[fd00::1]", "0.0.0.0", "100.64.0.1", "metadata.localhost")
LOOPBACK = (
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "127.0.0.1.",
    "localhost",
    "[::ffff:7f00:1]",
)


def redirect(location):
    return Answer(b"", 302, {"Location": location})


async def crawl(services, server):
    """Crawl a shop; return it with its last report."""
    shop = await services.crawl(server)
    reports = await services.work.crawl_reports(server.domain)
    return shop, reports[0] if reports else None


# ── redirects ────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_redirects_without_end_are_given_up_and_the_crawl_goes_on(services):
    async def run():
        async with serving_shop() as server:

            def next_step(exchange):
                step = int(exchange.path.rpartition("/")[2]) + 1
                server.answers[f"/step/{step}"] = next_step
                return redirect(f"/step/{step}")

            server.answers["/step/0"] = next_step
            server.page("/", "/step/0", "/vase")
            server.product("/vase")
            await services.add(server)
            shop, report = await crawl(services, server)
            return shop, report, server.paths, await services.stored(server)

    shop, report, paths, stored = asyncio.run(run())
    assert isinstance(shop.crawl, Crawled)
    assert sum(path.startswith("/step/") for path in paths) == 1 + MAX_REDIRECTS
    assert report.note == f"more than {MAX_REDIRECTS} redirects in a row were not followed"
    assert set(stored) == {"/", "/vase"}


def test_no_address_of_this_network_is_requested_whatever_a_shop_points_to(database, work, clock, sandbox):
    """By links, redirects, canonical links, robots.txt, sitemaps and their indexes, in any spelling."""

    async def run():
        async with serving_shop() as server, serving_shop() as inside:
            services = AuraServices(database, clock, sandbox, loopback_fetcher(port=server.port))
            targets = [f"http://{host}/inside" for host in PRIVATE]
            targets += [f"http://{host}:{inside.port}/inside" for host in LOOPBACK]
            declared = (*targets, f"{server.url}index.xml", f"{server.url}urls", f"{server.url}away/0")
            server.text("/robots.txt", "".join(f"Sitemap: {target}\n" for target in declared))
            locations = "".join(f"<sitemap><loc>{target}?nested</loc></sitemap>" for target in targets)
            server.text("/index.xml", f"<sitemapindex>{locations}</sitemapindex>")
            server.text("/urls", "\n".join(targets))
            canonical = f'<link rel="canonical" href="{targets[-1]}">'
            server.page("/", *targets, *(f"/away/{at}" for at in range(len(targets))), body=canonical)
            for at, target in enumerate(targets):
                server.answers[f"/away/{at}"] = redirect(target)
            await services.add(server)
            shop, _ = await crawl(services, server)
            away = {path for path in server.paths if path.startswith("/away/")}
            return shop, inside.log, len(away), await services.stored(server)

    shop, requests, away, stored = asyncio.run(run())
    assert isinstance(shop.crawl, Crawled), shop.last_crawl_error
    assert requests == []
    assert away == len(PRIVATE) + len(LOOPBACK)
    assert set(stored) == {"/"}


# ── floods ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("source", ["pages", "sitemaps"])
def test_a_shop_that_invents_urls_without_end_fills_no_table(database, work, clock, sandbox, monkeypatch, source):
    monkeypatch.setattr(crawler_module, "MAX_URLS", 100)
    services = AuraServices(database, clock, sandbox, AURA_MAX_PAGES="10")

    async def run():
        async with serving_shop() as server:
            many = [f"/x/{number}" for number in range(70)]
            if source == "sitemaps":
                names = [f"part{number}" for number in range(5)]
                parts = "".join(f"<sitemap><loc>{server.url}{name}</loc></sitemap>" for name in names)
                server.text("/sitemap.xml", f"<sitemapindex>{parts}</sitemapindex>")
                for name in names:
                    server.text(f"/{name}", "\n".join(f"{server.url}{name}{path}" for path in many))
                server.page("/")
            else:
                server.page("/", *many)
                for path in many:
                    server.page(path, *(f"{path}{deeper}" for deeper in many))
            await services.add(server)
            shop, report = await crawl(services, server)
            return shop, report, await work.frontier(server.domain).count()

    shop, report, waiting = asyncio.run(run())
    assert isinstance(shop.crawl, Crawled)
    assert "the limit of 100 URLs was reached" in report.note
    assert waiting <= 101


# ── waits ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_server_that_asks_to_wait_for_hours_is_left_alone_for_hours_and_its_crawl_goes_on(services, clock):
    async def run():
        async with serving_shop() as server:
            server.page("/", *(f"/vase/{number}" for number in range(5)))
            for number in range(5):
                server.product(f"/vase/{number}")
            server.text("/vase/2", "", 503, **{"Retry-After": str(4 * HOUR)})
            await services.add(server)
            failed = await services.crawl(server)
            clock.advance(3 * HOUR)
            early = [shop.domain async for shop in services.crawls.find_due()]
            clock.advance(HOUR)
            due = [shop.domain async for shop in services.crawls.find_due()]
            done = await services.crawl(server)
            return failed, early, due, done, server.paths.count("/vase/2"), await services.stored(server)

    failed, early, due, done, asked, stored = asyncio.run(run())
    assert isinstance(failed.crawl, NeverCrawled)
    assert "asks to wait 14400 s" in failed.last_crawl_error
    assert (early, due) == ([], [failed.domain])
    assert isinstance(done.crawl, Crawled), done.last_crawl_error
    assert asked == 1, "one page that always asks to wait does not keep the shop from being crawled"
    assert set(stored) == {"/", *(f"/vase/{number}" for number in (0, 1, 3, 4))}


def test_a_scrape_whose_server_asks_to_wait_for_hours_goes_on_after_them(services, clock):
    async def run():
        async with serving_shop() as server:
            server.page("/", *(f"/vase/{number}" for number in range(5)))
            for number in range(5):
                server.product(f"/vase/{number}")
            await services.add(server)
            await services.crawl(server)
            clock.advance(60)
            server.text("/vase/2", "", 429, **{"Retry-After": str(2 * HOUR)})
            failed = await services.scrape(server)
            clock.advance(HOUR)
            early = [shop.domain async for shop in services.scrapes.find_eligible()]
            clock.advance(HOUR)
            due = [shop.domain async for shop in services.scrapes.find_eligible()]
            done = await services.scrape(server)
            (report,) = await services.products.scrape_reports(server.domain)
            return failed, early, due, done, report

    failed, early, due, done, report = asyncio.run(run())
    assert "asks to wait 7200 s" in failed.last_scrape_error
    assert (early, due) == ([], [failed.domain])
    assert isinstance(done.scrape, Scraped), done.last_scrape_error
    assert (report.products, report.priced, report.failed) == (5, 4, 1)


def test_a_failing_robots_txt_is_asked_for_again_when_its_server_says(services, clock):
    async def run():
        async with serving_shop() as server:
            server.text("/robots.txt", "", 503, **{"Retry-After": str(6 * HOUR)})
            await services.add(server)
            await services.crawl(server)
            clock.advance(5 * HOUR)
            early = [shop.domain async for shop in services.crawls.find_due()]
            clock.advance(HOUR)
            return early, [shop.domain async for shop in services.crawls.find_due()]

    early, due = asyncio.run(run())
    assert (early, len(due)) == ([], 1)


# ── rules that change ────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("later_s", [600, 2 * HOUR])
@pytest.mark.parametrize("status", [200, 503])
def test_a_robots_txt_that_changes_during_a_crawl_counts_within_an_hour(services, clock, later_s, status):
    async def run():
        async with serving_shop() as server:
            pages = [f"/vase/{number}" for number in range(300)]
            server.page("/", *pages)
            for path in pages:
                server.page(path)

            async def change(path):
                if len(server.log) == 50:
                    server.text("/robots.txt", "User-agent: *\nDisallow: /vase\nCrawl-delay: 0.01", status)
                    clock.advance(later_s)

            server.before = change
            await services.add(server)
            return await services.crawl(server), server.paths

    shop, paths = asyncio.run(run())
    assert isinstance(shop.crawl, Crawled), shop.last_crawl_error
    visited = sum(path.startswith("/vase") for path in paths)
    if later_s < HOUR:
        assert (visited, paths.count("/robots.txt")) == (300, 1)
    else:
        assert paths.count("/robots.txt") == 2
        assert (visited == 300) is (status == 503), "one that cannot be read stays as it was"
        assert status == 503 or visited < 50 + crawler_module.READ_AHEAD + services.crawler.limits.at_once


# ── pace ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_crawl_and_a_scrape_of_one_shop_at_the_same_time_keep_one_pace(services, clock):
    delay_s = 0.1

    async def run():
        async with serving_shop() as server:
            server.page("/", *(f"/vase/{number}" for number in range(10)))
            for number in range(10):
                server.product(f"/vase/{number}")
            await services.add(server)
            await services.crawl(server)
            await services.registry.save_options(ShopOptions(domain=server.domain, delay_ms=int(delay_s * 1000)))
            clock.advance(3 * DAY)
            shop = await services.db.shop(server.domain).required()
            scrape = await services.scrapes.start(shop, "w1")
            due = [each.domain async for each in services.crawls.find_due()]
            lease = await services.crawls.start(shop, "w2")  # by hand: a worker waits for the end of the scrape
            server.log.clear()
            await asyncio.gather(services.scraper.scrape(scrape), services.crawler.crawl(lease))
            return due, [at for at, _, _ in server.log]

    due, times = asyncio.run(run())
    assert due == []
    assert len(times) > 20
    assert times[-1] - times[0] >= delay_s * (len(times) - 2), "less one pause: the first request may arrive late"
    assert all(later >= earlier for earlier, later in pairwise(times))


# ── clocks ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("leap_s", [-DAY, -HOUR, HOUR, 400 * DAY])
def test_a_clock_that_leaps_during_a_crawl_and_a_scrape_loses_nothing(services, clock, leap_s):
    async def run():
        async with serving_shop() as server:
            server.page("/", *(f"/vase/{number}" for number in range(30)))
            for number in range(30):
                server.product(f"/vase/{number}", "/", ETag=f'"{number}"')

            async def leap(path):
                if len(server.log) == 15:
                    clock.advance(leap_s)

            server.before = leap
            await services.add(server)
            crawled = await services.crawl(server)
            server.log.clear()
            scraped = await services.scrape(server)
            return (
                crawled,
                scraped,
                await services.stored(server),
                (await services.changes.of_shop(server.domain)).items,
            )

    crawled, scraped, stored, changes = asyncio.run(run())
    assert (type(crawled.crawl), crawled.last_crawl_error) == (Crawled, None)
    assert (type(scraped.scrape), scraped.last_scrape_error) == (Scraped, None)
    assert len(stored) == 31
    assert {url.price_minor for path, url in stored.items() if path.startswith("/vase")} == {10000}
    assert len(changes) == 30


def test_huge_headers_and_a_server_that_hangs_up_fail_a_page_and_no_crawl(services):
    async def run():
        async with serving_shop() as server:
            server.page("/", "/large", "/silent", "/vase")
            server.product("/vase")
            server.answers["/large"] = Answer(b"x", 200, {"Content-Type": HTML, "X-Large": "x" * 2_000_000})

            def hang_up(exchange):
                exchange.reset()
                return Answer()

            server.answers["/silent"] = hang_up
            await services.add(server)
            shop, report = await crawl(services, server)
            return shop, report, await services.stored(server)

    shop, report, stored = asyncio.run(run())
    assert isinstance(shop.crawl, Crawled), shop.last_crawl_error
    assert set(stored) == {"/", "/vase"}
    assert report.failed == 2


# ── members who look at many hosts ───────────────────────────────────────────────────────────────────────────────────
class RecordingSandbox:
    """A real sandbox that remembers for whom it worked."""

    def __init__(self, sandbox):
        self.sandbox, self.tenants = sandbox, set()

    async def run(self, function, *arguments, tenant="", **budget):
        self.tenants.add(tenant)
        return await self.sandbox.run(function, *arguments, tenant=tenant, **budget)


def test_a_member_who_looks_at_many_hosts_is_one_tenant_of_the_sandbox(database, work, clock, sandbox):
    recording = RecordingSandbox(sandbox)
    services = AuraServices(database, clock, recording)

    async def run():
        async with serving_shop() as one, serving_shop() as two:
            for server in (one, two):
                server.product("/")
                await services.preview.explain(server.url, member="m1")
                await services.preview.dry_run(server.url, member="m1")
            looked = set(recording.tenants)
            await services.add(one)
            await services.crawl(one)
            return looked, recording.tenants - looked == {one.domain}

    looked, by_shop = asyncio.run(run())
    assert looked == {"member m1"}
    assert by_shop, "crawls are divided by shop"
