"""Writes: create, put, updates, transactions, batches, versions, and the conflicts that they can end in."""

import asyncio
import gc
import warnings
from datetime import UTC, datetime

import pytest

from hashrange import (
    Conflict,
    NeverRun,
    NotFound,
    Taken,
    TransactionCanceledException,
    ValueInvalid,
    WrittenUnreadable,
)
from hashrange.session import transact
from tests.unit.session.library import Book, Copy, Library, Novel, Reader

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)
SOLARIS = Book(isbn="1", author="Lem", title="Solaris", shelf="A", pages=204)


@pytest.fixture
def book(db):
    return db.create(SOLARIS).run()


def test_create_of_an_existing_key_raises_taken_with_the_current_item(db, book):
    with pytest.raises(Taken) as taken:
        db.create(Novel(isbn="1", author="x", title="y")).run()
    assert taken.value.current == book


def test_put_replaces_the_whole_item(db, book):
    db.put(Book(isbn="1", author="Lem", title="Fiasko")).run()
    assert db.book("1").run() == Book(isbn="1", author="Lem", title="Fiasko")


def test_an_update_of_a_missing_item_raises_not_found(db):
    with pytest.raises(NotFound):
        db.retitle("1", "x").run()
    assert db.book("1").run() is None


def test_an_update_returns_the_whole_item(db, book):
    assert db.retitle("1", "Fiasko").run() == book.model_copy(update={"title": "Fiasko"})


def test_an_omitted_argument_keeps_the_attribute_and_none_removes_it(db, book):
    assert db.edit("1", title="a").run().shelf == "A"
    assert db.edit("1", shelf=None).run() == book.model_copy(update={"title": "a", "shelf": None})
    assert db.on_shelf("A").run() == []
    assert db.edit("1", shelf="B").run().shelf == "B"
    assert [view.isbn for view in db.on_shelf("B")] == ["1"]
    assert db.edit("1").run().title == "a"


def test_sets_are_added_to_deleted_from_and_removed_when_empty(db, book):
    assert db.add_tags("1", {"a", "b"}).run().tags == {"a", "b"}
    assert db.drop_tags("1", {"a"}).run().tags == {"b"}
    assert db.drop_tags("1", {"b"}).run().tags == set()
    assert db.tag("1", {"z"}).run().tags == {"z"}
    assert db.tag("1", set()).run().tags == set()


def test_lists_are_appended_to(db, book):
    db.note("1", ["a"]).run()
    assert db.note("1", ["b", "c"]).run().notes == ["a", "b", "c"]


def test_a_version_makes_the_second_writer_lose(db, clock):
    first = db.create(Reader(name="ann", email="a@b.c")).run()
    clock.advance(60)
    renamed = db.rename(first, email="x@y.z").run()
    assert (renamed.version, renamed.changed_at) == (1, NOON.replace(minute=1))
    with pytest.raises(Conflict) as lost:
        db.rename(first, email="q@y.z").run()
    assert lost.value.current == renamed
    with pytest.raises(Conflict):
        db.put(first.model_copy(update={"email": "stale"})).run()
    assert db.put(renamed.model_copy(update={"email": "fresh"})).run().version == 2
    assert db.reader("ann").run().email == "fresh"


def test_a_counter_stops_at_its_condition(db):
    db.visit("ann", email="a@b.c", loans=1).run()
    assert db.lend("ann", loans=1, most=2).run().loans == 2
    with pytest.raises(Conflict):
        db.lend("ann", loans=1, most=2).run()


def test_upsert_creates_and_then_counts(db):
    assert db.visit("ann", email="a@b.c", loans=1).run().loans == 1
    found = db.visit("ann", email="n@b.c", loans=1).run()
    assert (found.loans, found.email, found.version) == (2, "n@b.c", 2)


def test_delete_returns_the_deleted_item(db, book):
    with pytest.raises(Conflict):
        db.forget_by("1", author="Kafka").run()
    assert db.forget_by("1", author="Lem").run() == book
    assert db.forget("1").run() is None


def test_a_value_that_does_not_fit_its_field_is_refused_before_it_is_sent(db, book):
    with pytest.raises(ValueInvalid, match="title"):
        db.retitle("1", 5)
    with pytest.raises(TypeError, match="needs title"):
        db.retitle("1")
    with pytest.raises(TypeError, match="does not take 'name'"):
        db.retitle("1", name="x")
    assert db.book("1").run() == book


def test_an_empty_key_and_a_delimiter_in_a_key_are_refused(db):
    with pytest.raises(ValueInvalid, match="empty"):
        db.book("").run()
    with pytest.raises(ValueInvalid, match="4 digits"):
        db.create(Copy(isbn="1", number=10_000, place="p", seen=NOON)).run()


def test_a_transaction_returns_the_result_of_each_write(db, book):
    reader = Reader(name="ann", email="a@b.c")
    changed, created, gone = db.transact(db.retitle("1", "Fiasko"), db.create(reader), db.forget("2")).run()
    assert (changed.title, created, gone) == ("Fiasko", reader, None)


def test_a_transaction_happens_whole_or_not_at_all(db, book):
    with pytest.raises(Taken) as taken:
        db.transact(db.create(Reader(name="ann", email="x")), db.create(Novel(isbn="1", author="a", title="b"))).run()
    assert taken.value.current == book
    assert db.reader("ann").run() is None
    with pytest.raises(Conflict):
        db.transact(db.still_by("1", author="Kafka"), db.create(Reader(name="ann", email="x"))).run()
    db.transact(db.still_by("1", author="Lem"), db.create(Reader(name="ann", email="x"))).run()
    assert db.book("1").run() == book
    assert db.reader("ann").run() is not None


def test_a_transaction_can_skip_reading_its_results(intercept, book):
    bound, transport = intercept(lambda operation, request, go: go(operation, request))
    assert (
        bound.transact(bound.retitle("1", "Fiasko"), bound.create(Reader(name="ann", email="x"))).unread().run() is None
    )
    assert [operation for operation, _ in transport.calls] == ["TransactWriteItems"]
    assert bound.book("1").run().title == "Fiasko"


def cancel_reads(times):
    left = [times]

    def intercepted(operation, request, go):
        if operation == "TransactGetItems" and left[0]:
            left[0] -= 1
            raise TransactionCanceledException([{"Code": "TransactionConflict"}])
        return go(operation, request)

    return intercepted


def test_results_that_another_transaction_writes_are_read_again(intercept, book):
    bound, transport = intercept(cancel_reads(2))
    changed, _ = bound.transact(bound.retitle("1", "Fiasko"), bound.create(Reader(name="ann", email="x"))).run()
    assert changed.title == "Fiasko"
    assert [operation for operation, _ in transport.calls] == ["TransactWriteItems", *["TransactGetItems"] * 3]


def test_a_transaction_whose_results_cannot_be_read_says_that_it_has_happened(intercept, book, monkeypatch):
    monkeypatch.setattr(transact, "backoff", lambda: iter([0.0, 0.0]))
    bound, transport = intercept(cancel_reads(1000))
    with pytest.raises(WrittenUnreadable, match=r"written, but the results cannot be read: .*TransactionConflict"):
        bound.transact(bound.retitle("1", "Fiasko"), bound.create(Reader(name="ann", email="x"))).run()
    assert [operation for operation, _ in transport.calls].count("TransactWriteItems") == 1
    assert bound.book("1").run().title == "Fiasko"


def test_a_state_that_only_its_key_identifies_is_checked(db, book):
    with pytest.raises(Conflict):
        db.transact(db.still_novel("1"), db.create(Reader(name="ann", email="x"))).run()
    with pytest.raises(Conflict):
        db.forget_novel("1").run()
    db.put(Novel(isbn="1", author="Lem", title="Solaris")).run()
    db.transact(db.still_novel("1"), db.create(Reader(name="ann", email="x"))).run()
    assert db.forget_novel("1").run() == Novel(isbn="1", author="Lem", title="Solaris")


def test_an_ensure_alone_is_refused(db):
    with pytest.raises(ValueInvalid, match="transact"):
        db.still_by("1", author="Lem").run()


def test_writes_can_be_awaited(db):
    async def use():
        created = await db.create(SOLARIS)
        return created, await db.retitle("1", "Fiasko"), await db.transact_all([db.retitle("1", "c")])

    created, changed, (last,) = asyncio.run(use())
    assert (created.title, changed.title, last.title) == ("Solaris", "Fiasko", "c")


def test_a_write_can_be_explained_without_being_run(db):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert "SET title = {title}" in db.retitle("1", "x").explain()
        gc.collect()
    assert caught == []


def test_a_secret_that_can_be_guessed_is_refused_at_once(database):
    with pytest.raises(ValueInvalid, match="at least 16"):
        Library.open(database, secret="short")


def test_a_write_that_is_never_run_causes_a_warning(db):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        db.retitle("1", "x")
        gc.collect()
    assert [w.category for w in caught] == [NeverRun]
    assert "Library.retitle" in str(caught[0].message)


@pytest.mark.parametrize(
    "build",
    [
        lambda db: db.retitle("1", "x").returning_old(),
        lambda db: db.put(SOLARIS).returning_old(),
        lambda db: db.transact(db.retitle("1", "x")).unread(),
    ],
    ids=["update returning old", "put returning old", "unread transaction"],
)
def test_a_write_with_another_result_that_is_never_run_causes_a_warning(db, build):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        build(db)
        gc.collect()
    assert [w.category for w in caught] == [NeverRun]


def test_unprocessed_writes_and_keys_are_sent_again(db, intercept, monkeypatch):
    monkeypatch.setattr("hashrange.session.steps.FIRST_DELAY", 0.0001)

    def half(operation, request, go):
        if operation not in {"BatchWriteItem", "BatchGetItem"}:
            return go(operation, request)
        items = request["RequestItems"]["library"]
        rows = items if isinstance(items, list) else items["Keys"]
        kept, left = rows[: (len(rows) + 1) // 2], rows[(len(rows) + 1) // 2 :]
        response = go(operation, {"RequestItems": {"library": kept if isinstance(items, list) else {"Keys": kept}}})
        member = "UnprocessedItems" if operation == "BatchWriteItem" else "UnprocessedKeys"
        response[member] = {"library": left if isinstance(items, list) else {"Keys": left}} if left else {}
        return response

    bound, transport = intercept(half)
    bound.batch([Book(isbn=f"{n}", author="a", title="t") for n in range(60)]).run()
    found = bound.fetch([bound.book(f"{n}") for n in range(60)]).run()
    assert all(found)
    assert len(transport.calls) > 12


def test_a_batch_that_stays_unprocessed_raises(intercept, monkeypatch):
    monkeypatch.setattr("hashrange.session.steps.FIRST_DELAY", 0.0)
    bound, transport = intercept(lambda operation, request, go: {"UnprocessedItems": request["RequestItems"]})
    with pytest.raises(Exception, match="left unprocessed"):
        bound.batch([SOLARIS]).run()
    assert len(transport.calls) == 13


def test_hooks_are_called_after_every_operation(database):
    events = []
    db = Library.open(database, hooks=[events.append])
    db.create(SOLARIS).run()
    with pytest.raises(Taken):
        db.create(SOLARIS).run()
    asyncio.run(_await(db.book("1")))
    assert [event.operation for event in events] == ["PutItem", "PutItem", "GetItem"]
    assert events[0].capacity["CapacityUnits"] >= 1
    assert type(events[1].error).__name__ == "ConditionalCheckFailedException"
    assert events[2].pattern == "Library.book"
    assert all(event.table == "library" and event.seconds >= 0 for event in events)


async def _await(operation):
    return await operation
