"""Concurrent workers, killed and restarted: one per shop; a killed crawl goes on and ends with the same table."""

import asyncio
import os
import signal
import sys
import time

import pytest

import hashrange
from hashrange import ManualClock
from hashrange_systems.aura.schema import Crawled, LeasedCrawl, NeverCrawled, Scraped
from hashrange_systems.shared.work.lease import LeaseLost, keep_alive
from systems.tests.aura.plain import get_item, put_shop
from systems.tests.aura.services import AuraServices
from systems.tests.aura.shop_server import serving_shop

TIMES = {"last_seen", "first_seen", "scraped_at"}


def prepare(server, pages=60):
    """A shop of some pages, each with links to others and a product."""
    server.page("/", *(f"/list/{number}" for number in range(pages // 10)))
    for number in range(pages // 10):
        links = [f"/vase/{each}" for each in range(number * 10, number * 10 + 10)]
        server.page(f"/list/{number}", *links, f"/list/{number + 1}", title=f"List {number}")
    for number in range(pages):
        server.product(
            f"/vase/{number}", "/", f"/vase/{number * 7 % pages}", title=f"Vase {number}", ETag=f'"{number}"'
        )


def plain(urls):
    return {path: url.model_dump(exclude=TIMES) for path, url in urls.items()}


def test_of_two_workers_on_one_shop_one_crawls(services):
    async def run():
        async with serving_shop() as server:
            prepare(server, 20)
            await services.add(server)
            shop = await services.db.shop(server.domain).required()
            leases = await asyncio.gather(*(services.crawls.start(shop, f"w{number}") for number in range(4)))
            (lease,) = [lease for lease in leases if lease is not None]
            await services.crawler.crawl(lease)
            return server, await services.db.shop(server.domain).required(), await services.stored(server)

    server, shop, stored = asyncio.run(run())
    assert (type(shop.crawl), shop.last_crawl_error) == (Crawled, None)
    assert len(stored) == 1 + 2 + 20
    pages = [path for path in server.paths if path not in {"/robots.txt", "/sitemap.xml"}]
    assert len(pages) == len(set(pages))


async def start_process(server, url):
    environment = {**os.environ, "AURA_ALLOW": "127.0.0.1", "AURA_DELAY_MS": "0", "AURA_REQUESTS": "2",
                   "AURA_USER_AGENT": "aura-test"}  # fmt: skip
    start = "from hashrange_systems.aura.cli import app; app()"
    command = (sys.executable, "-c", start, "crawl", server.domain, "--endpoint", url)
    return await asyncio.create_subprocess_exec(
        *command, env=environment, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )


@pytest.mark.parametrize("database", ["wire"], indirect=True)
def test_a_crawl_killed_in_the_middle_goes_on_and_ends_with_the_same_table(database, db, work, server_url, sandbox):
    later = ManualClock(int(time.time()) + 300)  # the lease of the killed worker has expired
    resumed = AuraServices(database, later, sandbox)

    async def run():
        async with serving_shop() as server:
            prepare(server)
            half = asyncio.Event()

            async def slow_down(path):
                if len(server.log) >= 30:
                    half.set()
                await asyncio.sleep(0.02)

            server.before = slow_down
            await resumed.add(server)
            process = await start_process(server, server_url)
            async with asyncio.timeout(60):
                await half.wait()
            process.send_signal(signal.SIGKILL)
            await process.wait()
            seen = set(server.paths)
            before = await resumed.stored(server)
            server.before = None
            server.log.clear()
            (shop,) = [shop async for shop in resumed.crawls.find_due()]
            state = shop.crawl
            await resumed.crawl(server, "w2")
            after, whole = await resumed.stored(server), await crawl_elsewhere(server, sandbox)
            return server, seen, before, state, process.pid, after, whole

    server, seen, before, state, pid, after, whole = asyncio.run(run())
    assert isinstance(state, LeasedCrawl)
    assert state.crawl_owner.endswith(" (command line)"), state.crawl_owner
    assert f"-{pid}-" in state.crawl_owner, "an owner is one process"
    assert 5 < len(before) < len(after) == 1 + 6 + 60
    again = set(server.paths) & seen - {"/robots.txt", "/sitemap.xml"}
    assert len(again) < 40, "most of what was visited is not visited again"
    assert plain(after) == plain(whole)


@pytest.mark.parametrize("database", ["wire"], indirect=True)
@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_a_crawl_command_that_is_stopped_releases_the_shop_and_another_goes_on_at_once(
    database, db, work, server_url, sandbox, sign
):
    async def run():
        async with serving_shop() as server:
            prepare(server, 20)
            started, stopped = asyncio.Event(), asyncio.Event()

            async def hang(path):
                if path.startswith("/vase/"):
                    started.set()
                    await stopped.wait()

            server.before = hang
            await AuraServices(database, ManualClock(int(time.time())), sandbox).add(server)
            process = await start_process(server, server_url)
            async with asyncio.timeout(60):
                await started.wait()
                process.send_signal(sign)
                code = await process.wait()
            stopped.set()
            now = AuraServices(database, ManualClock(int(time.time()) + 1), sandbox)
            (shop,) = [shop async for shop in now.crawls.find_due()]
            return code, shop, await now.crawl(server, "w2")

    code, shop, crawled = asyncio.run(run())
    assert code == 128 + sign
    assert shop.crawl_attempts == 0, "a stop is no failed attempt"
    assert isinstance(crawled.crawl, Crawled)


async def crawl_elsewhere(server, sandbox):
    """Return the table of the same shop after a crawl that nothing interrupted."""
    clock = ManualClock(int(time.time()))
    with hashrange.open(clock=clock) as memory:
        other = AuraServices(memory, clock, sandbox)
        await other.add(server)
        await other.crawl(server)
        return await other.stored(server)


def test_a_crawl_that_the_operator_stops_goes_on_later(services):
    async def run():
        async with serving_shop() as server:
            prepare(server, 200)
            await services.add(server)

            async def stop(path):
                if len(server.log) == 100:
                    await services.registry.request_stop(server.domain, stop=True)

            server.before = stop
            stopped = await services.crawl(server)
            first = set(server.paths)
            due = [shop.domain async for shop in services.crawls.find_due()]
            await services.registry.request_stop(server.domain, stop=False)
            resumed = [shop.domain async for shop in services.crawls.find_due()]
            assert resumed == [server.domain], "it goes on at once"
            server.before = None
            server.log.clear()
            done = await services.crawl(server)
            return stopped, first, due, done, server, await services.stored(server)

    stopped, first, due, done, server, stored = asyncio.run(run())
    assert isinstance(stopped.crawl, NeverCrawled)
    assert stopped.last_crawl_error == "stopped by the operator"
    assert due == []
    assert 100 <= len(first) <= 100 + services.crawler.limits.at_once, "it ends at its next page"
    assert isinstance(done.crawl, Crawled)
    assert len(stored) == 1 + 20 + 200
    assert not set(server.paths) & first - {"/robots.txt"}


def test_a_scrape_that_the_operator_stops_ends_after_the_products_at_hand_and_goes_on_later(services, clock):
    async def run():
        async with serving_shop() as server:
            prepare(server, 60)
            await services.add(server)
            await services.crawl(server)
            clock.advance(60)
            server.log.clear()

            async def stop(path):
                if len([path for path in server.paths if path.startswith("/vase")]) == 3:
                    await services.registry.request_stop(server.domain, stop=True)

            server.before = stop
            stopped = await services.scrape(server)
            first = [path for path in server.paths if path.startswith("/vase")]
            await services.registry.request_stop(server.domain, stop=False)
            server.before = None
            server.log.clear()
            clock.advance(360)
            done = await services.scrape(server)
            (report,) = await services.products.scrape_reports(server.domain)
            return stopped, first, done, [path for path in server.paths if path in first], report

    stopped, first, done, again, report = asyncio.run(run())
    assert stopped.last_scrape_error == "stopped by the operator"
    assert 3 <= len(first) <= 3 + services.scraper.limits.at_once
    assert (done.last_scrape_error, again, report.products) == (None, [], 60)


def test_a_crawl_whose_worker_is_stopped_goes_on_at_once_without_an_error(services):
    async def run():
        async with serving_shop() as server:
            prepare(server, 60)
            await services.add(server)
            lease = await services.crawls.start(await services.db.shop(server.domain).required(), "w1")
            half = asyncio.Event()

            async def interrupt(path):
                if len(server.log) >= 20:
                    half.set()

            server.before = interrupt
            crawl = asyncio.create_task(services.crawler.crawl(lease))
            await half.wait()
            crawl.cancel()
            await asyncio.gather(crawl, return_exceptions=True)
            (released,) = [shop async for shop in services.crawls.find_due()]
            server.before = None
            done = await services.crawl(server, "w2")
            return released, done, await services.stored(server)

    released, done, stored = asyncio.run(run())
    assert (released.last_crawl_error, released.crawl_retry_at, released.crawl_attempts) == (None, None, 0)
    assert isinstance(done.crawl, Crawled)
    assert len(stored) == 1 + 6 + 60


# ── leases ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_crawl_and_a_scrape_that_run_for_long_are_extended_again_and_again_and_end(services, clock):
    async def run():
        put_shop(services.db.session.transport, "a.de")
        crawl = await services.crawls.start(await services.db.shop("a.de").required(), "w1")
        for _ in range(10):
            clock.advance(15)
            extended = await services.crawls.extend(crawl)  # with the lease as it was started, as the heartbeat does
        await services.crawls.finish(crawl)
        scrape = await services.scrapes.start(await services.db.shop("a.de").required(), "w1")
        for _ in range(10):
            clock.advance(15)
            await services.scrapes.extend(scrape)
        await services.scrapes.finish(scrape)
        return crawl, extended, await services.db.shop("a.de").required()

    crawl, extended, shop = asyncio.run(run())
    assert (extended.crawl_lease_until - crawl.crawl_lease_until).total_seconds() == 150
    assert (type(shop.crawl), type(shop.scrape)) == (Crawled, Scraped)


@pytest.mark.parametrize("end", ["fail", "stop", "release"])
def test_a_crawl_that_was_extended_can_be_given_back(services, clock, end):
    async def run():
        put_shop(services.db.session.transport, "a.de")
        await services.db.add_countries({"DE"})
        crawl = await services.crawls.start(await services.db.shop("a.de").required(), "w1")
        clock.advance(15)
        await services.crawls.extend(crawl)
        if end == "release":
            await services.crawls.release(crawl)
        else:
            await getattr(services.crawls, end)(crawl, "why", *([1] if end == "fail" else []))
        clock.advance(0 if end == "release" else 600)
        return [shop.domain async for shop in services.crawls.find_due()], get_item(
            services.db.session.transport, "SHOP#a.de"
        )

    due, stored = asyncio.run(run())
    assert due == ["a.de"]
    assert stored["gsi2_sk"].startswith("PROGRESS#" if end == "release" else "NEVER#")


def test_a_worker_that_lost_its_lease_stops_and_changes_nothing(services, clock):
    async def run():
        put_shop(services.db.session.transport, "a.de")
        await services.db.add_countries({"DE"})
        first = await services.crawls.start(await services.db.shop("a.de").required(), "w1")
        clock.advance(61)
        (shop,) = [shop async for shop in services.crawls.find_due()]
        second = await services.crawls.start(shop, "w2")
        assert second.last_crawled_start == first.last_crawled_start  # only the owner tells them apart
        stopped = asyncio.Event()

        async def work():
            try:
                await asyncio.Event().wait()
            finally:
                stopped.set()

        with pytest.raises(LeaseLost):
            await keep_alive(lambda: services.crawls.extend(first), work(), every_s=0.01)
        await services.crawls.fail(first, "late", 1)
        return stopped.is_set(), (await services.db.shop("a.de").required()).crawl

    stopped, crawl = asyncio.run(run())
    assert stopped
    assert crawl.crawl_owner == "w2"


def test_stuck_means_two_hours_and_an_expired_lease_as_the_table_has_it(database, services, clock):
    """The index alone shows neither the lease nor its owner."""

    async def run():
        put_shop(database, "live.de", "PROGRESS#2026-01-15T08:00:00Z", crawl_owner="w1",
                 crawl_lease_until="2026-01-15T12:00:30Z")  # fmt: skip
        put_shop(database, "dead.de", "PROGRESS#2026-01-15T08:00:00Z", crawl_owner="w2",
                 crawl_lease_until="2026-01-15T09:00:00Z", last_crawled_end="2026-01-10T00:00:00Z")  # fmt: skip
        put_shop(database, "original.de", "PROGRESS#2026-01-15T08:00:00Z")
        put_shop(database, "young.de", "PROGRESS#2026-01-15T11:00:00Z", crawl_owner="w3",
                 crawl_lease_until="2026-01-15T11:01:00Z")  # fmt: skip
        await services.db.add_countries({"DE"})
        stuck = {each.shop.domain: each.abandoned for each in await services.crawls.find_stuck()}
        return stuck, sorted(await services.crawls.reap()), await services.crawls.reap()

    stuck, reaped, again = asyncio.run(run())
    assert stuck == {"live.de": False, "dead.de": True, "original.de": True}
    assert (reaped, again) == (["dead.de", "original.de"], [])
    assert get_item(database, "SHOP#dead.de")["gsi2_sk"] == "DONE#2026-01-10T00:00:00Z"
    assert get_item(database, "SHOP#original.de")["gsi2_sk"] == "NEVER#"
    assert get_item(database, "SHOP#live.de")["crawl_owner"] == "w1"


def test_a_shop_is_eligible_for_a_scrape_by_the_rules_of_the_seed(database, services, clock):
    done = "DONE#2026-01-10T00:00:00Z"
    put_shop(database, "new.de", done)
    put_shop(database, "uncrawled.de")
    put_shop(database, "original.de", "NEVER#", last_crawled_end="NEVER#")
    put_shop(database, "crawling.de", "PROGRESS#2026-01-15T11:59:00Z", last_crawled_end="2026-01-10T00:00:00Z",
             crawl_owner="w", crawl_lease_until="2026-01-15T12:01:00Z")  # fmt: skip
    put_shop(database, "again.de", "DONE#2026-01-12T00:00:00Z", "DONE#2026-01-11T00:00:00Z")
    put_shop(database, "same.de", "DONE#2026-01-09T00:00:00Z", "DONE#2026-01-10T00:00:00Z")
    put_shop(database, "inside.de", "DONE#2026-01-10T12:00:00Z", "DONE#2026-01-10T13:00:00Z",
             last_scraped_start="2026-01-10T11:00:00Z")  # fmt: skip
    put_shop(database, "recent.de", "DONE#2026-01-15T11:00:00Z", "DONE#2026-01-15T10:00:00Z")

    async def find():
        await services.db.add_countries({"DE"})
        return {shop.domain async for shop in services.scrapes.find_eligible()}

    assert asyncio.run(find()) == {"new.de", "again.de", "inside.de"}


def test_a_scrape_that_was_interrupted_does_not_visit_products_again(services, clock):
    async def run():
        async with serving_shop() as server:
            prepare(server, 120)
            await services.add(server)
            await services.crawl(server)
            server.log.clear()
            clock.advance(60)
            lease = await services.scrapes.start(await services.db.shop(server.domain).required(), "w1")
            half = asyncio.Event()

            async def interrupt(path):
                if len(server.log) >= 70:
                    half.set()

            server.before = interrupt
            scrape = asyncio.create_task(services.scraper.scrape(lease))
            await half.wait()
            scrape.cancel()
            await asyncio.gather(scrape, return_exceptions=True)
            released = await services.db.shop(server.domain).required()
            eligible = [each.domain async for each in services.scrapes.find_eligible()]
            first = {path for path in server.paths if path.startswith("/vase")}
            server.log.clear()
            clock.advance(1)  # scraped_at has whole seconds
            shop = await services.scrape(server, "w2")
            again = [path for path in server.paths if path in first]
            (report,) = await services.products.scrape_reports(server.domain)
            changes = await services.changes.latest(500)
            return released, eligible, shop, again, report, changes

    released, eligible, shop, again, report, changes = asyncio.run(run())
    assert (released.last_scrape_error, released.scrape_retry_at, released.scrape_attempts) == (None, None, 0)
    assert eligible == [released.domain], "another worker goes on at once"
    assert shop.last_scrape_error is None
    assert len(again) < 40
    assert len({change.url for change in changes}) == len(changes) == 120  # nothing is recorded twice
    counted = (report.products, report.priced, report.stated, report.titled, report.failed)
    assert counted == (120, 120, 120, 120, 0), "also those whose counts were only in memory"


def test_a_scrape_killed_in_the_middle_raises_no_alarm_when_it_goes_on(services, clock):
    """Of a worker that is killed nothing remains but what it has written: here its count is lost with it."""

    async def run():
        async with serving_shop() as server:
            prepare(server, 40)
            await services.add(server)
            for kill in (False, False, False, True):
                clock.advance(3 * 86400)
                await services.crawl(server)
                clock.advance(60)
                if kill:
                    await visit_some_and_die(services, server)
                await services.scrape(server)
            reports = await services.products.scrape_reports(server.domain)
            return reports, await services.changes.latest(500)

    reports, changes = asyncio.run(run())
    assert [report.products for report in reports] == [40] * 4
    assert [report.broken for report in reports] == [None] * 4
    assert {change.kind for change in changes} == {"NEW"}


async def visit_some_and_die(services, server):
    """Begin a scrape, and leave it as kill -9 does: in progress, its lease expired, its counts lost."""
    lease = await services.scrapes.start(await services.db.shop(server.domain).required(), "killed")
    most, seen = asyncio.Event(), len(server.log)

    async def watch(path):
        if len(server.log) - seen >= 35:
            most.set()

    server.before = watch
    walk = asyncio.create_task(services.scraper._run(await services.db.shop(server.domain).required(), lease))
    await most.wait()
    walk.cancel()
    await asyncio.gather(walk, return_exceptions=True)
    server.before = None
    services.clock.advance(300)
