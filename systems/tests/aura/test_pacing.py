"""The pace of requests, with a clock that the test moves."""

import asyncio
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from hashrange_systems.aura.service.pacing import (
    MAX_CRAWL_DELAY_S,
    MAX_WAIT_S,
    Pace,
    SharedPaces,
    choose_delay,
    parse_retry_after,
)

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)


class Time:
    def __init__(self):
        self.now = 100.0

    async def sleep(self, seconds):
        self.now += seconds
        await asyncio.sleep(0)


def starts(pace, time, count):
    async def run():
        async def one():
            await pace.enter()
            return time.now

        return sorted(await asyncio.gather(*(one() for _ in range(count))))

    return asyncio.run(run())


def test_requests_start_at_least_one_delay_apart():
    time = Time()
    found = starts(Pace(2.0, lambda: time.now, time.sleep), time, 5)
    assert all(later - earlier >= 2 for earlier, later in pairwise(found))


def test_without_a_delay_nothing_waits():
    time = Time()
    assert starts(Pace(0.0, lambda: time.now, time.sleep), time, 3) == [100.0] * 3


def test_a_server_that_asks_to_wait_gets_its_time_and_more_each_time():
    time = Time()
    pace = Pace(1.0, lambda: time.now, time.sleep)
    assert pace.hold(30) == 30
    assert starts(pace, time, 1) == [130.0]
    assert (pace.hold(None), pace.hold(None)) == (10.0, 20.0)
    pace.release()
    assert pace.hold(None) == 5.0
    assert pace.hold(10**9) == MAX_WAIT_S


@pytest.mark.parametrize(
    ("own", "asked", "kept"), [(1, None, 1), (1, 5, 5), (5, 1, 5), (1, 86400, MAX_CRAWL_DELAY_S), (60, 5, 60)]
)
def test_the_longer_pause_is_kept_and_an_absurd_one_is_capped(own, asked, kept):
    assert choose_delay(own, asked) == kept


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (None, None),
        ("120", 120),
        ("Thu, 15 Jan 2026 12:01:00 GMT", 60),
        ("Thu, 15 Jan 2026 11:00:00 GMT", 0),
        ("soon", None),
        ("-5", None),
        ("9" * 400, 10**6),
    ],
)
def test_retry_after_is_a_number_or_a_date(text, seconds):
    assert parse_retry_after(text, NOW) == seconds


def test_a_pace_belongs_to_a_shop_in_both_spellings_while_it_is_used():
    paces = SharedPaces()
    pace = paces.find("www.antik.de")
    pace.delay_s = 5.0
    assert paces.find("antik.de") is pace
    assert paces.find("other.de") is not pace
    del pace
    assert paces.find("antik.de").delay_s == 0.0
