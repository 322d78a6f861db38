"""What a stranger's first look at a large status page costs: bytes, reads, and turns of the event loop."""

import asyncio
import gc
import time
from datetime import timedelta

import httpx
import pytest

from hashrange_systems.checks.history_schema import RollupItem
from hashrange_systems.checks.model.uptime import Rollup, write_rollup
from hashrange_systems.checks.service.status_pages import PageContent
from hashrange_systems.shared.epoch import DAY_MS
from hashrange_systems.shared.web.session import name_cookie
from systems.tests.checks.check_items import NOON, make_check
from systems.tests.checks.services import do
from systems.tests.checks.web.web_client import send

COUNT = 60  # of the 200 that a page may have
DAYS = 90
BYTES_OF_A_CHECK = 2_000  # so that a page of 200 has less than 400 KB; with a tooltip for each day it had 13 KB
READS_OF_A_CHECK = 4  # its days, today's runs, the run before them, its incidents
OTHER_READS = 10
READS_OF_A_SESSION = 4  # the user, the API keys and their user, whether the session was ended
COOKIE = name_cookie("checks")


@pytest.fixture
def shops(client):
    """The path of a page whose checks have ninety days of history, no two alike."""
    owner = client.sign_up("cara", "BUSINESS").user.userid
    since = NOON - timedelta(days=DAYS)
    known = [make_check(f"c{n}", userid=owner, name=f"Shop {n}", created_at=since) for n in range(COUNT)]
    client.db.batch(known).run()
    client.db.batch([make_day(check, number) for check in known for number in range(1, DAYS)]).run()
    do(client.pages.publish(owner, "shops", PageContent(title="Shops", checks=[check.checkid for check in known])))
    return "/checks/status/shops"


def make_day(check, number):
    down = number % 7 * 3_600_000
    rollup = Rollup(up=DAY_MS - down, down=down, runs=288, latency={number % 5: 288})
    day = (NOON - timedelta(days=number)).date()
    expires_at = NOON + timedelta(days=400)
    return RollupItem(checkid=check.checkid, day=day, rollup=write_rollup(rollup), expires_at=expires_at)


async def request(client, path, cookies=None):
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(client.site), base_url="http://127.0.0.1:8002", cookies=cookies
    ) as caller:
        return await caller.get(path)


@pytest.fixture
def reads(client, monkeypatch):
    """The operations that are called from now on."""
    called = []
    call = client.database.call_async

    async def count(operation, *more):
        called.append(operation)
        return await call(operation, *more)

    monkeypatch.setattr(client.database, "call_async", count, raising=False)
    return called


def test_the_first_look_at_a_large_status_page_is_bounded_in_bytes_and_reads(client, shops, reads):
    page = asyncio.run(request(client, shops))
    assert page.text.count('class="bars"') == COUNT
    assert len(page.content) < COUNT * BYTES_OF_A_CHECK
    assert COUNT < len(reads) <= COUNT * READS_OF_A_CHECK + OTHER_READS
    before = len(reads)
    assert asyncio.run(request(client, shops)).content == page.content
    assert len(reads) == before, "from the cache"


def test_only_who_is_signed_in_has_a_status_page_rendered_anew(client, shops, reads):
    ann = client.sign_up("ann")
    session, signed_out = client.browser(ann.key).cookies[COOKIE], client.browser(ann.key)
    ended = signed_out.cookies[COOKIE]
    send(signed_out, "/sign-out")
    asyncio.run(request(client, shops))
    for made_up in ("x", session[:-2], ended, signed_out.cookies[COOKIE], ann.key):
        reads.clear()
        assert asyncio.run(request(client, shops, {COOKIE: made_up, "other": "1"})).status_code == 200
        assert len(reads) <= READS_OF_A_SESSION, made_up
    reads.clear()
    asyncio.run(request(client, shops, {COOKIE: session}))
    assert len(reads) > COUNT


def test_a_large_status_page_is_read_and_rendered_in_slices_so_that_the_loop_goes_on(client, shops):
    """CPU time between two turns of another task, not wall time: other programs may keep the machine busy."""

    async def measure():
        longest, turns, running = 0.0, 0, True

        async def take_turns():
            nonlocal longest, turns
            while running:
                before = time.thread_time()
                await asyncio.sleep(0)
                longest, turns = max(longest, time.thread_time() - before), turns + 1

        other = asyncio.create_task(take_turns())
        before = time.process_time()
        await request(client, shops)
        running = False
        await other
        return longest, turns, time.process_time() - before

    gc.collect()
    gc.disable()  # a collection of all that the tests have loaded takes longer than any slice
    try:
        longest, turns, whole = asyncio.run(measure())
    finally:
        gc.enable()
    assert turns > COUNT // 16 * 3, "at least one for each read of sixteen checks that are read at the same time"
    assert longest < whole / 3, "neither the reads nor the template are one piece"
