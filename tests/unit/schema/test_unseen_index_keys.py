"""A write that names an item, but not the variant or state that it has, leaves no stale index key."""

from datetime import UTC, datetime
from typing import Literal, Protocol

import pytest

import hashrange
from hashrange import (
    Conflict,
    DeclarationError,
    Get,
    Gsi,
    Item,
    LocalKeys,
    Patterns,
    Query,
    Secret,
    Table,
    Update,
    View,
    initially,
)

NOON = datetime(2027, 1, 15, 12, tzinfo=UTC)
table = Table("parcels", "pk", indexes=[Gsi("ByCity", "city", "progress", ["number"]), Gsi("Unpaid", "unpaid")])


class Journey(View["Parcel"]):
    number: str
    city: str


class Waiting(Journey, progress="WAITING#"): ...


class Travelling(Journey, progress="TRAVELLING#{sent_at}"):
    sent_at: datetime


class Parcel(Item, table=table, pk="PARCEL#{number}"):
    number: str
    city: str
    stamp: Secret[str] | None = None
    journey: Waiting | Travelling = initially(Waiting)


class Order(Item, table=table, pk="ORDER#{number}"):
    number: str
    town: str
    paid: bool


class Unpaid(Order, unpaid="TOWN#{town}"):
    paid: Literal[False] = False


class Paid(Order):
    paid: Literal[True] = True


class Post(Patterns, Protocol):
    def parcel(self, number: str) -> Get[Parcel]: ...
    def waiting(self, city: str) -> Query[Waiting]: ...
    def unpaid(self, town: str) -> Query[Unpaid]: ...
    def redirect(self, journey: Waiting, city: str) -> Update[Parcel]: ...
    def move_unpaid(self, order: Unpaid, town: str) -> Update[Unpaid]: ...
    def move_paid(self, order: Paid, town: str) -> Update[Paid]: ...


@pytest.fixture
def db():
    with hashrange.open() as database:
        hashrange.create_tables(database, Post)
        yield Post.open(database, keys=LocalKeys.generate())


def test_a_field_of_a_state_is_not_set_through_the_item():
    with pytest.raises(DeclarationError, match=r"HR248 .*TRAVELLING#.* of Travelling would go stale where sent_at"):

        class Wrong(Patterns, Protocol):
            def postpone(self, number: str, sent_at: datetime) -> Update[Parcel]: ...


def test_what_tells_a_variant_with_a_key_is_not_set_through_the_item():
    with pytest.raises(DeclarationError, match=r"HR248 .*of Unpaid would go stale where paid changes"):

        class Wrong(Patterns, Protocol):
            def pay(self, number: str, paid: bool) -> Update[Order]: ...


def test_a_step_that_returns_the_item_leaves_its_state_alone(db):
    db.create(Parcel(number="1", city="Graz")).run()
    [waiting] = db.waiting("Graz")
    assert db.redirect(waiting, city="Linz").run().journey == Waiting(number="1", city="Linz")
    assert db.waiting("Linz").run() == [Waiting(number="1", city="Linz")]


def test_a_variant_that_is_passed_in_takes_its_key_along(db):
    order = db.create(Unpaid(number="1", town="Graz")).run()
    moved = db.move_unpaid(order, town="Linz").run()
    assert db.unpaid("Graz").run() == []
    assert db.unpaid("Linz").run() == [moved]


def test_secrets_are_not_shown_by_texts_about_an_item(db):
    parcel = db.create(Parcel(number="1", city="Graz", stamp="hush")).run()
    [waiting] = db.waiting("Graz")
    db.redirect(waiting, city="Linz").run()
    with pytest.raises(Conflict) as conflict:
        db.redirect(waiting, city="Wels").run()
    assert conflict.value.current.stamp == "hush"
    for text in (str(conflict.value), repr(parcel), str(parcel)):
        assert "hush" not in text
