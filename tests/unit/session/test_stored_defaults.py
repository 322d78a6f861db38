"""A write stores the defaults that it returns, and no index key is left behind by a default that follows a field."""

import itertools
from datetime import UTC, datetime
from typing import Literal, Protocol

import pytest
from pydantic import Field

import hashrange
from hashrange import (
    Add,
    Conflict,
    DeclarationError,
    Eq,
    Get,
    Gsi,
    Item,
    ManualClock,
    Patterns,
    Query,
    Table,
    Ttl,
    Update,
    Upsert,
    ValueInvalid,
    Version,
    View,
    after,
    initially,
)

NOON = datetime(2027, 1, 15, 12, tzinfo=UTC)
NUMBERS = itertools.count()
visits = Table("visits", "pk", ttl="ends_at")
tickets = Table("tickets", "pk", indexes=[Gsi("ByEnd", "group", "end_key"), Gsi("ByState", "kind", "state_key")])


class Visit(Item, table=visits, pk="VISIT#{code}"):
    code: str
    at: datetime
    count: int = 0
    status: str = "open"
    token: str = Field(default_factory=lambda: f"t{next(NUMBERS)}")
    label: str = Field(default_factory=lambda data: data["code"].upper())
    tags: set[str] = set()  # noqa: RUF012 - pydantic copies defaults
    notes: list[str] = ["first"]  # noqa: RUF012 - same
    ends_at: Ttl = after("at", days=1)


class Visits(Patterns, Protocol):
    def visit(self, code: str) -> Get[Visit]: ...
    def hit(self, code: str, at: datetime, count: Add[int], status: str = ...) -> Upsert[Visit]: ...
    def is_open(self, code: str, status: Eq[str], count: int) -> Update[Visit]: ...


class Ticket(Item, table=tickets, pk="TICKET#{code}", group="G", end_key="{ends_at:date}#{place}#{count:03d}"):
    code: str
    begins_at: datetime
    place: str
    kind: str = "k"
    count: int = 0
    ends_at: datetime = after("begins_at", days=1)
    version: Version = 0


class State(View["Seat"]):
    code: str
    kind: str
    row: int = 3


class Free(State, state_key="FREE#{row:03d}"): ...


class Held(State, state_key="HELD#{holder}"):
    holder: str


class Seat(Item, table=tickets, pk="SEAT#{code}"):
    code: str
    kind: str
    row: int = 3
    price: int = 0
    state: Free | Held = initially(Free)


class Tickets(Patterns, Protocol):
    def ticket(self, code: str) -> Get[Ticket]: ...
    def count(self, ticket: Ticket, count: int) -> Update[Ticket]: ...
    def move(self, ticket: Ticket, begins_at: datetime) -> Update[Ticket]: ...
    def move_by_code(self, code: str, begins_at: datetime) -> Update[Ticket]: ...


class Seats(Patterns, Protocol):
    def seat(self, code: str) -> Get[Seat]: ...
    def price(self, code: str, kind: str, price: int) -> Upsert[Seat]: ...
    def free(self, kind: str) -> Query[Free]: ...
    def hold(self, state: Free, holder: str) -> Update[Held]: ...


@pytest.fixture
def clock():
    return ManualClock(NOON.timestamp())


@pytest.fixture
def database(clock):
    with hashrange.open(clock=clock) as found:
        hashrange.create_tables(found, Visits, Tickets)
        yield found


def stored(database, table):
    """Return the only item of a table as it is stored."""
    (found,) = database.call("Scan", {"TableName": table})["Items"]
    return found


def test_an_upsert_that_creates_stores_every_default(database):
    db = Visits.open(database)
    made = db.hit("a", NOON, 1).run()
    assert made == db.visit("a").run()
    assert stored(database, "visits").keys() == {*Visit.model_fields, "pk"} - {"tags"}
    assert (made.label, made.notes, made.status) == ("A", ["first"], "open")
    assert db.is_open("a", "open", 5).run().count == 5


def test_a_default_that_would_be_beyond_the_calendar_is_an_invalid_value(database):
    with pytest.raises(ValueInvalid, match=r"ends_at is 1 day.* after at.*beyond year 9999"):
        Visits.open(database).hit("a", datetime.max.replace(tzinfo=UTC), 1).run()


def test_an_upsert_keeps_what_is_stored(database):
    db = Visits.open(database)
    made = db.hit("a", NOON, 1, "closed").run()
    again = db.hit("a", NOON.replace(hour=13), 1).run()
    assert (again.token, again.status, again.ends_at, again.count) == (made.token, "closed", made.ends_at, 2)


def test_an_item_that_an_upsert_created_expires(database, clock):
    db = Visits.open(database)
    db.hit("a", NOON, 1).run()
    clock.advance(2 * 86_400)
    assert db.visit("a").run() is None


def put_older_ticket(database, **attributes):
    """Store a ticket as a program did that did not know all fields."""
    item = {"code": "1", "pk": "TICKET#1", "begins_at": "2027-01-15T12:00:00Z", "group": "G", **attributes}
    database.call("PutItem", {"TableName": "tickets", "Item": {name: {"S": text} for name, text in item.items()}})


def test_a_key_does_not_go_stale_when_its_default_follows_a_changed_field(database):
    db = Tickets.open(database)
    put_older_ticket(database, place="p")
    counted = db.count(db.ticket("1").run(), 5).run()
    moved = db.move(db.ticket("1").run(), NOON.replace(month=9)).run()
    assert moved.ends_at == counted.ends_at == NOON.replace(day=16)
    assert stored(database, "tickets")["end_key"] == {"S": "2027-01-16#p#005"}
    assert moved == db.ticket("1").run()


def test_a_default_in_a_key_is_kept_when_the_field_that_it_follows_changes(database):
    db = Tickets.open(database)
    put_older_ticket(database, place="p", end_key="2027-01-16#p#000")
    moved = db.move(db.ticket("1").run(), NOON.replace(month=9)).run()
    assert moved.ends_at == NOON.replace(day=16)


def test_an_update_by_key_does_not_change_a_default_that_a_key_is_made_of(database):
    db = Tickets.open(database)
    put_older_ticket(database, place="p", end_key="2027-01-16#p#000")
    with pytest.raises(Conflict):
        db.move_by_code("1", NOON.replace(month=9)).run()
    db.move(db.ticket("1").run(), NOON).run()  # stores what it was read with
    assert db.move_by_code("1", NOON.replace(month=9)).run().ends_at == NOON.replace(day=16)


def test_a_field_that_is_stored_in_a_key_alone_can_be_updated(database):
    db = Tickets.open(database)
    put_older_ticket(database, end_key="2027-01-16#p#000")
    ticket = db.ticket("1").run()
    assert ticket.place == "p"
    changed = db.count(ticket, 4).run()
    assert (changed.place, stored(database, "tickets")["place"]) == ("p", {"S": "p"})
    assert db.count(changed, 5).run() == db.ticket("1").run()


def test_the_key_that_a_field_was_read_from_must_be_unchanged(database):
    db = Tickets.open(database)
    put_older_ticket(database, end_key="2027-01-16#p#000")
    ticket = db.ticket("1").run()
    put_older_ticket(database, end_key="2027-01-16#q#000")
    with pytest.raises(Conflict):
        db.count(ticket, 4).run()


def test_a_field_of_a_state_that_is_in_its_key_alone_can_be_left_and_kept(database):
    lanes = Table("lanes", "pk", indexes=[Gsi("ByState", "kind", "state_key")])

    class Lane(Item, table=lanes, pk="LANE#{code}"):
        code: str
        kind: str
        place: str

    class Open(Lane, state_key="OPEN#{place}"):
        word: Literal["open"] = "open"

    class Shut(Lane):
        word: Literal["shut"] = "shut"

    class Lanes(Patterns, Protocol):
        def lane(self, code: str) -> Get[Open | Shut]: ...
        def shut(self, lane: Open) -> Update[Shut]: ...

    hashrange.create_tables(database, Lanes)
    item = {"pk": "LANE#1", "code": "1", "kind": "k", "word": "open", "state_key": "OPEN#p"}
    database.call("PutItem", {"TableName": "lanes", "Item": {name: {"S": text} for name, text in item.items()}})
    db = Lanes.open(database)
    assert db.shut(db.lane("1").run()).run() == Shut(code="1", kind="k", place="p") == db.lane("1").run()


def test_an_upsert_that_creates_an_item_stores_the_key_of_its_initial_state(database):
    db = Seats.open(database)
    made = db.price("1", "k", 5).run()
    assert made == db.seat("1").run() == Seat(code="1", kind="k", price=5)
    assert db.free("k").run() == [made.state]
    held = db.hold(made.state, "ann").run()
    assert db.price("1", "k", 6).run().state == held


def test_an_upsert_does_not_give_an_older_item_another_state(database):
    item = {"pk": "SEAT#1", "code": "1", "kind": "k", "holder": "ann"}
    database.call("PutItem", {"TableName": "tickets", "Item": {name: {"S": text} for name, text in item.items()}})
    db = Seats.open(database)
    with pytest.raises(Conflict) as conflict:
        db.price("1", "k", 5).run()
    assert conflict.value.current.state == Held(code="1", kind="k", holder="ann")


def test_an_upsert_of_a_view_needs_what_the_item_requires():
    parts = Table("parts", "pk")

    class Part(Item, table=parts, pk="PART#{code}"):
        code: str
        owner: str
        size: int = 0

    class Size(View[Part]):
        code: str
        size: int

    with pytest.raises(DeclarationError, match=r"HR243 .* requires owner"):

        class Refused(Patterns, Protocol):
            def resize(self, code: str, size: int) -> Upsert[Size]: ...
