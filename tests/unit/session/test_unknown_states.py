"""An item whose state has a key of no declared form is Unreadable to every query that comes upon it."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Protocol

import pytest

import hashrange
from hashrange import (
    Database,
    Get,
    Gsi,
    Item,
    Key,
    Latest,
    Le,
    Patterns,
    Query,
    Scan,
    Table,
    Unreadable,
    View,
    initially,
)
from hashrange.provision import backfill

table = Table("seats", "pk", indexes=[Gsi("ByState", "event", "k")])


class Position(View["Seat"]):
    seat: str
    price: int


class Free(Position, k="FREE#{price:06d}#{seat}"): ...


class Held(Position, k="HELD#{until}"):
    until: datetime


class Kept(Position, k="KEPT#{since}"):
    since: Key[datetime]


class Seat(Item, table=table, pk="SEAT#{seat}"):
    seat: str
    event: str
    price: int
    state: Free | Held | Kept = initially(Free)


class Note(Item, table=table, pk="NOTE#{note}", k="FREE#NOTE#{note}"):
    note: str
    event: str


class Seats(Patterns, Protocol):
    def seat(self, seat: str) -> Get[Seat]: ...
    def seats(self) -> Scan[Seat]: ...
    def free(self, event: str) -> Query[Free]: ...
    def newest(self, event: str) -> Latest[Free]: ...
    def free_to(self, event: str, price: Le[int]) -> Query[Free]: ...
    def held(self, event: str) -> Query[Held]: ...
    def any_state(self, event: str) -> Query[Free | Held | Kept]: ...


@pytest.fixture
def database() -> Iterator[Database]:
    with hashrange.open() as opened:
        hashrange.create_tables(opened, Seats)
        yield opened


@pytest.fixture
def db(database: Database) -> Seats:
    session = Seats.open(database)
    session.create(Seat(seat="1", event="e", price=100)).run()
    return session


def store(database: Database, k: str, seat: str = "2", **more: Any) -> None:
    """Store an item as an earlier declaration did."""
    raw = {"pk": {"S": f"SEAT#{seat}"}, "seat": {"S": seat}, "event": {"S": "e"}, "price": {"N": "100"}, **more}
    database.put_item(TableName="seats", Item={**raw, "k": {"S": k}})


FORM = (
    r"pk='SEAT#2' in seats: .* is in none of its states: k is 'FREE#0100#2', which is not FREE#\{price:06d\}#\{seat\}"
)


@pytest.mark.parametrize("name", ["free", "newest", "any_state"])
def test_a_query_stops_at_an_item_of_no_declared_state(database: Database, db: Seats, name: str) -> None:
    store(database, "FREE#0100#2")
    with pytest.raises(Unreadable, match=FORM + r" or HELD#\{until\} or KEPT#\{since\}$"):
        getattr(db, name)("e").run()
    with pytest.raises(Unreadable, match=FORM):
        db.seat("2").run()


def test_a_range_stops_at_such_an_item(database: Database, db: Seats) -> None:
    store(database, "FREE#00005#2")
    with pytest.raises(Unreadable, match="FREE#00005#2"):
        db.free_to("e", 900).run()


def test_skip_unreadable_reports_it_and_count_leaves_it_out(database: Database, db: Seats) -> None:
    store(database, "FREE#0100#2")
    skipped: list[Unreadable] = []
    assert [seat.seat for seat in db.free("e").skip_unreadable(skipped.append)] == ["1"]
    assert [error.raw["pk"] for error in skipped] == [{"S": "SEAT#2"}]
    assert db.free("e").skip_unreadable().count().run() == 1
    assert db.free("e").skip_unreadable().page(5).run().skipped == 1


def test_items_of_other_classes_and_states_are_no_such_items(database: Database, db: Seats) -> None:
    db.create(Note(note="x", event="e")).run()
    database.put_item(TableName="seats", Item={"pk": {"S": "OTHER"}, "event": {"S": "e"}, "k": {"S": "FREE#0100#2"}})
    store(database, "HELD#2027-01-01T00:00:00Z", until={"S": "2027-01-01T00:00:00Z"})
    assert [seat.seat for seat in db.free("e")] == ["1"]
    assert [seat.seat for seat in db.held("e")] == ["2"]


def test_a_backfill_writes_the_new_form_where_the_key_and_the_fields_tell_the_same_state(database: Database) -> None:
    store(database, "FREE#0100#2")
    store(database, "HELD#at noon", seat="3", until={"S": "2027-01-01T12:00:00Z"})
    db = Seats.open(database)
    [report] = backfill(database, Seats)
    assert (report.repaired, report.unreadable) == (2, 0)
    assert [seat.seat for seat in db.free("e")] == ["2"]
    assert [seat.until for seat in db.held("e")] == [datetime(2027, 1, 1, 12, tzinfo=UTC)]


def test_a_backfill_leaves_what_it_cannot_tell_and_names_the_forms(database: Database) -> None:
    store(database, "FREE#0100#2", until={"S": "2027-01-01T12:00:00Z"})  # the fields are those of Held
    store(database, "KEPT#noon", seat="3")  # whose time is in the key only
    store(database, "GONE#", seat="4")
    [report] = backfill(database, Seats)
    assert (report.repaired, report.unreadable) == (0, 3)
    assert all("which is not FREE#{price:06d}#{seat} or HELD#{until}" in str(each) for each in report.failures)
