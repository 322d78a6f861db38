"""A worker that is killed after any of its requests to the database: the next one ends with the same table.

The kill is a database that answers nothing any more: what was written stays, whatever else the process wanted is lost.
"""

import asyncio

import pytest

import hashrange
from hashrange import ManualClock
from hashrange_systems.aura.schema import Crawled, Scraped
from systems.tests.aura.services import AuraServices
from systems.tests.aura.shop_server import serving_shop
from systems.tests.conftest import NOON

DAY = 86400
TIMES = {"last_seen", "first_seen", "scraped_at", "missing_count"}
PAGES = {"/", "/list", "/vase/0", "/vase/1", "/vase/2"}


class Killed(BaseException):
    """The process is gone."""


class KillSwitch:
    """A database that answers a number of requests, and then none."""

    def __init__(self, database):
        self.database, self.left, self.answered = database, None, 0

    def __getattr__(self, name):
        return getattr(self.database, name)

    def _count(self):
        if self.left is not None and self.left <= 0:
            raise Killed
        self.left = None if self.left is None else self.left - 1
        self.answered += 1

    def call(self, *request):
        self._count()
        return self.database.call(*request)

    async def call_async(self, *request):
        self._count()
        return await self.database.call_async(*request)


class Life:
    """One database with its services, whose worker can be killed."""

    def __init__(self, database, clock, sandbox):
        self.switch = KillSwitch(database)
        self.services = AuraServices(self.switch, clock, sandbox)

    async def run(self, work, steps=None):
        """Do some work, killed after so many requests; return whether it was."""
        self.switch.left, before = steps, self.switch.answered
        try:
            await work()
        except Killed:
            return True
        finally:
            self.switch.left = None
            self.steps = self.switch.answered - before
        return False


def serve(server, price):
    server.page("/", "/list", ETag='"home"')
    server.page("/list", "/vase/0", "/vase/1", "/vase/2", ETag='"list"')
    server.text("/sitemap.xml", f"{server.url}vase/0\n{server.url}list")
    for number in range(3):
        server.product(f"/vase/{number}", "/", title=f"Vase {number}", price=price, ETag=f'"{number} {price}"')


async def live(sandbox, clock, kill=None, steps=None):
    """Crawl and scrape a shop, killed once in one of them; then again after its prices have changed."""
    async with serving_shop() as server:
        with hashrange.open(clock=clock) as database:
            life = Life(database, clock, sandbox)
            services = life.services
            serve(server, "100.00")
            await services.add(server)
            taken = {}
            for name in ("crawl", "scrape"):
                taken[name] = await do_killed(life, server, name, steps if kill == name else None)
            first = await look(services, server)
            clock.advance(3 * DAY)
            serve(server, "80.00")
            server.log.clear()
            await services.crawl(server)
            crawled = set(server.paths)
            clock.advance(60)
            await services.scrape(server)
            return taken, first, crawled, await look(services, server)


async def do_killed(life, server, name, steps):
    """Crawl or scrape, killed after some steps, and again if it had not ended; return how many steps it took."""
    work = getattr(life.services, name)
    killed = await life.run(lambda: work(server), steps)
    taken = life.steps
    life.services.clock.advance(300)
    if killed and await is_open(life.services, server, name):
        await work(server)
    return taken


async def is_open(services, server, name):
    """Return whether the work is to be done again: it may have ended in the moment of the kill."""
    shop = await services.db.shop(server.domain).required()
    return not isinstance(getattr(shop, name), Crawled | Scraped)


async def look(services, server):
    """Return what is stored: pages without their times, prices, and the kinds of the changes."""
    urls = {path: url.model_dump(exclude=TIMES) for path, url in (await services.stored(server)).items()}
    for url in urls.values():
        del url["domain"], url["url"]
    prices = {}
    for path in urls:
        found = await services.products.history(server.domain, server.url[:-1] + path)
        prices[path] = [price.price_minor for price in found.prices]
    changes = (await services.changes.of_shop(server.domain)).items
    return urls, prices, sorted(change.kind for change in changes)


@pytest.mark.parametrize("kill", ["crawl", "scrape"])
def test_after_a_kill_at_any_step_the_same_pages_prices_and_events_are_stored_and_the_next_round_misses_nothing(
    sandbox, kill
):
    taken, first, crawled, last = asyncio.run(live(sandbox, ManualClock(NOON)))
    assert crawled >= PAGES
    assert [last[1][f"/vase/{number}"] for number in range(3)] == [[10000, 8000]] * 3
    assert last[2] == ["NEW"] * 3 + ["PRICE"] * 3
    for steps in range(taken[kill]):
        _, first_again, crawled_again, last_again = asyncio.run(live(sandbox, ManualClock(NOON), kill, steps))
        assert (steps, first_again) == (steps, first)
        assert (steps, crawled_again) == (steps, crawled)
        assert (steps, last_again) == (steps, last)
