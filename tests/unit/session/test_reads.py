"""Reads: what each pattern finds, full pages, signed cursors, expired items."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hashrange
from hashrange import Conflict, CursorInvalid, Missing, NeverRun, NotFound, Page, Unreadable, ValueInvalid
from tests.unit.session.library import Book, Copy, Library, Loan, Novel, Reader, Shelved

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)


def numbers(copies):
    return [copy.number for copy in copies]


@pytest.fixture
def copies(db):
    db.batch([Copy(isbn="1", number=n, place=f"p{n % 3}", seen=NOON) for n in range(1, 41)]).run()
    db.create(Book(isbn="1", author="Lem", title="Solaris", shelf="A", pages=200)).run()


def test_get_returns_none_for_a_missing_item(db):
    assert db.book("1").run() is None
    with pytest.raises(NotFound):
        db.book("1").required().run()


def test_get_of_a_variant_returns_none_for_another_variant(db):
    db.create(Book(isbn="1", author="a", title="t")).run()
    db.create(Novel(isbn="2", author="a", title="t")).run()
    assert db.novel("1").run() is None
    assert db.novel("2").run() == db.book("2").run()
    assert type(db.book("2").run()) is Novel


@pytest.mark.usefixtures("copies")
def test_ranges_inside_a_composite_key_are_exact(db):
    assert numbers(db.copies("1")) == list(range(1, 41))
    assert numbers(db.copies_from("1", 39)) == [39, 40]
    assert numbers(db.copies_after("1", 39)) == [40]
    assert numbers(db.copies_before("1", 3)) == [1, 2]
    assert numbers(db.copies_to("1", 3)) == [1, 2, 3]
    assert numbers(db.copies_between("1", (5, 7))) == [5, 6, 7]
    assert numbers(db.copies_at("1", "p0")) == list(range(3, 41, 3))


def test_ranges_over_a_field_in_the_middle_of_a_key_are_exact(db):
    times = [NOON + timedelta(seconds=n) for n in range(4)]
    for at in times:
        for reader in ("a", "z"):
            db.create(Loan(isbn="1", at=at, reader=reader, until=NOON + timedelta(days=9))).run()
    assert [loan.at for loan in db.loans_until("1", times[1])] == [times[0], times[0], times[1], times[1]]
    assert [loan.at for loan in db.loans_before("1", times[1])] == [times[0], times[0]]
    assert [loan.at for loan in db.loans_after("1", times[2])] == [times[3], times[3]]
    assert [loan.at for loan in db.loans("1").limit(2)] == [times[3], times[3]]


@settings(max_examples=60, deadline=None)
@given(bound=st.integers(-2_000_000, 6_000_000))
def test_a_time_more_precise_than_the_stored_one_is_compared_exactly(bound):
    at = NOON + timedelta(microseconds=bound)
    with hashrange.open() as database:
        hashrange.create_tables(database, Library)
        db = Library.open(database, clock=hashrange.ManualClock(NOON.timestamp()))
        stored = [NOON + timedelta(seconds=n) for n in range(5)]
        db.batch([Loan(isbn="1", at=moment, reader="a", until=NOON + timedelta(days=1)) for moment in stored]).run()
        assert [loan.at for loan in db.loans_until("1", at)] == [moment for moment in stored if moment <= at]
        assert [loan.at for loan in db.loans_before("1", at)] == [moment for moment in stored if moment < at]
        assert [loan.at for loan in db.loans_after("1", at)] == [moment for moment in stored if moment > at]


@pytest.mark.usefixtures("copies")
def test_items_of_several_classes_are_distinguished_and_narrowed(db):
    kinds = {type(found) for found in db.everything("1")}
    assert kinds == {Book, Copy}
    assert db.everything("1").only(Book).run() == [db.book("1").run()]
    assert "begins_with(sk, 'COPY#')" in db.everything("1").only(Copy).explain()


@pytest.mark.usefixtures("copies")
def test_one_query_is_iterated_awaited_and_run(db):
    async def use():
        return [copy async for copy in db.copies("1")], await db.copies("1"), await db.book("1")

    iterated, awaited, book = asyncio.run(use())
    assert iterated == awaited == db.copies("1").run() == list(db.copies("1"))
    assert book == db.book("1").run()


@pytest.mark.usefixtures("copies")
def test_limit_and_first_read_no_more_than_they_need(db, intercept):
    bound, transport = intercept(lambda operation, request, go: go(operation, request))
    assert len(bound.by_author("Lem").limit(1).run()) == 1
    assert db.copies("1").first().run().number == 1
    assert db.copies("none").first().run() is None
    assert {operation for operation, _ in transport.calls} == {"DescribeTable", "Query"}
    assert [request["Limit"] for operation, request in transport.calls if operation == "Query"] == [1]


def test_a_page_is_full_although_a_filter_drops_most_items(db):
    kinds = ["novel" if n % 10 == 0 else "other" for n in range(200)]
    db.batch([Book(isbn=f"{n:03}", author="Lem", title=f"t{n:03}", kind=kind) for n, kind in enumerate(kinds)]).run()
    query, seen, cursor = db.novels("Lem"), [], None
    while True:
        page = query.page(6, after=cursor).run()
        seen += [book.title for book in page.items]
        cursor = page.cursor
        if cursor is None:
            break
        assert len(page) == 6
    assert seen == [f"t{n:03}" for n in range(0, 200, 10)]


def test_the_last_full_page_has_no_cursor(db):
    db.batch([Copy(isbn="1", number=n, place="p", seen=NOON) for n in range(4)]).run()
    first = db.copies("1").page(2).run()
    last = db.copies("1").page(2, after=first.cursor).run()
    assert numbers(last) == [2, 3]
    assert last.cursor is None


@pytest.mark.usefixtures("copies")
def test_a_cursor_belongs_to_its_pattern_parameters_and_secret(db, database):
    cursor = db.copies("1").page(3).run().cursor
    assert numbers(db.copies("1").page(2, after=cursor).run()) == [4, 5]
    for query in (db.copies("2"), db.copies_from("1", 1), Library.open(database).copies("1")):
        with pytest.raises(CursorInvalid):
            query.page(3, after=cursor).run()
    with pytest.raises(CursorInvalid):
        db.copies("1").page(3, after=cursor[:-2] + "AA").run()


def test_sessions_with_the_same_secret_share_cursors(database, monkeypatch):
    monkeypatch.setenv("HASHRANGE_SECRET", "x" * 32)
    one, other = Library.open(database), Library.open(database)
    one.batch([Copy(isbn="1", number=n, place="p", seen=NOON) for n in range(4)]).run()
    cursor = one.copies("1").page(1).run().cursor
    assert numbers(other.copies("1").page(1, after=cursor).run()) == [1]


def test_an_item_deleted_between_pages_does_not_stop_the_list(db):
    db.batch([Copy(isbn="1", number=n, place="p", seen=NOON) for n in range(6)]).run()
    page = db.copies("1").page(3).run()
    db.batch(delete=[page.items[-1]]).run()
    assert numbers(db.copies("1").page(3, after=page.cursor).run()) == [3, 4, 5]


def test_a_read_past_expired_items_asks_for_twice_as_many_each_time(intercept, clock):
    bound, transport = intercept(lambda operation, request, go: go(operation, request))
    ends = [NOON + timedelta(hours=1)] * 20 + [NOON + timedelta(days=1)]
    loans = [Loan(isbn="1", at=NOON + timedelta(minutes=n), reader="a", until=end) for n, end in enumerate(ends)]
    bound.batch(loans).run()
    clock.advance(7200)
    found = bound.loans_until("1", NOON + timedelta(days=1)).first().run()
    assert found == loans[-1]
    assert [request["Limit"] for operation, request in transport.calls if operation == "Query"] == [1, 1, 2, 4, 8, 16]


def test_expired_items_are_not_returned(db, clock):
    db.create(Loan(isbn="1", at=NOON, reader="a", until=NOON + timedelta(hours=1))).run()
    assert len(db.loans("1").run()) == 1
    clock.advance(3600)
    assert db.loans("1").run() == []
    assert db.loans("1").page(5).run().items == []


def test_a_narrow_index_returns_views_and_on_request_the_whole_items(db):
    books = [Book(isbn=f"{n}", author="Lem", title="t", shelf="A", pages=n * 100) for n in range(1, 4)]
    db.batch(books).run()
    assert db.on_shelf("A").run() == [Shelved(isbn=f"{n}", shelf="A", pages=n * 100) for n in range(1, 4)]
    assert db.thick("A", 200).whole().run() == [books[2], books[1]]
    assert db.on_shelf("A").whole().page(2).run().items == books[:2]


def test_an_item_without_a_required_attribute_is_unreadable(db, database):
    broken = {"pk": {"S": "BOOK#9"}, "sk": {"S": "BOOK"}, "title": {"S": "t"}}
    database.call("PutItem", {"TableName": "library", "Item": broken})
    with pytest.raises(Unreadable, match=r"BOOK#9.*needs author"):
        db.book("9").run()


def test_items_of_other_classes_in_a_partition_are_skipped(db, database):
    database.call("PutItem", {"TableName": "library", "Item": {"pk": {"S": "BOOK#1"}, "sk": {"S": "OTHER#1"}}})
    db.create(Book(isbn="1", author="a", title="t")).run()
    assert [type(found) for found in db.everything("1")] == [Book]


def test_many_gets_are_one_batch_in_the_same_order(db, intercept):
    db.batch([Book(isbn=f"{n}", author="a", title="t") for n in range(150)]).run()
    bound, transport = intercept(lambda operation, request, go: go(operation, request))
    wanted = [f"{n}" for n in range(149, -1, -1)] + ["none", "3"]
    found = bound.fetch([bound.book(isbn) for isbn in wanted]).run()
    assert [book.isbn if book else None for book in found] == [*wanted[:-2], None, "3"]
    assert [operation for operation, _ in transport.calls] == ["BatchGetItem", "BatchGetItem"]


def test_a_union_over_two_partitions_reads_both(db):
    book = db.create(Book(isbn="1", author="a", title="t")).run()
    reader = db.create(Reader(name="ann", email="a@b.c")).run()
    assert db.lent("1", "ann").run() == [book, reader]
    page = db.lent("1", "ann").page(1).run()
    assert list(page) == [book]
    assert list(db.lent("1", "ann").page(1, after=page.cursor).run()) == [reader]


def test_items_of_another_class_are_not_returned(db):
    db.create(Reader(name="1", email="a@b.c")).run()
    assert db.all_books().run() == []
    assert db.titled("Lem", "Sol").run() == []


def test_a_batch_of_gets_reads_consistently_what_was_asked_so(db, intercept):
    db.batch([Book(isbn=f"{n}", author="a", title="t") for n in range(4)]).run()
    bound, transport = intercept(lambda operation, request, go: go(operation, request))
    found = bound.fetch([bound.book("0").consistent(), bound.book("1"), bound.book("1").consistent()]).run()
    assert [book.isbn for book in found] == ["0", "1", "1"]
    requests = [request["RequestItems"]["library"] for _, request in transport.calls]
    read = {bool(part.get("ConsistentRead")): [key["pk"]["S"] for key in part["Keys"]] for part in requests}
    assert read == {True: ["BOOK#0", "BOOK#1"], False: ["BOOK#1"]}


def test_every_runnable_can_be_run_again(db):
    writing = db.batch([Book(isbn="1", author="a", title="t")])
    assert [writing.run(), writing.run()] == [1, 1]
    book = db.book("1").run()
    for runnable, result in [
        (db.book("1").required(), book),
        (db.fetch([db.book("1")]), [book]),
        (db.by_author("a").first(), book),
        (db.by_author("a").page(2), Page([book], None)),
    ]:
        assert [runnable.run(), runnable.run()] == [result, result]
    writing = db.transact(db.put(book)).unread()
    assert [writing.run(), writing.run()] == [None, None]


def test_a_batch_that_is_never_run_warns(db):
    with pytest.warns(NeverRun, match="batch was built and never run"):
        db.batch([Book(isbn="1", author="a", title="t")])
    with pytest.warns(NeverRun, match="batch was built and never run"):
        db.batch(delete=[Book(isbn="1", author="a", title="t")])


@pytest.mark.usefixtures("copies")
def test_a_limit_holds_for_the_pages_together(db):
    limited = db.copies("1").limit(3).page(7).run()
    assert (numbers(limited), limited.cursor) == ([1, 2, 3], None)
    query = db.copies("1").limit(10)
    first = query.page(7).run()
    assert numbers(first) == [1, 2, 3, 4, 5, 6, 7]
    last = query.page(7, after=first.cursor).run()
    assert (numbers(last), last.cursor) == ([8, 9, 10], None)
    exact = query.page(10).run()
    assert (len(exact), exact.cursor) == (10, None)
    assert query.limit(7).page(7, after=first.cursor).run() == Page([], None)
    assert query.limit(0).page(7).run() == Page([], None)


def test_a_limit_is_not_negative(db):
    with pytest.raises(ValueError, match="at most -1 items"):
        db.copies("1").limit(-1)


def test_a_read_that_finds_nothing_is_no_conflict(db):
    with pytest.raises(NotFound) as read:
        db.book("1").required().run()
    assert not isinstance(read.value, Conflict)
    with pytest.raises(Missing) as written:
        db.retitle("1", "t").run()
    assert isinstance(written.value, Conflict)
    assert isinstance(written.value, NotFound)
    assert written.value.current is None


def test_gets_of_another_database_are_refused(db):
    with hashrange.open() as elsewhere:
        hashrange.create_tables(elsewhere, Library)
        other = Library.open(elsewhere)
        with pytest.raises(ValueInvalid, match=r"Library\.book reads another database"):
            db.fetch([db.book("1"), other.book("1")])
    with pytest.raises(ValueInvalid, match=r"Library\.copies is not a Get"):
        db.fetch([db.copies("1")])
