"""Reads of several classes: one list in key order, in both directions, page by page, with few requests."""

import asyncio
from typing import Protocol

import pytest

import hashrange
from hashrange import Ge, Get, Gsi, Item, Key, Latest, Le, Patterns, Query, Table, Unreadable, ValueInvalid, via
from tests.unit.session.conftest import InterceptingTransport

table = Table("mailbox", "pk", "sk", deletion_protection=False, indexes=[Gsi("ByDay", "day_pk", "day")])


class Note(Item, table=table, pk="BOX#{box}", sk="NOTE#{number:03d}", day_pk="NOTES#{box}"):
    box: Key[str]
    number: Key[int]
    day: int


class Mail(Item, table=table, pk="BOX#{box}", sk="MAIL#{number:03d}", day_pk="MAILS#{box}"):
    box: Key[str]
    number: Key[int]
    day: int


class Meta(Item, table=table, pk="BOX#{box}", sk="META#"):
    box: Key[str]


class Mailbox(Patterns, Protocol):
    def entries(self, box: str) -> Query[Note | Mail]: ...
    def latest(self, box: str) -> Latest[Mail | Note]: ...
    def first_numbers(self, box: str, number: Le[int]) -> Query[Note | Mail]: ...
    @via("ByDay")
    def by_day(self, box: str) -> Query[Note | Mail]: ...
    @via("ByDay")
    def by_day_down(self, box: str) -> Latest[Note | Mail]: ...
    def from_day(self, box: str, day: Ge[int]) -> Query[Note | Mail]: ...


@pytest.fixture
def database():
    with hashrange.open() as opened:
        hashrange.create_tables(opened, Mailbox)
        yield opened


@pytest.fixture
def db(database):
    opened = Mailbox.open(database)
    opened.batch(
        [
            Meta(box="a"),
            *(Note(box="a", number=n, day=n * 3) for n in range(5)),
            *(Mail(box="a", number=n, day=n * 2 - 9) for n in range(9)),
        ]
    ).run()
    return opened


def shown(items):
    return [(type(item).__name__, item.number) for item in items]


ENTRIES = [*(("Mail", n) for n in range(9)), *(("Note", n) for n in range(5))]
BY_DAYS = sorted(
    [*((n * 3, "Note", n) for n in range(5)), *((n * 2 - 9, "Mail", n) for n in range(9))], key=lambda one: one[0]
)


def read_pages(query, size):
    found, cursor = [], None
    while True:
        page = query.page(size, after=cursor).run()
        found += page.items
        cursor = page.cursor
        if cursor is None:
            return found
        assert len(page) == size


def test_a_union_comes_in_key_order_and_not_in_the_order_of_its_classes(db):
    assert shown(db.entries("a")) == ENTRIES
    assert shown(db.latest("a")) == ENTRIES[::-1]
    assert shown([db.entries("a").first().run()]) == ENTRIES[:1]
    assert shown([db.latest("a").first().run()]) == ENTRIES[-1:]
    assert shown(db.first_numbers("a", 1)) == [("Mail", 0), ("Mail", 1), ("Note", 0), ("Note", 1)]


def test_partitions_of_an_index_are_merged_by_sort_key(db):
    expected = [(name, n) for _, name, n in BY_DAYS]
    days = [item.day for item in db.by_day("a")]
    assert days == [day for day, _, _ in BY_DAYS]
    assert sorted(shown(db.by_day("a"))) == sorted(expected)
    assert [item.day for item in db.by_day_down("a")] == days[::-1]
    assert [item.day for item in db.by_day("a").limit(4)] == days[:4]
    assert [item.day for item in db.from_day("a", 0)] == [day for day in days if day >= 0]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 13, 14, 15])
def test_pages_continue_in_every_request_of_a_union(db, size):
    assert shown(read_pages(db.entries("a"), size)) == ENTRIES
    assert shown(read_pages(db.latest("a"), size)) == ENTRIES[::-1]
    assert read_pages(db.by_day("a"), size) == db.by_day("a").run()
    assert read_pages(db.by_day_down("a"), size) == db.by_day_down("a").run()


def test_a_union_is_merged_on_an_event_loop_too(db):
    async def use():
        return [item async for item in db.by_day("a")], await db.by_day("a").page(4)

    items, page = asyncio.run(use())
    assert items == db.by_day("a").run()
    assert list(page) == items[:4]


def test_a_request_is_sent_when_its_items_may_come_next(database, db):
    transport = InterceptingTransport(database, lambda operation, request, go: go(operation, request))
    bound = Mailbox.open(transport)
    assert bound.entries("a").first().run() == db.entries("a").first().run()
    assert len(transport.calls) == 1
    read_pages(bound.latest("a"), 3)
    assert len(transport.calls) == 1 + 6  # five pages, and one more request where the notes end


orders = Table("orders", "pk", "sk", deletion_protection=False, indexes=[Gsi("ByCity", "city", "sk")])


class Order(Item, table=orders, pk="SHOP#{shop}", sk="ORDER#{number:03d}"):
    shop: Key[str]
    number: Key[int]
    city: str
    closed: str


class OpenOrder(Order):
    closed: None  # the field that the base class requires


class Orders(Patterns, Protocol):
    def all_of(self, shop: str) -> Query[Order | OpenOrder]: ...
    def either(self, shop: str, number: int) -> Get[OpenOrder | Order]: ...
    def open_of(self, shop: str) -> Query[OpenOrder]: ...
    def base_of(self, shop: str) -> Query[Order]: ...
    def in_city(self, city: str) -> Query[Order | OpenOrder]: ...


def test_a_variant_may_differ_from_its_base_class_only_by_a_field_that_it_lacks():
    with hashrange.open() as database:
        hashrange.create_tables(database, Orders)
        db = Orders.open(database)
        is_open = OpenOrder(shop="a", number=1, city="Graz", closed=None)
        closed = Order(shop="a", number=2, city="Graz", closed="2026")
        db.batch([is_open, closed]).run()
        assert db.all_of("a").run() == db.base_of("a").run() == db.in_city("Graz").run() == [is_open, closed]
        assert db.open_of("a").run() == [is_open]
        assert (db.either("a", 1).run(), db.either("a", 2).run()) == (is_open, closed)
        assert db.all_of("a").count().run() == 2
        assert db.open_of("a").count().run() == 1


visits = Table("visits", "pk", "sk", deletion_protection=False)


class Visit(Item, table=visits, pk="VISITS#{shop}", sk="VISIT#{number:03d}"):
    shop: Key[str]
    number: Key[int]
    guest: str
    left: str | None = None


class PastVisit(Visit):
    left: str  # the field that the base class may lack


class RatedVisit(PastVisit):
    stars: int


class Visits(Patterns, Protocol):
    def past(self, shop: str) -> Query[PastVisit]: ...
    def rated(self, shop: str) -> Query[RatedVisit]: ...
    def one_past(self, shop: str, number: int) -> Get[PastVisit]: ...


def test_a_query_of_a_variant_passes_over_items_that_lack_only_the_fields_which_it_requires():
    with hashrange.open() as database:
        hashrange.create_tables(database, Visits)
        db = Visits.open(database)
        present = Visit(shop="a", number=1, guest="ann")
        past = PastVisit(shop="a", number=2, guest="bob", left="10:00")
        rated = RatedVisit(shop="a", number=3, guest="eve", left="11:00", stars=5)
        db.batch([present, past, rated]).run()
        assert db.past("a").run() == [past, rated]
        assert db.past("a").count().run() == 2
        assert [one.number for one in db.past("a").page(1).run().items] == [2]
        assert db.rated("a").run() == [rated]
        assert (db.one_past("a", 1).run(), db.one_past("a", 2).run()) == (None, past)
        assert "check   PastVisit has left" in db.past("a").explain()


def test_an_item_that_lacks_what_every_class_requires_stays_unreadable():
    with hashrange.open() as database:
        hashrange.create_tables(database, Visits)
        db = Visits.open(database)
        raw = {"pk": {"S": "VISITS#a"}, "sk": {"S": "VISIT#004"}, "left": {"S": "12:00"}}
        database.call("PutItem", {"TableName": "visits", "Item": raw})
        with pytest.raises(Unreadable, match="needs guest"):
            db.past("a").run()


def test_only_takes_a_class_of_the_union_and_refuses_others(db):
    with pytest.raises(ValueInvalid, match=r"^Mailbox.entries reads no Meta: only\(\) takes one of Note, Mail$"):
        db.entries("a").only(Meta)
    with pytest.raises(ValueInvalid, match=r"reads no Mail: only\(\) takes one of Note$"):
        db.entries("a").only(Note).only(Mail)


def test_only_a_class_above_those_of_the_union_reads_no_others(db):
    assert db.entries("a").only(Item).run() == db.entries("a").run()
