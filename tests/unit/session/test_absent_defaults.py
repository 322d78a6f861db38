"""Items that were stored before a field was declared meet conditions on its default, with which they are read."""

from typing import Literal, Protocol

import pytest

import hashrange
from hashrange import (
    Conflict,
    Delete,
    Ensure,
    Eq,
    Get,
    Item,
    Missing,
    Patterns,
    Scan,
    Table,
    Update,
    Upsert,
    Version,
    where,
)
from hashrange.provision import backfill


class Page(Item, table=Table("pages", "slug"), slug="{slug}"):
    slug: str
    title: str = ""
    status: Literal["draft", "done"] = "draft"
    stars: int = 3
    owner: str | None = "nobody"
    version: Version = 0


class Mark(Item, table=Table("marks", "name"), name="{name}"):
    name: str


class Pages(Patterns, Protocol):
    def page(self, slug: str) -> Get[Page]: ...
    def is_version(self, slug: str, version: Eq[int]) -> Ensure[Page]: ...
    def finish(self, slug: str, status: Eq[str], title: str) -> Update[Page]: ...
    def drop(self, slug: str, stars: Eq[int]) -> Delete[Page]: ...
    def drop_of(self, slug: str, owner: Eq[str]) -> Delete[Page]: ...
    @where("{seen} = version")
    def retitle(self, slug: str, seen: int, title: str) -> Update[Page]: ...
    @where("stars IN (3, 4) AND status = 'draft'")
    def reset(self, slug: str, title: str) -> Update[Page]: ...
    @where("NOT stars = {stars_now}")
    def unless(self, slug: str, stars_now: int, title: str) -> Update[Page]: ...
    def put_stars(self, slug: str, status: Eq[str], stars: int) -> Upsert[Page]: ...
    def with_stars(self, stars: int) -> Scan[Page]: ...
    def mark(self, name: str) -> Get[Mark]: ...


@pytest.fixture
def database():
    with hashrange.open() as found:
        hashrange.create_tables(found, Pages)
        found.put_item(TableName="pages", Item={"slug": {"S": "old"}})
        yield found


@pytest.fixture
def db(database):
    return Pages.open(database)


def test_an_ensure_of_the_default_holds(db):
    db.transact(db.is_version("old", 0), db.put(Mark(name="a"))).run()
    assert db.mark("a").run() is not None
    with pytest.raises(Conflict):
        db.transact(db.is_version("old", 1), db.put(Mark(name="b"))).run()


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (lambda db, slug: db.finish(slug, "draft", "a"), lambda db: db.finish("old", "done", "a")),
        (lambda db, slug: db.drop(slug, 3), lambda db: db.drop("old", 0)),
        (lambda db, slug: db.retitle(slug, 0, "a"), lambda db: db.retitle("old", 1, "a")),
        (lambda db, slug: db.unless(slug, 4, "a"), lambda db: db.unless("old", 3, "a")),
    ],
    ids=["Eq", "Delete", "where", "NOT"],
)
def test_a_write_that_expects_the_default_happens_and_one_that_expects_another_value_does_not(db, right, wrong):
    with pytest.raises(Conflict):
        wrong(db).run()
    with pytest.raises(Missing):
        right(db, "nowhere").run()
    assert right(db, "old").run() is not None


def test_one_of_several_constants_may_be_the_default(db):
    assert db.reset("old", "a").run().title == "a"
    with pytest.raises(Missing):
        db.reset("nowhere", "a").run()


def test_an_item_that_has_the_attribute_is_compared_by_it(db):
    db.put(Page(slug="new", stars=5)).run()
    with pytest.raises(Conflict):
        db.drop("new", 3).run()
    assert db.drop("new", 5).run() is not None


def test_only_a_call_with_the_default_has_the_longer_condition():
    requests = [Pages.plan("drop").build({"slug": "old", "stars": stars})[0] for stars in (3, 4)]
    assert ["attribute_not_exists" in request["ConditionExpression"] for request in requests] == [True, False]


def test_an_upsert_that_expects_a_default_does_not_create(db):
    with pytest.raises(Conflict):
        db.put_stars("nowhere", "draft", 1).run()


def test_a_filter_sees_what_is_stored_until_the_backfill(db, database):
    assert db.with_stars(3).run() == []
    with pytest.raises(Conflict):
        db.drop_of("old", "nobody").run()  # None is stored as nothing, so that nothing is not this default
    backfill(database, Pages)
    assert [page.slug for page in db.with_stars(3)] == ["old"]
