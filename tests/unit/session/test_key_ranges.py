"""Ranges of a field inside a key are exact, also where keys sort otherwise than the field."""

from datetime import UTC, date, datetime, timedelta
from typing import Protocol

import pytest

import hashrange
from hashrange import (
    BeginsWith,
    Between,
    DeclarationError,
    Ge,
    Gsi,
    Gt,
    Item,
    Key,
    Latest,
    Le,
    Lt,
    Patterns,
    Query,
    Table,
)

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)
table = Table("ranges", "pk", "sk", deletion_protection=False)


class Seat(Item, table=table, pk="HALL#{hall}", sk="SEAT#{name}#{number}"):
    hall: Key[str]
    name: Key[str]
    number: Key[str]


class Link(Item, table=table, pk="HALL#{hall}", sk="LINK#{url:fit}"):
    hall: Key[str]
    url: str


class Digest(Item, table=table, pk="HALL#{hall}", sk="SHA#{text:sha}"):
    hall: Key[str]
    text: str


class Note(Item, table=table, pk="LOG#{hall}", sk="{at}#NOTE"):
    hall: Key[str]
    at: Key[datetime]


class Mail(Item, table=table, pk="LOG#{hall}", sk="{at}#MAIL"):
    hall: Key[str]
    at: Key[datetime]


class Visit(Item, table=table, pk="DAYS#{hall}", sk="{day}#VISIT#{name}"):
    hall: Key[str]
    day: Key[date]
    name: Key[str]


class Event(Item, table=table, pk="DAYS#{hall}", sk="{day}#EVENT#{name}"):
    hall: Key[str]
    day: Key[date]
    name: Key[str]


class Hall(Patterns, Protocol):
    def below(self, hall: str, name: Lt[str]) -> Query[Seat]: ...
    def up_to(self, hall: str, name: Le[str]) -> Query[Seat]: ...
    def above(self, hall: str, name: Gt[str]) -> Query[Seat]: ...
    def since(self, hall: str, name: Ge[str]) -> Query[Seat]: ...
    def within(self, hall: str, name: Between[str]) -> Query[Seat]: ...
    def like(self, hall: str, name: BeginsWith[str]) -> Query[Seat]: ...
    def links_since(self, hall: str, url: Ge[str]) -> Query[Link]: ...
    def digests_since(self, hall: str, text: Ge[str]) -> Query[Digest]: ...
    def notes(self, hall: str) -> Query[Note]: ...
    def log(self, hall: str) -> Latest[Note | Mail]: ...
    def log_since(self, hall: str, at: Ge[datetime]) -> Query[Note | Mail]: ...
    def visits(self, hall: str, day: Le[date]) -> Query[Visit]: ...


NAMES = ["ann", "ann!", "ann b", "an", "an!x", "annA", "b", "an~", "é"]


@pytest.fixture
def db():
    with hashrange.open() as database:
        hashrange.create_tables(database, Hall)
        opened = Hall.open(database)
        opened.batch([Seat(hall="a", name=name, number=number) for name in NAMES for number in ("1", "2")]).run()
        yield opened


@pytest.mark.parametrize("bound", ["ann", "ann!", "an!x", "an", "a", "an#", "", "é", "zz"])
def test_a_range_of_text_in_the_middle_of_a_key_is_exact(db, bound):
    def found(query):
        return {seat.name for seat in query}

    assert found(db.below("a", bound)) == {name for name in NAMES if name < bound}
    assert found(db.up_to("a", bound)) == {name for name in NAMES if name <= bound}
    assert found(db.above("a", bound)) == {name for name in NAMES if name > bound}
    assert found(db.since("a", bound)) == {name for name in NAMES if name >= bound}
    assert found(db.within("a", (bound, "éé"))) == {name for name in NAMES if bound <= name <= "éé"}
    assert found(db.within("a", ("", bound))) == {name for name in NAMES if name <= bound}
    assert found(db.like("a", bound)) == {name for name in NAMES if name.startswith(bound)}


def test_pages_and_counts_leave_out_what_the_key_range_finds_too_much_of(db):
    wanted = db.up_to("a", "an!x").run()
    first = db.up_to("a", "an!x").page(2).run()
    second = db.up_to("a", "an!x").page(2, after=first.cursor).run()
    assert [*first, *second] == wanted
    assert second.cursor is None
    assert db.up_to("a", "an!x").count().run() == len(wanted) == 4


def test_a_range_of_a_shortened_field_is_a_filter(db):
    db.batch([Link(hall="a", url=letter * 1100) for letter in "abc"]).run()
    assert [link.url[0] for link in db.links_since("a", "b")] == ["b", "c"]
    assert [link.url[0] for link in db.links_since("a", "b" * 1100)] == ["b", "c"]


def test_a_range_of_a_hashed_field_is_a_filter():
    assert "begins_with(sk, 'SHA#')" in Hall.plan("digests_since").explain()
    assert "filter  text >= {text}" in Hall.plan("digests_since").explain()


def test_models_are_told_apart_by_what_follows_a_field_of_fixed_width(db):
    times = [NOON + timedelta(minutes=n) for n in range(4)]
    db.batch([Note(hall="a", at=at) for at in times[::2]]).run()
    db.batch([Mail(hall="a", at=at) for at in times]).run()
    assert [note.at for note in db.notes("a")] == times[::2]
    shown = [(type(one).__name__, one.at) for one in db.log("a")]
    assert shown == [(n, at) for at in times[::-1] for n in ("Note", "Mail") if n == "Mail" or at in times[::2]]
    assert len(db.log_since("a", times[2]).run()) == 3
    assert len(Hall.plan("log_since").branches) == 1
    assert db.notes("a").count().run() == 2


def test_a_key_of_another_model_is_not_parsed_as_a_date(db):
    day = date(2026, 1, 1)
    db.batch([Visit(hall="a", day=day, name="x"), Event(hall="a", day=day, name="y#VISIT#z")]).run()
    assert db.visits("a", day).run() == [Visit(hall="a", day=day, name="x")]


def test_models_with_the_same_text_after_a_field_are_refused():
    mixed = Table("mixed", "pk", "sk")

    class First(Item, table=mixed, pk="P#{p}", sk="{at}#{s}"):
        p: Key[str]
        at: Key[datetime]
        s: Key[str]

    class Second(Item, table=mixed, pk="P#{p}", sk="{at}#X"):
        p: Key[str]
        at: Key[datetime]

    with pytest.raises(DeclarationError, match="HR141"):

        class Mixed(Patterns, Protocol):
            def first(self, p: str) -> Query[First]: ...


queue = Table("queue", "pk", "sk", indexes=[Gsi("TodoIndex", "todo", "todo_at")], deletion_protection=False)


class Letter(Item, table=queue, pk="LETTER#{id}", sk="LETTER", todo="SEND", todo_at="{send_at}"):
    id: str
    send_at: datetime


class Letters(Patterns, Protocol):
    def due(self, send_at: Le[datetime]) -> Query[Letter]: ...
    def between(self, send_at: Between[datetime]) -> Query[Letter]: ...


def test_a_range_of_a_field_that_is_the_whole_key_is_asked_of_the_key():
    """The key condition named the field's own attribute, which is no part of the index."""
    database = hashrange.open()
    hashrange.create_tables(database, Letters)
    db = Letters.open(database)
    letters = [Letter(id=str(hour), send_at=NOON + timedelta(hours=hour)) for hour in range(3)]
    db.batch(letters).run()
    assert db.due(NOON + timedelta(hours=1)).run() == letters[:2]
    assert db.between((NOON + timedelta(hours=1), NOON + timedelta(hours=9))).run() == letters[1:]
    assert "todo_at <= {send_at}" in db.due(NOON).explain()
