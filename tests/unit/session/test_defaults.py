"""Writes to items that are stored without a field that has a default: what is read is what a write starts from."""

import itertools
from typing import Annotated, Protocol

import pytest
from pydantic import Field

import hashrange
from hashrange import (
    Add,
    Append,
    Conflict,
    DeclarationError,
    Discard,
    Get,
    Gsi,
    Item,
    Patterns,
    Table,
    Update,
    Upsert,
    Version,
)

table = Table("pages", "pk", indexes=[Gsi("ByPlace", "place_pk", "place_sk")])
NUMBERS = itertools.count()


class Page(Item, table=table, pk="PAGE#{url}", place_pk="P", place_sk="{place}#{shelf}"):
    url: str
    views: int = 10
    stock: Annotated[int, Field(ge=0)] = 3
    notes: list[str] = ["first"]  # noqa: RUF012 - pydantic copies it
    shelf: str = "A"
    place: str = Field(default_factory=lambda: f"made-{next(NUMBERS)}")
    version: Version = 5


class Pages(Patterns, Protocol):
    def page(self, url: str) -> Get[Page]: ...
    def view(self, url: str, views: Add[int]) -> Update[Page]: ...
    def visit(self, url: str, views: Add[int], shelf: str, place: str) -> Upsert[Page]: ...
    def take(self, url: str, stock: Add[int]) -> Update[Page]: ...
    def note(self, url: str, notes: Append[str]) -> Update[Page]: ...
    def move(self, page: Page, shelf: str) -> Update[Page]: ...
    def edit(self, page: Page, shelf: str = ..., place: str = ..., views: int = ...) -> Update[Page]: ...


@pytest.fixture
def db():
    with hashrange.open() as database:
        hashrange.create_tables(database, Pages)
        database.call("PutItem", {"TableName": "pages", "Item": {"pk": {"S": "PAGE#/"}, "url": {"S": "/"}}})
        yield Pages.open(database)


def stored(db):
    return db.session.transport.call("GetItem", {"TableName": "pages", "Key": {"pk": {"S": "PAGE#/"}}})["Item"]


def test_a_number_is_counted_from_its_default(db):
    assert [db.view("/", 1).run().views, db.view("/", 1).run().views] == [11, 12]
    assert db.visit("/new", 1, "A", "x").run().views == 11


def test_the_bounds_of_a_number_hold_for_the_default_plus_the_amount(db):
    with pytest.raises(Conflict):
        db.take("/", -4).run()
    assert db.take("/", -3).run().stock == 0


def test_a_list_is_appended_to_its_default(db):
    assert db.note("/", ["second"]).run().notes == ["first", "second"]


def test_a_version_is_counted_from_its_default(db):
    assert db.view("/", 1).run().version == 6
    assert stored(db)["version"] == {"N": "6"}


def test_a_version_of_an_older_item_is_its_default_for_a_put(db):
    assert db.put(db.page("/").required().run()).run().version == 6


def test_an_older_item_can_be_changed_from_an_object_that_states_the_defaults(db):
    page = Page(url="/", shelf="A", place="hall", version=5)
    assert db.edit(page, place="cellar", views=1).run().version == 6
    assert stored(db)["place_sk"] == {"S": "cellar#A"}


def test_a_write_counts_what_a_factory_made_as_the_value_of_an_older_item(db):
    page = db.page("/").required().run()
    moved = db.move(page, "B").run()
    assert moved.place == page.place
    assert stored(db)["place_sk"] == {"S": f"{page.place}#B"}
    assert stored(db)["place"] == {"S": page.place}
    with pytest.raises(Conflict):  # the version has been counted
        db.move(page, "C").run()


def test_what_a_factory_made_is_stored_when_a_key_contains_it_and_not_before(db):
    page = db.edit(db.page("/").required().run(), views=1).run()
    assert "place" not in stored(db)
    page = db.edit(page, place="hall").run()
    assert (stored(db)["place"], stored(db)["place_sk"]) == ({"S": "hall"}, {"S": "hall#A"})


@pytest.mark.parametrize("hint", [Add[set[str]], Discard[str]])
def test_members_of_a_set_with_a_default_are_refused(hint):
    class Tagged(Item, table=Table("tagged", "pk"), pk="TAGGED#{url}"):
        url: str
        tags: set[str] = {"new"}  # noqa: RUF012 - pydantic copies it

    with pytest.raises(DeclarationError, match="HR250"):

        class Tags(Patterns, Protocol):
            def tag(self, url: str, tags: hint) -> Update[Tagged]: ...  # type: ignore[valid-type]
