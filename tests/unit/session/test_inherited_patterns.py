"""Patterns that a class inherits: from a Patterns class they work, from any other Protocol they are refused."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Protocol

import pytest

import hashrange
from hashrange import DeclarationError, Get, Item, Patterns, Table, Update

if TYPE_CHECKING:
    from hashrange import Query

table = Table("inherited-orders", "pk", deletion_protection=False)


class Order(Item, table=table, pk="ORDER#{id}"):
    id: str
    city: str


class Lookup(Protocol):
    def order(self, id: str) -> Get[Order]: ...  # noqa: A002 - the name of the field


class Unresolved(Protocol):
    def orders(self, id: str) -> Query[Order]: ...  # noqa: A002 - same


class Described(Protocol):
    def describe(self, order: Order) -> str:
        return f"{order.id} in {order.city}"


class Orders(Patterns, Protocol):
    def order(self, id: str) -> Get[Order]: ...  # noqa: A002 - same
    def move(self, id: str, city: str) -> Update[Order]: ...  # noqa: A002 - same


@pytest.mark.parametrize("base", [Lookup, Unresolved])
def test_a_pattern_of_a_protocol_that_compiles_none_is_refused(base):
    with pytest.raises(DeclarationError) as caught:
        types.new_class("Refused", (Patterns, base, Protocol))
    error = caught.value
    assert (error.code, error.location) == ("HR265", f"Refused.{'order' if base is Lookup else 'orders'}")
    assert f"write class {base.__name__}(Patterns, Protocol)" in error.remedy


def test_it_is_refused_too_when_it_is_inherited_through_another_class():
    class Between(Lookup, Protocol): ...

    with pytest.raises(DeclarationError, match=r"HR265 Refused.order: is inherited from Lookup"):

        class Refused(Patterns, Between, Protocol): ...


def test_a_class_that_declares_the_pattern_itself_may_inherit_the_protocol():
    class Accepted(Orders, Lookup, Protocol): ...

    with hashrange.open() as database:
        hashrange.create_tables(database, Accepted)
        db = Accepted.open(database)
        db.create(Order(id="1", city="Ulm")).run()
        found: Lookup = db
        assert found.order("1").run() == Order(id="1", city="Ulm")


def test_a_method_that_is_no_pattern_is_inherited_from_any_protocol():
    class Accepted(Orders, Described, Protocol): ...

    with hashrange.open() as database:
        assert Accepted.open(database).describe(Order(id="1", city="Ulm")) == "1 in Ulm"
