"""Integers without padding in partition keys, which nothing sorts by: written as `str` does, and read back from it."""

from typing import Protocol

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hashrange
from hashrange import (
    Add,
    DeclarationError,
    Get,
    Gsi,
    Item,
    Key,
    Patterns,
    Query,
    Scan,
    Table,
    Update,
    Upsert,
    ValueInvalid,
)
from hashrange.provision import backfill

table = Table("counters", "pk", "sk", indexes=[Gsi("ByOwner", "owner_pk", "sk")], deletion_protection=False)


class Counter(Item, table=table, pk="COUNTER#{event}#{shard}", sk="VIEWS"):
    event: Key[str]
    shard: Key[int]
    views: int


class User(Item, table=table, pk="USER#{id}", sk="USER#", owner_pk="OWNER#{owner}"):
    id: int
    owner: int | None = None


class Counters(Patterns, Protocol):
    def counter(self, event: str, shard: int) -> Get[Counter]: ...
    def view(self, event: str, shard: int, views: Add[int]) -> Upsert[Counter]: ...
    def user(self, id: int) -> Get[User]: ...  # noqa: A002
    def owned(self, owner: int) -> Query[User]: ...
    def give(self, id: int, owner: int | None) -> Update[User]: ...  # noqa: A002
    def everything(self) -> Scan[Counter | User]: ...


@pytest.fixture(scope="module")
def database():
    with hashrange.open() as opened:
        hashrange.create_tables(opened, Counters)
        yield opened


@pytest.fixture(scope="module")
def db(database):
    return Counters.open(database)


@settings(max_examples=60, deadline=None)
@given(shard=st.integers(), owner=st.integers(-(10**37), 10**37))
def test_an_integer_stands_in_the_partition_key_as_str_writes_it(database, db, shard, owner):
    db.view("e", shard, views=1).run()
    key = {"pk": {"S": f"COUNTER#e#{shard}"}, "sk": {"S": "VIEWS"}}
    assert "Item" in database.call("GetItem", {"TableName": "counters", "Key": key})
    found = db.counter("e", shard).required().run()
    assert (type(found.shard), found.shard) == (int, shard)
    db.put(User(id=owner, owner=owner)).run()
    assert [(user.id, user.owner) for user in db.owned(owner)] == [(owner, owner)]
    db.give(owner, owner=None).run()
    assert db.owned(owner).run() == []


@pytest.mark.parametrize("text", ["01", "1.0", "+1", "-0", "1_0", " 1", "1e3", "x", "１"])  # noqa: RUF001 - a digit too
def test_a_number_of_another_form_is_no_key_of_the_class(text):
    with hashrange.open() as database:
        hashrange.create_tables(database, Counters)
        item = {"pk": {"S": f"COUNTER#e#{text}"}, "sk": {"S": "VIEWS"}, "views": {"N": "1"}}
        database.call("PutItem", {"TableName": "counters", "Item": item})
        assert Counters.open(database).everything().run() == []
        [report] = backfill(database, Counters)
        assert (report.undeclared, report.repaired) == (1, 0)


def test_a_bool_is_no_integer_of_a_key(db):
    with pytest.raises(ValueInvalid, match="True is a bool"):
        db.user(True).run()


def test_a_delimiter_that_is_a_minus_refuses_negative_numbers():
    dashed = Table("dashed", "pk")

    class Dashed(Item, table=dashed, pk="{number}-{name}"):
        number: int
        name: str

    class Dashes(Patterns, Protocol):
        def dashed(self, number: int, name: str) -> Get[Dashed]: ...

    with hashrange.open() as database:
        hashrange.create_tables(database, Dashes)
        with pytest.raises(ValueInvalid, match="number '-1' contains '-'"):
            Dashes.open(database).dashed(-1, "x").run()


@pytest.mark.parametrize("kind", ["sort key of the table", "sort key of an index", "not an integer"])
def test_a_number_that_is_sorted_or_no_integer_needs_a_format(kind):
    indexes = [Gsi("ByPk", "other", "pk")] if kind == "sort key of an index" else []
    sorted_table = Table("sorted", "pk", "sk", indexes=indexes)
    hint = float if kind == "not an integer" else int
    keys = {"pk": "A", "sk": "N#{number}"} if kind == "sort key of the table" else {"pk": "N#{number}", "sk": "A"}

    class Sorted(Item, table=sorted_table, keys=keys):
        number: hint  # type: ignore[valid-type]

    with pytest.raises(DeclarationError, match="HR133"):

        class Numbers(Patterns, Protocol):
            def found(self) -> Scan[Sorted]: ...


def test_classes_whose_partition_keys_have_the_same_form_are_refused():
    same = Table("same", "pk")

    class Number(Item, table=same, pk="X#{number}"):
        number: int

    class Name(Item, table=same, pk="X#{name}"):
        name: str

    with pytest.raises(DeclarationError, match="HR1"):

        class Both(Patterns, Protocol):
            def number(self, number: int) -> Get[Number]: ...
            def name(self, name: str) -> Get[Name]: ...
