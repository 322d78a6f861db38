"""Parallel scans: the segments together are the table, and the requests in flight are bounded."""

import asyncio
import threading

import pytest

from hashrange import ThrottlingException
from tests.unit.session.library import Book, Copy
from tests.unit.session.test_reads import NOON


@pytest.fixture
def books(db):
    items = [Book(isbn=f"{n:03}", author="Lem", title="t", notes=["x" * 8000]) for n in range(400)]
    db.batch(items).run()
    db.batch([Copy(isbn=f"{n}", number=n, place="p", seen=NOON) for n in range(20)]).run()
    return {book.isbn for book in items}


def isbns(found):
    return [book.isbn for book in found]


@pytest.mark.parametrize("segments", [1, 2, 7])
def test_all_segments_together_are_the_table(db, books, segments):
    scan = db.all_books().parallel(segments)
    assert sorted(isbns(scan.run())) == sorted(isbns(scan)) == sorted(books)


def test_a_parallel_scan_is_awaited_and_iterated_on_an_event_loop(db, books):
    async def use():
        scan = db.all_books().parallel(3)
        return await scan, [book async for book in scan]

    awaited, iterated = asyncio.run(use())
    assert sorted(isbns(awaited)) == sorted(isbns(iterated)) == sorted(books)


class Gauge:
    """Counts how many requests are in flight."""

    def __init__(self):
        self.lock, self.now, self.most, self.segments = threading.Lock(), 0, 0, set()

    def __call__(self, operation, request, go):
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
            self.segments.add((request.get("Segment"), request.get("TotalSegments")))
        try:
            return go(operation, request)
        finally:
            with self.lock:
                self.now -= 1


def test_no_more_requests_are_in_flight_than_workers(intercept, books):
    gauge = Gauge()
    bound, _ = intercept(gauge)
    assert len(bound.all_books().parallel(6, workers=2).run()) == 400
    assert gauge.segments == {(n, 6) for n in range(6)}
    assert gauge.most <= 2


def test_a_limit_and_a_reader_that_stops_end_the_scan(intercept, books):
    gauge = Gauge()
    bound, transport = intercept(gauge)
    assert len(bound.all_books().limit(30).parallel(4).run()) == 30
    assert len(transport.calls) <= 8
    threads = threading.active_count()
    for _ in bound.all_books().parallel(4):
        break
    assert (gauge.now, threading.active_count()) == (0, threads)


def test_a_limit_holds_on_an_event_loop(db, books):
    async def use():
        return await db.all_books().limit(30).parallel(4), [book async for book in db.all_books().limit(3).parallel(2)]

    some, few = asyncio.run(use())
    assert (len(some), len(few)) == (30, 3)


def test_the_error_of_a_segment_is_raised(intercept, books):
    def fail(operation, request, go):
        if request.get("Segment") == 2:
            raise ThrottlingException("too fast")
        return go(operation, request)

    bound, _ = intercept(fail)
    with pytest.raises(ThrottlingException):
        bound.all_books().parallel(4).run()

    async def use():
        return await bound.all_books().parallel(4)

    with pytest.raises(ThrottlingException):
        asyncio.run(use())


def test_segments_and_workers_have_bounds(db):
    for segments, workers in [(0, None), (1_000_001, None), (4, 0)]:
        with pytest.raises(ValueError, match="a parallel scan has"):
            db.all_books().parallel(segments, workers=workers)
