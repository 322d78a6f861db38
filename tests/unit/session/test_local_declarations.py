"""Declarations inside functions and classes, with annotations that are strings: as tests and notebooks have them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Protocol

import pytest
from pydantic import BaseModel

import hashrange
from hashrange import (
    DeclarationError,
    Get,
    Gsi,
    Item,
    Patterns,
    Query,
    Table,
    Update,
    View,
    dump_item,
    initially,
    load_item,
)

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def declare_seats() -> type[Patterns]:
    table = Table("seats", "pk", indexes=[Gsi("ByState", "gp", "gs")])

    class Place(BaseModel):
        row: int

    class State(View["Seat"]):
        name: str

    class Free(State, gs="FREE#"): ...

    class Held(State, gs="HELD#{held_at}"):
        held_at: datetime

    class Seat(Item, table=table, pk="SEAT#{name}", gp="ALL"):
        name: str
        place: Place | None = None
        state: Free | Held = initially(Free)

    class Seats(Patterns, Protocol):
        def seat(self, name: str) -> Get[Seat]: ...
        def hold(self, state: Free, held_at: datetime) -> Update[Held]: ...

    with hashrange.open() as database:
        hashrange.create_tables(database, Seats)
        db = Seats.open(database)
        db.create(Seat(name="A", place=Place(row=1))).run()
        assert db.hold(db.seat("A").required().run().state, NOW).run() == Held(name="A", held_at=NOW)
    return Seats


def test_items_states_and_patterns_may_be_declared_inside_a_function():
    assert declare_seats().plan("hold").target.__name__ == "Held"


def test_each_call_declares_classes_of_its_own():
    assert declare_seats().plan("seat").models != declare_seats().plan("seat").models


def declare_lamps() -> Any:
    class State(View["Lamp"]):
        name: str

    class Off(State, gs="OFF#"): ...

    class On(State, gs="ON#{watts:03d}"):
        watts: int

    class Lamp(Item, table=Table("lamps", "pk", indexes=[Gsi("ByState", "gp", "gs")]), pk="LAMP#{name}", gp="ALL"):
        name: str
        state: Off | On = initially(Off)

    class Lamps(Patterns, Protocol):
        def switch_on(self, state: Off, watts: int) -> Update[On]: ...
        def burning(self) -> Query[On]: ...

    return Lamps, Lamp


def test_classes_of_an_earlier_call_keep_working():
    for patterns, lamp in [declare_lamps(), declare_lamps(), declare_lamps()]:
        with hashrange.open() as database:
            hashrange.create_tables(database, patterns)
            db = patterns.open(database)
            db.switch_on(db.create(lamp(name="A")).run().state, 60).run()
            assert [state.watts for state in db.burning()] == [60]
            assert load_item([lamp], dump_item(lamp(name="B"))) == lamp(name="B")


def test_patterns_of_an_inner_function_see_the_items_of_the_outer_one():
    class Note(Item, table=Table("notes", "pk"), pk="NOTE#{name}"):
        name: str

    def declare() -> type[Patterns]:
        class Notes(Patterns, Protocol):
            def note(self, name: str) -> Get[Note]: ...

        return Notes

    assert declare().plan("note").models == (Note,)


def test_patterns_may_be_declared_inside_a_class():
    class Schema:
        class Note(Item, table=Table("notes", "pk"), pk="NOTE#{name}"):
            name: str

        class Notes(Patterns, Protocol):
            def note(self, name: str) -> Get[Note]: ...  # type: ignore[name-defined]  # noqa: F821 - a name of the class body

    assert Schema.Notes.plan("note").models == (Schema.Note,)


class Stock:
    class Part(Item, table=Table("parts", "pk"), pk="PART#{name}"):
        class Size(BaseModel):
            width: int

        name: str
        size: Size

    class Inner:
        class Parts(Patterns, Protocol):
            class Order(BaseModel):
                count: int

            def part(self, name: str) -> Get[Stock.Part]: ...
            def resize(self, name: str, size: Stock.Part.Size) -> Update[Stock.Part]: ...


class Ship(Item, table=Table("ships", "pk", indexes=[Gsi("ByState", "gp", "gs")]), pk="SHIP#{name}", gp="ALL"):
    class State(View["Ship"]):
        name: str

    class Docked(State, gs="DOCKED#"): ...

    class Sailing(State, gs="SAILING#{knots:03d}"):
        knots: int

    name: str
    state: Ship.Docked | Ship.Sailing


class Ships(Patterns, Protocol):
    def sail(self, state: Ship.Docked, knots: int) -> Update[Ship.Sailing]: ...


def test_annotations_may_name_the_class_around_them():
    assert Stock.Inner.Parts.plan("part").models == (Stock.Part,)
    assert Stock.Inner.Parts.Order(count=1).count == 1
    with hashrange.open() as database:
        hashrange.create_tables(database, Stock.Inner.Parts)
        db = Stock.Inner.Parts.open(database)
        db.put(Stock.Part(name="a", size=Stock.Part.Size(width=1))).run()
        assert db.resize("a", Stock.Part.Size(width=2)).run().size.width == 2


def test_states_may_be_declared_inside_their_item():
    with hashrange.open() as database:
        hashrange.create_tables(database, Ships)
        db = Ships.open(database)
        docked = db.create(Ship(name="a", state=Ship.Docked(name="a"))).run().state
        assert isinstance(docked, Ship.Docked)
        assert db.sail(docked, 12).run().knots == 12


def test_a_name_of_a_caller_is_not_seen():
    class Note(Item, table=Table("notes", "pk"), pk="NOTE#{name}"):
        name: str

    with pytest.raises(DeclarationError, match=r"HR201 Strangers\.note: name 'Note' is not defined"):
        declare_strangers()
    assert Note.__name__ == "Note"


def declare_strangers() -> None:
    class Strangers(Patterns, Protocol):
        def note(self, name: str) -> Get[Note]: ...  # type: ignore[name-defined]  # noqa: F821 - what is tested
