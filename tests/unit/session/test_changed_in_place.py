"""Lists, maps, sets and nested models that were changed in place are validated when their item is written."""

from datetime import datetime
from typing import Annotated, Any, Literal, Protocol

import pytest
from pydantic import BaseModel, Field

import hashrange
from hashrange import Get, Item, Key, Patterns, Table, Update, ValueInvalid, View, initially

table = Table("notes", "pk", deletion_protection=False)


class Place(BaseModel):
    city: str
    floors: list[int] = Field(default_factory=list)


class Branch(BaseModel):
    name: str
    branches: list["Branch"] = Field(default_factory=list)


class Draft(View["Note"]):
    state: str = "draft"
    reviewers: list[str] = Field(default_factory=list)


class Note(Item, table=table, pk="NOTE#{id}"):
    id: Key[str]
    tags: list[str] = Field(default_factory=list)
    counts: dict[str, int] = Field(default_factory=dict)
    codes: set[int] = Field(default_factory=set)
    pairs: tuple[dict[str, int], ...] = ()
    few: Annotated[list[str], Field(max_length=2)] = Field(default_factory=list)
    place: Place | None = None
    places: list[Place] = Field(default_factory=list)
    colours: list[Literal["red", "blue"]] = Field(default_factory=list)
    times: dict[str, datetime | None] = Field(default_factory=dict)
    tree: Branch = Branch(name="root")
    review: Draft = initially(Draft)


class Notes(Patterns, Protocol):
    def note(self, id: str) -> Get[Note]: ...  # noqa: A002 - the field's name
    def retag(self, id: str, tags: list[str]) -> Update[Note]: ...  # noqa: A002 - the field's name


@pytest.fixture
def db():
    with hashrange.open() as database:
        hashrange.create_tables(database, Notes)
        yield Notes.open(database)


def make() -> Any:
    return Note(
        id="1", tags=["a"], counts={"a": 1}, codes={1}, pairs=({"a": 1},), few=["a", "b"],
        place=Place(city="Wien", floors=[1]), places=[Place(city="Graz")],
        colours=["red"], times={"a": None}, tree=Branch(name="root", branches=[Branch(name="left")]),
    )  # fmt: skip


CHANGES = {
    "tags": (lambda note: note.tags.append(3), r"Note.tags.1 is 3: Input should be a valid string"),
    "counts": (lambda note: note.counts.update(b="x"), r"Note.counts.b is 'x': Input should be a valid integer"),
    "codes": (lambda note: note.codes.add("x"), r"Note.codes.\d is 'x': Input should be a valid integer"),
    "pairs": (lambda note: note.pairs[0].update(b="x"), r"Note.pairs.0.b is 'x': Input should be a valid integer"),
    "few": (lambda note: note.few.append("c"), r"Note.few is \['a', 'b', 'c'\]: List should have at most 2 items"),
    "place": (lambda note: setattr(note.place, "city", 7), r"Note.place.city is 7: Input should be a valid string"),
    "floors": (lambda note: note.place.floors.append("x"), r"Note.place.floors.1 is 'x': Input should be a valid int"),
    "places": (lambda note: setattr(note.places[0], "city", 7), r"Note.places.0.city is 7: Input should be a valid s"),
    "colours": (lambda note: note.colours.append("x"), r"Note.colours.1 is 'x': Input should be 'red' or 'blue'"),
    "times": (lambda note: note.times.update(b="x"), r"Note.times.b is 'x': Input should be a valid datetime"),
    "tree": (lambda note: setattr(note.tree.branches[0], "name", 7), r"Note.tree.branches.0.name is 7: Input should"),
    "state": (lambda note: note.review.reviewers.append(3), r"Draft.reviewers.0 is 3: Input should be a valid string"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_write_refuses_what_a_value_became_in_place(db, name):
    change, reason = CHANGES[name]
    db.create(make()).run()
    changed, loaded = make(), db.note("1").required().run()
    change(changed)
    change(loaded)
    for write in (lambda: db.put(changed), lambda: db.put(loaded), lambda: db.batch([changed])):
        with pytest.raises(ValueInvalid, match=reason):
            write().run()
    with pytest.raises(ValueInvalid, match=reason):
        db.create(changed.model_copy(update={"id": "2"})).run()
    assert db.note("1").required().run() == make()
    assert db.note("2").run() is None


def test_a_valid_change_in_place_is_written(db):
    note = make()
    note.tags.append("b")
    note.place.floors.append(2)
    note.review.reviewers.append("eve")
    db.put(note).run()
    found = db.note("1").required().run()
    assert (found.tags, found.place.floors, found.review.reviewers) == (["a", "b"], [1, 2], ["eve"])


def test_a_list_that_is_given_to_an_update_is_validated(db):
    db.create(make()).run()
    tags: Any = ["a", 3]
    with pytest.raises(ValueInvalid, match="tags"):
        db.retag("1", tags).run()


class NumberedPlace(Place):
    number: int


def test_an_object_of_a_subclass_and_numbers_that_are_converted_are_validated_as_when_constructed(db):
    note = make()
    note.places.append(NumberedPlace(city="Linz", number=3))
    note.counts["b"] = True
    stored = db.put(note).run()
    assert (stored.places[1].city, stored.counts) == ("Linz", {"a": 1, "b": 1})
    assert db.note("1").required().run().counts == {"a": 1, "b": 1}
