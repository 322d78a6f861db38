"""Counts: what `count()` returns, and which requests it sends."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Protocol

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hashrange
from hashrange import Ge, Gsi, In, Item, Key, Lt, Patterns, Query, Scan, Table, View
from tests.unit.session.library import Book, Copy, Loan

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)
table = Table("parcels", "pk", "sk", deletion_protection=False, indexes=[Gsi("ByCity", "city", "weight")])


class Parcel(Item, table=table, pk="DEPOT#{depot}", sk="PARCEL#{code}"):
    depot: Key[str]
    code: Key[str]
    city: str
    weight: int
    note: str = ""


class Driver(Item, table=table, pk="DEPOT#{depot}", sk="DRIVER#{name}"):
    depot: Key[str]
    name: Key[str]


class Light(View[Parcel]):
    city: str
    weight: int


class Depots(Patterns, Protocol):
    def parcels(self, depot: str, city: In[str] | None = None) -> Query[Parcel]: ...
    def all_of(self, depot: str) -> Query[Parcel | Driver]: ...
    def to(self, city: str, weight: Lt[int] | None = None) -> Query[Light]: ...
    def before(self, depot: str, code: Lt[str]) -> Query[Parcel]: ...
    def scan(self) -> Scan[Parcel]: ...
    def heavy(self, weight: Ge[int]) -> Scan[Parcel]: ...


class CountingTransport:
    def __init__(self, database):
        self.database, self.calls = database, []

    def call(self, operation, request, *read):
        self.calls.append((operation, request))
        return self.database.call(operation, request, *read)

    async def call_async(self, operation, request, *read):
        return self.call(operation, request, *read)

    def close(self):
        pass

    @property
    def selected(self):
        return [request.get("Select") for operation, request in self.calls if operation in {"Query", "Scan"}]


@pytest.fixture
def transport():
    with hashrange.open() as database:
        hashrange.create_tables(database, Depots)
        yield CountingTransport(database)


@pytest.fixture
def depots(transport):
    opened = Depots.open(transport)
    opened.batch(
        [Parcel(depot="d", code=f"{n:04}", city=("Wien", "Graz")[n % 2], weight=n, note="x" * 9000) for n in range(300)]
    ).run()
    opened.batch([Driver(depot="d", name=name) for name in "abc"]).run()
    transport.calls.clear()
    return opened


def test_dynamodb_counts_page_after_page(depots, transport):
    assert depots.parcels("d").count().run() == 300
    assert set(transport.selected) == {"COUNT"}
    assert len(transport.selected) == 3  # 2.7 MB
    assert depots.parcels("none").count().run() == 0


def test_a_count_applies_filters_keys_views_and_empty_lists(depots, transport):
    assert depots.parcels("d", ["Wien", "Linz"]).count().run() == 150
    assert depots.to("Graz").count().run() == depots.to("Graz").whole().count().run() == 150
    assert depots.to("Graz", 10).count().run() == 5
    assert depots.parcels("d", []).count().run() == 0
    assert set(transport.selected) == {"COUNT"}


def test_items_of_other_classes_are_not_counted(depots, transport):
    assert depots.all_of("d").count().run() == 303
    assert depots.all_of("d").only(Driver).count().run() == 3
    assert depots.scan().count().run() == 300
    assert depots.heavy(200).count().run() == 100
    assert depots.before("d", "0007").count().run() == 7


def test_a_limit_ends_a_count(depots, transport):
    assert depots.parcels("d").limit(120).count().run() == 120
    assert len(transport.selected) == 2
    assert depots.scan().limit(5).count().run() == 5
    assert depots.parcels("d").limit(0).count().run() == 0


def test_a_count_is_awaited_and_run_again(depots):
    counting = depots.parcels("d").consistent().count()

    async def use():
        return await counting

    assert asyncio.run(use()) == counting.run() == 300


def test_expired_items_are_not_counted(db, clock):
    db.create(Loan(isbn="1", at=NOON, reader="a", until=NOON + timedelta(hours=1))).run()
    db.create(Loan(isbn="1", at=NOON, reader="b", until=NOON + timedelta(days=1))).run()
    assert db.loans("1").count().run() == 2
    clock.advance(3600)
    assert db.loans("1").count().run() == 1
    assert db.loans("1").with_expired().count().run() == 2


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    number=st.integers(0, 12),
    limit=st.none() | st.integers(0, 12),
    pattern=st.sampled_from(["copies", "copies_from", "copies_after", "copies_before", "everything", "by_author"]),
)
def test_a_count_is_the_length_of_the_list(db, number, limit, pattern):
    db.batch([Copy(isbn="1", number=n, place="p", seen=NOON) for n in range(10)]).run()
    db.batch([Book(isbn="1", author="1", title="t")]).run()
    query = getattr(db, pattern)("1", *([number] if "copies_" in pattern else []))
    query = query if limit is None else query.limit(limit)
    assert query.count().run() == len(query.run())
