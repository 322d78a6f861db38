"""A parameter whose type is a class of fields that the item inherits: a write sets what a call has set in it."""

from typing import Annotated, Protocol

import pytest
from pydantic import BaseModel, Field

import hashrange
from hashrange import (
    Add,
    Commas,
    DeclarationError,
    Get,
    Gsi,
    Item,
    Missing,
    Patterns,
    Query,
    Table,
    Update,
    Upsert,
    ValueInvalid,
    View,
)

table = Table("field-class-pages", "pk", indexes=[Gsi("ByTitle", "title_key", "url")], deletion_protection=False)


class Text(BaseModel, frozen=True):
    title: Annotated[str, Field(max_length=10)]
    summary: str | None = None
    tags: Commas[str] = []


class Page(Text, Item, table=table, pk="PAGE#{url}", title_key="TITLE#{title}"):
    url: str
    views: int = 0


class Pages(Patterns, Protocol):
    def page(self, url: str) -> Get[Page]: ...
    def titled(self, title: str) -> Query[Page]: ...
    def save(self, url: str, text: Text) -> Upsert[Page]: ...
    def edit(self, url: str, text: Text, views: Add[int] = ...) -> Update[Page]: ...
    def rewrite(self, page: Page, text: Text) -> Update[Page]: ...


@pytest.fixture
def db():
    with hashrange.open() as database:
        hashrange.create_tables(database, Pages)
        yield Pages.open(database)


@pytest.fixture
def page(db):
    return db.save("/", Text(title="Start", summary="Old", tags=["a", "b"])).run()


def test_an_upsert_stores_all_fields_of_the_class(db, page):
    assert page == Page(url="/", title="Start", summary="Old", tags=["a", "b"])
    assert db.page("/").run() == page


def test_an_update_sets_what_is_set_and_leaves_the_rest_as_it_is(db, page):
    db.edit("/", Text.model_construct(tags=["c"]), views=2).run()
    assert db.page("/").run() == page.model_copy(update={"tags": ["c"], "views": 2})
    db.edit(text=Text.model_construct(), url="/", views=1).run()
    assert db.page("/").run() == page.model_copy(update={"tags": ["c"], "views": 3})


def test_none_removes_an_attribute(db, page):
    assert db.edit("/", Text.model_construct(summary=None)).run().summary is None
    assert "summary" not in db.session.transport.get_item(TableName=table.name, Key={"pk": {"S": "PAGE#/"}})["Item"]


def test_the_keys_of_changed_fields_change_and_those_of_others_do_not(db, page):
    changed = db.rewrite(page, Text.model_construct(title="Home")).run()
    assert (db.titled("Home").run(), db.titled("Start").run()) == ([changed], [])
    db.rewrite(changed, Text.model_construct(summary="New")).run()
    assert [found.summary for found in db.titled("Home").run()] == ["New"]


def test_an_item_is_an_object_of_the_class_too(db, page):
    other = db.save("/other", page).run()
    assert (other.url, other.title, other.summary, other.tags) == ("/other", "Start", "Old", ["a", "b"])


def test_it_is_one_write_of_a_transaction(db, page):
    db.transact(db.edit("/", Text.model_construct(title="Home")), db.save("/b", Text(title="B"))).run()
    assert [found.url for title in ("Home", "B") for found in db.titled(title)] == ["/", "/b"]
    with pytest.raises(Missing):
        db.edit("/none", Text.model_construct(title="Home")).run()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (Text.model_construct(title="eleven chars"), "Pages.edit: title is 'eleven chars': String should have"),
        (Text.model_construct(tags="a,b"), "Pages.edit: tags is 'a,b'"),
        (Text.model_construct(title=None), "Pages.edit: title is None"),
        ({"title": "Home"}, "Pages.edit: text is a dict, not a Text"),
        (None, "Pages.edit: text is a NoneType, not a Text"),
    ],
)
def test_what_is_not_valid_is_refused_and_changes_nothing(db, page, given, message):
    with pytest.raises(ValueInvalid) as refused:
        db.edit("/", given).run()
    assert message in str(refused.value)
    assert db.page("/").run() == page


def test_an_upsert_without_a_field_that_is_required_is_refused(db):
    with pytest.raises(ValueInvalid, match=r"Pages.save: text does not set title"):
        db.save("/", Text.model_construct(summary="New")).run()


def test_a_call_without_the_object_names_it():
    with hashrange.open() as database, pytest.raises(TypeError, match=r"needs text: it takes url, text, views"):
        Pages.open(database).edit("/")  # type: ignore[call-arg]  # what is tested


def test_the_plan_names_every_field():
    assert Pages.plan("edit").parameters == ("url", "text", "views")
    assert "SET title = {title}, summary = {summary}, tags = {tags}" in Pages.plan("edit").explain()


def refuse(declare):
    with pytest.raises(DeclarationError) as refused:
        declare()
    return refused.value.code, refused.value.problem


def test_a_class_with_a_part_of_the_key_is_refused():
    class Named(BaseModel, frozen=True):
        name: str
        city: str

    class Shop(Named, Item, table=Table("field-class-shops", "pk"), pk="SHOP#{name}"): ...

    def declare():
        class Shops(Patterns, Protocol):
            def move(self, shop: Shop, named: Named) -> Update[Shop]: ...

    assert refuse(declare) == ("HR266", "named is Named, and it has name, which is part of the key")


def test_a_class_with_the_tenant_is_refused():
    class Placed(BaseModel, frozen=True):
        owner: str
        city: str

    class Shop(Placed, Item, table=Table("field-class-stalls", "pk"), pk="SHOP#{name}"):
        name: str

    def declare():
        class Shops(Patterns, Protocol, tenant="owner"):
            def move(self, name: str, placed: Placed) -> Update[Shop]: ...

    assert refuse(declare) == ("HR266", "placed is Placed, and it has owner, the tenant")


def test_a_field_that_another_parameter_sets_too_is_refused():
    def by_itself():
        class Twice(Patterns, Protocol):
            def edit(self, url: str, text: Text, title: str) -> Update[Page]: ...

    def by_a_class():
        class Twice(Patterns, Protocol):
            def edit(self, url: str, text: Text, other: Text) -> Update[Page]: ...

    assert refuse(by_itself) == ("HR266", "text is Text, and another parameter sets its title too")
    assert refuse(by_a_class) == ("HR266", "text is Text, and another parameter sets its summary too")


def test_a_default_is_refused():
    def declare():
        class Optional(Patterns, Protocol):
            def edit(self, url: str, text: Text = ...) -> Update[Page]: ...

    assert refuse(declare) == ("HR266", "text is Text, and has a default")


def test_a_class_that_the_item_does_not_inherit_is_no_class_of_fields():
    class Other(BaseModel, frozen=True):
        title: str

    def declare():
        class Wrong(Patterns, Protocol):
            def edit(self, url: str, other: Other) -> Update[Page]: ...

    assert refuse(declare)[0] == "HR210"


def test_a_lifecycle_in_the_class_is_refused():
    class Door(View["House"]):
        street: str

    class Open(Door, state="OPEN"): ...

    class Shut(Door, state="SHUT"): ...

    class Parts(BaseModel, frozen=True):
        colour: str = "white"
        door: Open | Shut = hashrange.initially(Shut)

    indexes = [Gsi("ByState", "street", "state")]

    class House(Parts, Item, table=Table("field-class-houses", "street", "number", indexes=indexes)):
        street: str
        number: int

    def declare():
        class Houses(Patterns, Protocol):
            def paint(self, street: str, number: int, parts: Parts) -> Update[House]: ...

    assert refuse(declare)[0] == "HR266"
