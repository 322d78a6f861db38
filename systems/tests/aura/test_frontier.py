"""The frontier of a crawl: no link is lost when a write fails, nobody waits for a large sitemap, no URL waits twice."""

import asyncio

import pytest

import hashrange
from hashrange import Faults, HashrangeError, LocalKeys
from hashrange_systems.aura.service import frontier as frontier_module
from hashrange_systems.aura.service.frontier import begin_run
from hashrange_systems.aura.work_schema import Work

DOMAIN = "antik.example"


def make_urls(count, start=0):
    return [f"https://{DOMAIN}/vase/{number}" for number in range(start, start + count)]


@pytest.fixture
def faults():
    """The faults of the database, none at first."""
    return Faults()


@pytest.fixture
def work(clock, faults):
    """The working table, on a database whose operations can be made to fail."""
    with hashrange.open(clock=clock, faults=faults) as database:
        hashrange.create_tables(database, Work)
        yield Work.open(database, clock=clock, keys=LocalKeys.generate())


async def list_waiting(work, frontier):
    return [entry.url async for entry in work.waiting(DOMAIN, frontier.run.run)]


def test_links_and_visits_that_cannot_be_written_are_written_by_the_next_flush(work, clock, faults):
    async def run():
        frontier = await begin_run(work, clock, DOMAIN)
        frontier.add(make_urls(1), 0)
        (start,) = await frontier.take(1, ())
        frontier.add(make_urls(250, start=1), 1)
        frontier.finish(start)
        faults.fail("BatchWriteItem", after=True)
        with pytest.raises(HashrangeError):
            await frontier.flush()
        partly = await list_waiting(work, frontier)
        faults.clear()
        return frontier, partly, await frontier.flush(), await list_waiting(work, frontier)

    frontier, partly, new, waiting = asyncio.run(run())
    assert 1 < len(partly) < 250
    assert sorted(waiting) == sorted(make_urls(250, start=1)), "all links wait, and the visited page does not"
    assert new == 250, "each is counted once"
    assert frontier.unwritten == 0


@pytest.mark.parametrize("database", ["embedded"], indirect=True)  # which does not give way by itself
def test_other_tasks_go_on_while_a_large_sitemap_is_written(database, clock):
    hashrange.create_tables(database, Work)
    work = Work.open(database, clock=clock, keys=LocalKeys.generate())
    turns = 0

    async def count_turns():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def run():
        frontier = await begin_run(work, clock, DOMAIN)
        other = asyncio.create_task(count_turns())
        frontier.add(make_urls(2_000), 1)
        await frontier.flush()
        other.cancel()

    asyncio.run(run())
    assert turns >= 2_000 / frontier_module.LOOK_UP_AT_ONCE


def test_links_are_looked_up_only_when_the_process_may_not_have_seen_them(work, clock, faults):
    async def run():
        first = await begin_run(work, clock, DOMAIN)
        faults.fail("BatchGetItem")
        first.add(make_urls(50), 1)
        assert await first.flush() == 50
        resumed = await begin_run(work, clock, DOMAIN)
        resumed.add(make_urls(60), 1)
        with pytest.raises(HashrangeError):
            await resumed.flush()
        faults.clear()
        return await resumed.flush()

    assert asyncio.run(run()) == 10


def test_a_visited_url_that_the_process_has_forgotten_does_not_wait_again(work, clock, monkeypatch):
    monkeypatch.setattr(frontier_module, "REMEMBERED", 10)

    async def run():
        frontier = await begin_run(work, clock, DOMAIN)
        frontier.add(make_urls(5), 1)
        for entry in await frontier.take(5, ()):
            frontier.finish(entry)
        frontier.add(make_urls(20, start=100), 1)
        await frontier.flush()
        frontier.add(make_urls(5), 1)
        return await frontier.flush(), await list_waiting(work, frontier)

    new, waiting = asyncio.run(run())
    assert new == 0
    assert len(waiting) == 20
