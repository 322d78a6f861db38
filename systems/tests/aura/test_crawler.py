"""The crawler on a real site: what it visits, leaves alone and stores. Assertions are on the server's log."""

import asyncio
import gzip

import pytest

from hashrange_systems.aura.schema import Crawled, NeverCrawled
from systems.tests.aura.services import AuraServices
from systems.tests.aura.shop_server import Answer, serving_shop

embedded = pytest.mark.parametrize("database", ["embedded"], indirect=True)


def run(coroutine):
    return asyncio.run(coroutine)


@pytest.fixture
def visit(services):
    """Serve a shop that a function prepares, register and crawl it; returns the server, the shop and its URLs."""

    def act(prepare):
        async def crawl():
            async with serving_shop() as server:
                prepare(server)
                await services.add(server)
                shop = await services.crawl(server)
                return server, shop, await services.stored(server)

        return run(crawl())

    return act


def test_a_crawl_visits_everything_in_scope_once_and_stores_what_it_is(visit):
    def prepare(server):
        server.page(
            "/", "/a", "/b", "/a#top", "https://elsewhere.example/", "/vase?utm_source=x", "/cart", "/photo.jpg"
        )
        server.page("/a", "/", "/b", "/vase", "/old")
        server.page("/b", "javascript:alert(1)", "mailto:a@b.de")
        server.product("/vase", "/", ETag='"1"')
        server.text("/old", "", 301, Location="/vase")

    server, shop, stored = visit(prepare)
    assert isinstance(shop.crawl, Crawled)
    assert sorted(server.paths) == ["/", "/a", "/b", "/old", "/robots.txt", "/sitemap.xml", "/vase"]
    assert server.paths[0] == "/robots.txt"
    assert sorted(stored) == ["/", "/a", "/b", "/vase"]
    assert stored["/vase"].type == "product"
    assert (stored["/vase"].etag, stored["/vase"].standards_used) == ('"1"', ["json-ld"])
    assert shop.standards_used == ["json-ld"]
    assert stored["/vase"].hash is None


def test_what_robots_txt_forbids_is_never_requested(visit):
    def prepare(server):
        rules = "User-agent: other\nDisallow: /\n\nUser-agent: aura-test\nDisallow: /private\nDisallow: /*.php$\n"
        rules += "Allow: /private/ok"
        server.text("/robots.txt", rules)
        server.page("/", "/private/a", "/private/ok", "/x.php", "/x.php?a=1", "/moved")
        server.text("/moved", "", 302, Location="/private/b")
        for path in ("/private/a", "/private/ok", "/x.php", "/x.php?a=1", "/private/b"):
            server.page(path)

    server, _, _ = visit(prepare)
    assert sorted(server.paths) == ["/", "/moved", "/private/ok", "/robots.txt", "/sitemap.xml", "/x.php?a=1"]


@embedded
@pytest.mark.parametrize(("status", "visited"), [(404, True), (403, True), (500, False), (503, False), (429, False)])
def test_a_robots_txt_that_is_missing_allows_and_one_that_fails_forbids(visit, status, visited):
    def prepare(server):
        server.text("/robots.txt", "sorry", status)
        server.page("/")

    server, shop, stored = visit(prepare)
    assert ("/" in server.paths) is visited
    assert bool(stored) is visited
    if not visited:
        assert isinstance(shop.crawl, NeverCrawled)
        assert f"robots.txt answers {status}" in shop.last_crawl_error
        assert shop.crawl_retry_at is not None


def test_sitemaps_come_first_also_nested_compressed_and_as_text(visit):
    def prepare(server):
        server.text("/robots.txt", f"Sitemap: {server.url}index.xml\nSitemap: {server.url}list.txt")
        names = ("a.xml.gz", "broken.xml", "index.xml")
        parts = "".join(f"<sitemap><loc>{server.url}{name}</loc></sitemap>" for name in names)
        schema = "http://www.sitemaps.org/schemas/sitemap/0.9"
        server.text("/index.xml", f"<sitemapindex xmlns='{schema}'>{parts}</sitemapindex>")
        urls = "".join(f"<url><loc>{server.url}p{number}</loc></url>" for number in range(3))
        urls += "<url><loc>https://other.example/x</loc></url>"
        server.text("/a.xml.gz", gzip.compress(f"<urlset>{urls}</urlset>".encode()))
        server.text("/broken.xml", f"<urlset><url><loc>{server.url}p3</loc></url><url><loc>")
        server.text("/list.txt", f"{server.url}p4\nnonsense\n")
        for number in range(5):
            server.product(f"/p{number}")
        server.page("/")

    server, _, stored = visit(prepare)
    assert sorted(stored) == ["/", "/p0", "/p1", "/p2", "/p3", "/p4"]
    first_page = next(at for at, path in enumerate(server.paths) if path == "/" or path.startswith("/p"))
    assert set(server.paths[1:first_page]) == {"/index.xml", "/list.txt", "/a.xml.gz", "/broken.xml"}


@embedded
def test_an_entity_bomb_in_a_sitemap_is_refused(visit):
    def prepare(server):
        bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><urlset><url><loc>&b;</loc></url></urlset>'
        server.text("/sitemap.xml", bomb)
        server.page("/")

    _, shop, stored = visit(prepare)
    assert list(stored) == ["/"]
    assert isinstance(shop.crawl, Crawled)


def test_a_second_crawl_asks_conditionally_and_keeps_the_hash(services, clock):
    async def crawl_twice():
        async with serving_shop() as server:
            server.page("/", "/vase", ETag='"home"')
            server.product("/vase", ETag='"1"', Last_Modified="Thu, 15 Jan 2026 10:00:00 GMT")
            await services.add(server)
            await services.crawl(server)
            url = (await services.stored(server))["/vase"]
            await services.db.reprice(url, "a" * 64, "AVAILABLE", 10000, "EUR")
            clock.advance(3 * 86400)
            server.log.clear()
            await services.crawl(server)
            return server, await services.stored(server), await services.work.crawl_reports(server.domain)

    server, stored, reports = run(crawl_twice())
    heads = {path: head for _, path, head in server.log}
    assert 'If-None-Match: "home"' in heads["/"]
    assert 'If-None-Match: "1"' in heads["/vase"]
    assert "If-Modified-Since: Thu, 15 Jan 2026 10:00:00 GMT" in heads["/vase"]
    assert stored["/vase"].hash == "a" * 64
    assert stored["/vase"].last_seen > stored["/vase"].first_seen
    assert (reports[0].unchanged, reports[0].fetched) == (2, 2)


def test_a_page_that_is_gone_is_counted_and_one_that_returns_is_not(services, clock):
    async def crawl():
        async with serving_shop() as server:
            server.page("/", "/vase")
            server.product("/vase")
            await services.add(server)
            await services.crawl(server)
            counts = []
            for status in (404, 410, 200):
                clock.advance(3 * 86400)
                server.answers["/vase"].status = status
                await services.crawl(server)
                counts.append((await services.stored(server))["/vase"].missing_count)
            return counts

    assert run(crawl()) == [1, 2, 0]


@embedded
def test_retry_after_is_kept_and_the_page_is_read_in_the_end(services):
    async def crawl():
        async with serving_shop() as server:
            times = []

            def busy(exchange):
                times.append(exchange.path)
                return Answer(b"", 429, {"Retry-After": "1"}) if len(times) < 3 else Answer(b"<h1>ok</h1>", 200)

            server.page("/", "/slow")
            server.answers["/slow"] = busy
            await services.add(server)
            await services.crawl(server)
            asked = [at for at, path, _ in server.log if path == "/slow"]
            return asked, await services.stored(server)

    asked, stored = run(crawl())
    assert "/slow" in stored
    assert asked[-1] - asked[0] >= 1.5  # two waits of a second; the first request may arrive late


@embedded
def test_requests_are_spaced_by_the_crawl_delay(services):
    async def crawl():
        async with serving_shop() as server:
            server.text("/robots.txt", "User-agent: *\nCrawl-delay: 0.2")
            server.page("/", *(f"/{number}" for number in range(4)))
            for number in range(4):
                server.page(f"/{number}")
            await services.add(server)
            await services.crawl(server)
            (report,) = await services.work.crawl_reports(server.domain)
            return [at for at, _, _ in server.log], report

    times, report = run(crawl())
    assert times[-1] - times[0] >= 0.2 * (len(times) - 2)  # less one pause: the first request may arrive late
    assert (report.crawl_delay_s, report.delay_s) == (0.2, 0.2)


@embedded
def test_endless_spaces_end(visit):
    def prepare(server):
        def calendar(exchange):
            links = f'<a href="{exchange.path}/deeper">x</a><a href="?page=1&sort={len(server.log)}">y</a>'
            return Answer(links.encode())

        server.page("/", "/loop/loop", "/kalender/2026/01", "/list?sort=a", "/list?sort=b&dir=asc", "/list?order=b")
        server.answers["/loop/loop"] = calendar
        server.page("/list", "/list?sort=c", "/list?sessionid=5")

    server, shop, _stored = visit(prepare)
    assert isinstance(shop.crawl, Crawled)
    assert len(server.paths) < 40
    assert server.paths.count("/list") == 1
    assert not any("kalender" in path for path in server.paths)


@embedded
def test_a_site_that_is_down_is_tried_again_later(services, clock):
    async def crawl():
        async with serving_shop() as server:
            await services.add(server)
        shop = await services.crawl(server)
        due = [each async for each in services.crawls.find_due()]
        clock.advance(360)
        return shop, due, [each.domain async for each in services.crawls.find_due()]

    shop, due, later = run(crawl())
    assert isinstance(shop.crawl, NeverCrawled)
    assert "refused" in shop.last_crawl_error
    assert shop.crawl_attempts == 1
    assert due == []
    assert later == [shop.domain]


def test_a_crawl_ends_at_its_limit_of_pages_and_says_so(services, database, clock, sandbox):
    small = AuraServices(database, clock, sandbox, AURA_MAX_PAGES="5")

    async def crawl():
        async with serving_shop() as server:
            server.page("/", *(f"/{number}" for number in range(20)))
            for number in range(20):
                server.page(f"/{number}")
            await small.add(server)
            await small.crawl(server)
            (report,) = await small.work.crawl_reports(server.domain)
            return server, report

    server, report = run(crawl())
    assert len(server.paths) == 2 + 5
    assert report.note == "the limit of 5 pages was reached"


@embedded
def test_a_redirect_to_a_private_address_is_not_followed(visit):
    def prepare(server):
        server.page("/", "/out")
        server.text("/out", "", 302, Location="http://169.254.169.254/latest/meta-data")

    _server, shop, stored = visit(prepare)
    assert isinstance(shop.crawl, Crawled)
    assert list(stored) == ["/"]
