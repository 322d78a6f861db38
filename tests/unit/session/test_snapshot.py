"""Transactional reads: several Gets at one moment."""

import asyncio

import pytest

import hashrange
from hashrange import TransactionCanceledException, ValueInvalid
from tests.unit.session.library import Book, Library, Reader


@pytest.fixture
def stored(db):
    return db.transact(
        db.create(Book(isbn="1", author="Lem", title="Solaris")), db.create(Reader(name="ann", email="a@b.c"))
    ).run()


def test_items_of_several_classes_are_read_in_one_request(db, intercept, stored):
    bound, transport = intercept(lambda operation, request, go: go(operation, request))
    found = bound.snapshot(bound.book("1"), bound.reader("ann"), bound.novel("1"), bound.book("none")).run()
    assert found == (*stored, None, None)
    assert [operation for operation, _ in transport.calls] == ["TransactGetItems"]
    keys = [get["Get"]["Key"]["pk"]["S"] for get in transport.calls[0][1]["TransactItems"]]
    assert keys == ["BOOK#1", "READER#ann", "BOOK#none"]  # the same item twice is one Get


def test_many_gets_are_a_list(db, stored):
    found = db.snapshot_all([db.book(f"{n}") for n in range(100)]).run()
    assert [book and book.title for book in found] == [None, "Solaris", *[None] * 98]
    with pytest.raises(ValueInvalid, match="1 to 100 Gets, not 101"):
        db.snapshot_all([db.book(f"{n}") for n in range(101)])
    with pytest.raises(ValueInvalid, match="not 0"):
        db.snapshot_all([])


def test_a_snapshot_is_awaited_and_run_again(db, stored):
    reading = db.snapshot(db.book("1"), db.reader("ann"))

    async def use():
        return await reading

    assert asyncio.run(use()) == reading.run() == stored


def test_a_snapshot_takes_gets_of_this_database_only(db):
    with hashrange.open() as elsewhere, pytest.raises(ValueInvalid, match="reads another database"):
        db.snapshot(Library.open(elsewhere).book("1"))
    with pytest.raises(ValueInvalid, match=r"Library\.copies is not a Get"):
        db.snapshot(db.copies("1"))


def cancel(times, code):
    left = [times]

    def intercepted(operation, request, go):
        if operation == "TransactGetItems" and left[0]:
            left[0] -= 1
            raise TransactionCanceledException([{"Code": code}])
        return go(operation, request)

    return intercepted


def test_a_snapshot_that_meets_a_transaction_is_read_again(intercept, stored):
    bound, transport = intercept(cancel(3, "TransactionConflict"))
    assert bound.snapshot(bound.book("1")).run() == stored[:1]
    assert len(transport.calls) == 4


def test_another_reason_is_raised(intercept, stored):
    bound, transport = intercept(cancel(1, "ValidationError"))
    with pytest.raises(TransactionCanceledException):
        bound.snapshot(bound.book("1")).run()
    assert len(transport.calls) == 1


def test_a_snapshot_never_shows_half_of_a_transaction(db, database):
    """Write two books in transactions, and read both meanwhile: their titles are always the same."""
    from concurrent.futures import ThreadPoolExecutor

    def write():
        for n in range(60):
            both = [db.put(Book(isbn=isbn, author="a", title=f"{n}")) for isbn in ("1", "2")]
            db.transact_all(both).unread().run()

    def read():
        return [db.snapshot(db.book("1"), db.book("2")).run() for _ in range(60)]

    with ThreadPoolExecutor(2) as pool:
        writing, reading = pool.submit(write), pool.submit(read)
        writing.result()
        seen = {(one and one.title, other and other.title) for one, other in reading.result()}
    assert all(one == other for one, other in seen)
