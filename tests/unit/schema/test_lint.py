"""Lint findings: accepting those that are meant, and what the texts propose."""

from datetime import datetime
from typing import Annotated, Protocol

import pytest
from pydantic import Field

from hashrange import Append, DeclarationError, Get, Gsi, Item, Patterns, Scan, Table, Update, where

table = Table("orders", "pk", indexes=[Gsi("ByMonth", "month_key"), Gsi("ByCity", "city_key")])


class Order(Item, table=table, pk="ORDER#{id}", month_key="{at:month}"):
    id: str
    at: datetime
    is_paid: bool = False


def findings(patterns):
    return {f"{lint.code} {lint.location}" for lint in patterns.lint()}


def test_an_accepted_finding_is_not_reported_and_the_others_are():
    class Accepting(Patterns, Protocol, accept=("HR401 Accepting.all_orders", "HR404 index ByMonth")):
        def all_orders(self) -> Scan[Order]: ...
        def more_orders(self) -> Scan[Order]: ...

    assert findings(Accepting) == {"HR401 Accepting.more_orders", "HR404 index ByCity"}


def test_an_acceptance_of_what_is_not_found_is_reported():
    class Outdated(Patterns, Protocol, accept="HR401 Outdated.order"):
        def order(self, id: str) -> Get[Order]: ...  # noqa: A002

    assert "HR412 Outdated" in findings(Outdated)


def test_a_class_accepts_what_its_base_accepts():
    class Base(Patterns, Protocol, accept=("HR404 index ByCity",)):
        def order(self, id: str) -> Get[Order]: ...  # noqa: A002

    class Derived(Base, Protocol, accept=("HR404 index ByMonth",)):
        pass

    assert findings(Derived) == set()


def test_an_index_whose_key_no_item_class_has_is_reported_as_such():
    class Reading(Patterns, Protocol):
        def order(self, id: str) -> Get[Order]: ...  # noqa: A002

    [text] = [lint.text for lint in Reading.lint() if lint.location == "index ByCity"]
    assert text.startswith("has the key city_key, which no item class has")


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("is_paid = false", "false in @where.*compare with a parameter"),
        ("is_paid = None", "None in @where.*write attribute_exists"),
    ],
)
def test_a_constant_that_dynamodb_does_not_have_is_named_with_its_remedy(text, remedy):
    with pytest.raises(DeclarationError, match=f"HR210 .*{remedy}"):

        class Refused(Patterns, Protocol):
            @where(text)
            def unpaid(self) -> Scan[Order]: ...


def test_a_list_has_its_bound_wherever_the_bound_stands():
    lists = Table("lists", "pk")

    class Lists(Item, table=lists, pk="LISTS#{id}"):
        id: str
        inside: Annotated[list[int], Field(max_length=3)] | None = None
        outside: Annotated[list[int] | None, Field(max_length=3)] = None
        beside: list[int] | None = Field(default=None, max_length=3)
        elements: list[Annotated[str, Field(max_length=3)]] | None = None
        unbounded: list[int] | None = None

    class Growing(Patterns, Protocol):
        def one(self, id: str) -> Get[Lists]: ...  # noqa: A002
        def inner(self, id: str, inside: Append[int]) -> Update[Lists]: ...  # noqa: A002
        def outer(self, id: str, outside: Append[int]) -> Update[Lists]: ...  # noqa: A002
        def other(self, id: str, beside: Append[int]) -> Update[Lists]: ...  # noqa: A002
        def each(self, id: str, elements: Append[str]) -> Update[Lists]: ...  # noqa: A002
        def more(self, id: str, unbounded: Append[int]) -> Update[Lists]: ...  # noqa: A002

    assert findings(Growing) == {"HR409 Lists.elements", "HR409 Lists.unbounded"}
