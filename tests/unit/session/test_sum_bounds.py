"""Bounds of fields hold for what an update adds to: no sum or length is stored that could not be read."""

from decimal import Decimal
from typing import Annotated, Protocol

import pytest
from pydantic import BaseModel, Field

import hashrange
from hashrange import (
    Add,
    Append,
    At,
    Conflict,
    DeclarationError,
    Discard,
    Get,
    Item,
    Patterns,
    Table,
    Update,
    Upsert,
    ValueInvalid,
)

Natural = Annotated[int, Field(ge=0)]
table = Table("boxes", "pk")


class Inner(BaseModel):
    count: Natural | None = None
    words: Annotated[list[str], Field(max_length=2)] = []


class Box(Item, table=table, pk="BOX#{code}"):
    code: str
    optional: Natural | None = None
    beside: Annotated[int | None, Field(ge=0)] = None
    inner: Inner = Inner()
    numbers: list[Natural] = [1]  # noqa: RUF012 - pydantic copies defaults
    named: dict[str, Natural] = {"a": 1}  # noqa: RUF012 - same
    notes: Annotated[list[str], Field(max_length=2)] = []  # noqa: RUF012 - same
    pairs: Annotated[list[str], Field(min_length=2)] | None = None
    fives: Annotated[int, Field(multiple_of=5)] = 0
    price: Annotated[Decimal, Field(decimal_places=2)] = Decimal(1)
    codes: set[Annotated[str, Field(max_length=3)]] = set()  # noqa: RUF012 - same


class Boxes(Patterns, Protocol):
    def box(self, code: str) -> Get[Box]: ...
    def add_optional(self, code: str, optional: Add[int]) -> Update[Box]: ...
    def add_beside(self, code: str, beside: Add[int]) -> Update[Box]: ...
    def add_inner(self, code: str, n: Annotated[Add[int], At("inner.count")]) -> Update[Box]: ...
    def add_number(self, code: str, at: int, n: Annotated[Add[int], At("numbers[{at}]")]) -> Update[Box]: ...
    def add_named(self, code: str, name: str, n: Annotated[Add[int], At("named.{name}")]) -> Update[Box]: ...
    def note(self, code: str, notes: Append[str]) -> Update[Box]: ...
    def pair(self, code: str, pairs: Append[str]) -> Update[Box]: ...
    def word(self, code: str, words: Annotated[Append[str], At("inner.words")]) -> Update[Box]: ...
    def number(self, code: str, numbers: Append[int]) -> Update[Box]: ...
    def add_fives(self, code: str, fives: Add[int]) -> Update[Box]: ...
    def add_price(self, code: str, price: Add[Decimal]) -> Update[Box]: ...
    def add_code(self, code: str, codes: Add[set[str]]) -> Update[Box]: ...


@pytest.fixture
def db(database):
    hashrange.create_tables(database, Boxes)
    found = Boxes.open(database)
    found.create(Box(code="1")).run()
    return found


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        (lambda db: db.add_optional("1", 2), lambda db: db.add_optional("1", -3)),
        (lambda db: db.add_beside("1", 2), lambda db: db.add_beside("1", -3)),
        (lambda db: db.add_inner("1", 2), lambda db: db.add_inner("1", -3)),
        (lambda db: db.add_number("1", 0, 1), lambda db: db.add_number("1", 0, -3)),
        (lambda db: db.add_named("1", "a", 1), lambda db: db.add_named("1", "a", -3)),
        (lambda db: db.add_named("1", "new", 2), lambda db: db.add_named("1", "other", -1)),
        (lambda db: db.note("1", ["a"]), lambda db: db.note("1", ["b", "c"])),
        (lambda db: db.word("1", ["a"]), lambda db: db.word("1", ["b", "c"])),
    ],
)
def test_a_sum_or_a_length_beyond_its_bound_is_a_conflict(db, good, bad):
    good(db).run()
    before = db.box("1").run()
    with pytest.raises(Conflict):
        bad(db).run()
    assert db.box("1").run() == before


def test_a_bound_holds_for_an_absent_value_too(db):
    with pytest.raises(Conflict):
        db.add_optional("1", -1).run()
    with pytest.raises(Conflict):
        db.pair("1", ["one"]).run()
    assert db.pair("1", ["one", "two"]).run().pairs == ["one", "two"]
    assert db.pair("1", ["three"]).run().pairs == ["one", "two", "three"]
    with pytest.raises(Conflict):
        db.note("1", ["a", "b", "c"]).run()


@pytest.mark.parametrize(
    "write",
    [
        lambda db: db.add_fives("1", 3),
        lambda db: db.add_price("1", Decimal("0.001")),
        lambda db: db.number("1", [-5]),
        lambda db: db.add_code("1", {"long"}),
    ],
)
def test_what_is_added_meets_the_constraints_of_its_field(db, write):
    with pytest.raises(ValueInvalid):
        write(db)


def test_the_plan_shows_the_bound_of_a_length():
    assert "size(notes) <= 2 - size({notes})  (if notes is given)" in Boxes.plan("note").explain()


def test_bounds_that_no_condition_can_test_are_refused():
    bags = Table("bags", "pk")

    class Bag(Item, table=bags, pk="BAG#{code}"):
        code: str
        tags: Annotated[set[str], Field(max_length=2)] = set()  # noqa: RUF012 - pydantic copies defaults
        price: Annotated[Decimal, Field(max_digits=3)] = Decimal(1)

    with pytest.raises(DeclarationError, match=r"HR260 .*tags changes a value .* number of its members"):

        class AddsMembers(Patterns, Protocol):
            def tag(self, code: str, tags: Add[set[str]]) -> Update[Bag]: ...

    with pytest.raises(DeclarationError, match="HR260"):

        class RemovesMembers(Patterns, Protocol):
            def untag(self, code: str, tags: Discard[str]) -> Update[Bag]: ...

    with pytest.raises(DeclarationError, match=r"HR260 .*number of digits"):

        class AddsDigits(Patterns, Protocol):
            def raise_price(self, code: str, price: Add[Decimal]) -> Update[Bag]: ...


class Meter(Item, table=Table("meters", "pk"), pk="METER#{name}"):
    name: str
    total: Annotated[int, Field(ge=0, le=10)] = 0


class Meters(Patterns, Protocol):
    def add(self, name: str, total: Add[int]) -> Upsert[Meter]: ...


@pytest.mark.parametrize(("amount", "bound"), [(11, "total <= 10"), (-1, "total >= 0")])
def test_an_upsert_that_would_create_an_item_beyond_a_bound_names_the_bound(amount: int, bound: str) -> None:
    with hashrange.open() as database:
        hashrange.create_tables(database, Meters)
        db = Meters.open(database)
        with pytest.raises(hashrange.Conflict, match=f"a new one would not meet {bound}$") as caught:
            db.add("1", amount).run()
        assert not isinstance(caught.value, hashrange.Missing)
        assert db.add("1", 10).run().total == 10
