"""A text with half of a surrogate pair, which UTF-8 cannot encode, is refused by the name of its attribute."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import pytest
from pydantic import Field

import hashrange
from hashrange import Add, Append, Eq, Get, Item, LocalKeys, Patterns, Secret, Table, Update, Upsert, ValueInvalid

HALF = "a\ud800"


class Note(Item, table=Table("notes", "pk"), pk="NOTE#{name}"):
    name: str
    text: str = ""
    secret: Secret[str] | None = None
    tags: list[str] = Field(default=[], max_length=9)
    count: int = 0


class Notes(Patterns, Protocol):
    def note(self, name: str) -> Get[Note]: ...
    def write(self, name: str, text: str) -> Update[Note]: ...
    def correct(self, name: str, text: Eq[str], count: int) -> Update[Note]: ...
    def tag(self, name: str, tags: Append[str]) -> Update[Note]: ...
    def upsert(self, name: str, text: str, count: Add[int]) -> Upsert[Note]: ...
    def hide(self, name: str, secret: str) -> Update[Note]: ...


@pytest.fixture
def db() -> Iterator[Notes]:
    with hashrange.open() as database:
        hashrange.create_tables(database, Notes)
        opened = Notes.open(database, keys=LocalKeys.generate())
        opened.create(Note(name="1")).run()
        yield opened


CALLS: dict[str, tuple[Callable[[Notes], Any], str]] = {
    "create": (lambda db: db.create(Note(name="2", text=HALF)).run(), "create Note: text is"),
    "create a key": (lambda db: db.create(Note(name=HALF)).run(), "create Note: "),
    "create inside": (lambda db: db.create(Note(name="2", tags=["b", HALF])).run(), "create Note: tags is"),
    "get": (lambda db: db.note(HALF).run(), "Notes.note: pk is"),
    "update": (lambda db: db.write("1", HALF).run(), "Notes.write: text is"),
    "condition": (lambda db: db.correct("1", HALF, 2).run(), "Notes.correct: text is"),
    "append": (lambda db: db.tag("1", [HALF]).run(), "Notes.tag: tags is"),
    "upsert": (lambda db: db.upsert("1", HALF, 1).run(), "Notes.upsert: text is"),
    "batch": (lambda db: db.batch([Note(name="2", text=HALF)]).run(), "text is"),
    "transaction": (lambda db: db.transact(db.write("1", HALF)).run(), "Notes.write: text is"),
    "secret": (lambda db: db.hide("1", HALF).run(), "secret has half"),
    "async": (lambda db: asyncio.run(write_async(db)), "Notes.write: text is"),
}


async def write_async(db: Notes) -> None:
    await db.write("1", HALF)


@pytest.mark.parametrize(("call", "found"), CALLS.values(), ids=CALLS)
def test_half_a_character_is_refused(db: Notes, call: Callable[[Notes], Any], found: str) -> None:
    with pytest.raises(ValueInvalid, match="half of a surrogate pair") as caught:
        call(db)
    assert found in str(caught.value)
