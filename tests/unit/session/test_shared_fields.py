"""Fields that an item shares with the states of its lifecycles: one attribute that no write loses or contradicts."""

from datetime import UTC, datetime
from typing import Protocol

import pytest

import hashrange
from hashrange import Get, Gsi, Item, Patterns, Query, Table, Update, ValueInvalid, View, initially

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
LATER = datetime(2026, 1, 2, 13, tzinfo=UTC)
table = Table(
    "seats",
    "pk",
    indexes=[Gsi("ByState", "row", "state_key"), Gsi("ByCleaning", "row", "cleaning_key"), Gsi("ByLevel", "level")],
)


class Sale(View["Seat"]):
    name: str
    row: str


class Free(Sale, state_key="FREE#"): ...


class Held(Sale, state_key="HELD#{held_at}"):
    held_at: datetime
    holder: str
    level: str = "low"
    cleaner: str | None = None


class Paid(Sale, state_key="PAID#"): ...


class Cleaning(View["Seat"]):
    name: str


class Clean(Cleaning, cleaning_key="CLEAN#"): ...


class Dirty(Cleaning, cleaning_key="DIRTY#"):
    cleaner: str | None = None


class Seat(Item, table=table, pk="SEAT#{name}"):
    name: str
    row: str
    held_at: datetime
    note: str = "-"
    level: str = "low"
    sale: Free | Held | Paid = initially(Free)
    cleaning: Clean | Dirty = initially(Clean)


class Seats(Patterns, Protocol):
    def seat(self, name: str) -> Get[Seat]: ...
    def held(self, row: str) -> Query[Held]: ...
    def of_level(self, level: str) -> Query[Seat]: ...
    def hold(self, sale: Free, held_at: datetime, holder: str, cleaner: str | None) -> Update[Held]: ...
    def pay(self, sale: Held) -> Update[Paid]: ...


@pytest.fixture
def db():
    with hashrange.open() as database:
        hashrange.create_tables(database, Seats)
        yield Seats.open(database)


def make_seat(**changes):
    return Seat(**{"name": "1", "row": "A", "held_at": NOON, **changes})


def test_a_transition_keeps_a_field_of_the_state_left_that_the_item_requires(db):
    db.create(make_seat()).run()
    held = db.hold(db.seat("1").required().run().sale, LATER, "ann", None).run()
    db.pay(held).run()
    seat = db.seat("1").required().run()
    assert (type(seat.sale), seat.held_at) == (Paid, LATER)


def test_a_transition_keeps_a_field_of_the_state_left_that_has_a_default_in_the_item(db):
    db.create(make_seat(level="high")).run()
    db.pay(db.hold(db.seat("1").required().run().sale, LATER, "ann", None).run()).run()
    assert db.seat("1").required().run().level == "high"
    assert [seat.name for seat in db.of_level("high")] == ["1"]


def test_a_transition_keeps_a_field_that_a_state_of_another_lifecycle_has(db):
    db.create(make_seat(cleaning=Dirty(name="1", cleaner="bo"))).imported().run()
    held = db.hold(db.seat("1").required().run().sale, LATER, "ann", "bo").run()
    db.pay(held).run()
    assert db.seat("1").required().run().cleaning == Dirty(name="1", cleaner="bo")


def test_a_copy_of_an_item_changes_the_field_in_its_states_too(db):
    db.create(make_seat()).run()
    seat = db.seat("1").required().run()
    db.put(seat.model_copy(update={"row": "B"})).run()
    changed = db.seat("1").required().run()
    assert (changed.row, changed.sale.row) == ("B", "B")


def test_a_copy_with_another_state_changes_the_field_of_the_item_too(db):
    db.create(make_seat()).run()
    seat = db.seat("1").required().run()
    held = Held(name="1", row="A", held_at=LATER, holder="ann")
    db.put(seat.model_copy(update={"sale": held})).run()
    changed = db.seat("1").required().run()
    assert (changed.held_at, changed.sale) == (LATER, held)
    assert [found.held_at for found in db.held("A")] == [LATER]


@pytest.mark.parametrize("field", ["name", "row"])
def test_an_item_whose_state_contradicts_it_is_refused(db, field):
    free = Free(**{"name": "1", "row": "A", field: "other"})
    with pytest.raises(ValueInvalid, match=rf"Seat\.{field} is '.', and its sale has 'other'"):
        db.create(make_seat(sale=free)).run()
    with pytest.raises(ValueInvalid, match=rf"Seat\.{field} is '.', and its sale has 'other'"):
        db.put(make_seat().model_copy(update={field: "x", "sale": free})).run()
    assert db.seat("1").run() is None


def test_what_was_read_can_be_put_again(db):
    db.create(make_seat()).run()
    db.put(db.seat("1").required().run()).run()
    db.batch([db.seat("1").required().run()]).run()
    assert db.seat("1").required().run() == make_seat()
