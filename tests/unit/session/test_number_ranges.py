"""Ranges of numbers in keys: a bound that the format of the key cannot hold is compared as any other number."""

import operator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Protocol

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hashrange
from hashrange import Between, Ge, Gt, Item, Key, Le, Lt, Millis, Patterns, Query, Table, ValueInvalid

table = Table("offers", "pk", "sk", deletion_protection=False)


class Offer(Item, table=table, pk="OFFER#{shop}", sk="P#{price:010.2f}#{name}"):
    shop: Key[str]
    price: Key[Decimal]
    name: Key[str]


class Balance(Item, table=table, pk="BALANCE#{shop}", sk="{amount:+05d}"):
    shop: Key[str]
    amount: Key[int]


class Stock(Item, table=table, pk="STOCK#{shop}", sk="N#{number:04d}"):
    shop: Key[str]
    number: Key[int]


class Offers(Patterns, Protocol):
    def price_lt(self, shop: str, price: Lt[Decimal]) -> Query[Offer]: ...
    def price_le(self, shop: str, price: Le[Decimal]) -> Query[Offer]: ...
    def price_gt(self, shop: str, price: Gt[Decimal]) -> Query[Offer]: ...
    def price_ge(self, shop: str, price: Ge[Decimal]) -> Query[Offer]: ...
    def price_between(self, shop: str, price: Between[Decimal]) -> Query[Offer]: ...
    def amount_lt(self, shop: str, amount: Lt[int]) -> Query[Balance]: ...
    def amount_le(self, shop: str, amount: Le[int]) -> Query[Balance]: ...
    def amount_gt(self, shop: str, amount: Gt[int]) -> Query[Balance]: ...
    def amount_ge(self, shop: str, amount: Ge[int]) -> Query[Balance]: ...
    def amount_between(self, shop: str, amount: Between[int]) -> Query[Balance]: ...
    def number_lt(self, shop: str, number: Lt[int]) -> Query[Stock]: ...
    def number_le(self, shop: str, number: Le[int]) -> Query[Stock]: ...
    def number_gt(self, shop: str, number: Gt[int]) -> Query[Stock]: ...
    def number_ge(self, shop: str, number: Ge[int]) -> Query[Stock]: ...
    def number_between(self, shop: str, number: Between[int]) -> Query[Stock]: ...


STORED: dict[str, list[Any]] = {
    "price": [Decimal(text) for text in ("0", "0.01", "5.25", "9999999.98", "9999999.99")],
    "amount": [-99999, -99998, -1, 0, 7, 99999],
    "number": [0, 1, 500, 9998, 9999],
}
FAR = st.sampled_from([10**4, 10**5, 10**7, 10**12, 10**30])
WHOLE = st.integers(-200_000, 200_000) | FAR | FAR.map(operator.neg)
CENTS = WHOLE.map(Decimal) | st.decimals(-1000, 10**8, places=2) | st.sampled_from(STORED["price"])


@pytest.fixture(scope="module")
def db():
    with hashrange.open() as database:
        hashrange.create_tables(database, Offers)
        opened = Offers.open(database)
        opened.batch([Offer(shop="a", price=price, name="x") for price in STORED["price"]]).run()
        opened.batch([Balance(shop="a", amount=amount) for amount in STORED["amount"]]).run()
        opened.batch([Stock(shop="a", number=number) for number in STORED["number"]]).run()
        yield opened


def check(db, field, bound, other):
    for name in ("lt", "le", "gt", "ge"):
        found = [getattr(one, field) for one in getattr(db, f"{field}_{name}")("a", bound)]
        assert found == [value for value in STORED[field] if getattr(operator, name)(value, bound)]
    low, high = sorted((bound, other))
    found = [getattr(one, field) for one in getattr(db, f"{field}_between")("a", (low, high))]
    assert found == [value for value in STORED[field] if low <= value <= high]


@settings(max_examples=60, deadline=None)
@given(bound=CENTS, other=CENTS)
def test_a_range_of_prices_may_end_beyond_the_digits_of_the_key(db, bound, other):
    check(db, "price", bound, other)


@settings(max_examples=60, deadline=None)
@given(field=st.sampled_from(["amount", "number"]), bound=WHOLE, other=WHOLE)
def test_a_range_of_whole_numbers_may_end_beyond_the_digits_of_the_key(db, field, bound, other):
    check(db, field, bound, other)


@pytest.mark.parametrize(
    "bound", [Decimal("9999999.991"), Decimal("-0.001"), Decimal("Infinity"), Decimal("-Infinity")]
)
def test_a_bound_with_more_decimals_than_the_key_and_an_infinite_one_are_compared(db, bound):
    check(db, "price", bound, Decimal(3))


def test_a_bound_that_is_no_number_is_refused(db):
    with pytest.raises(ValueInvalid, match="NaN cannot be the bound of a range"):
        db.price_lt("a", Decimal("NaN")).run()


def test_bounds_between_two_numbers_of_the_key_find_nothing(db):
    between = Decimal("5.251"), Decimal("5.259")
    found = db.price_between("a", between)
    assert found.run() == []
    assert found.count().run() == 0
    assert found.page(2).run().items == []
    assert [one.price for one in db.price_between("a", (Decimal("5.241"), Decimal("5.259")))] == [Decimal("5.25")]


def test_bounds_in_the_wrong_order_are_refused_when_the_query_is_built(db):
    with pytest.raises(ValueInvalid, match="the lower bound is above the upper one"):
        db.price_between("a", (Decimal(5), Decimal(3)))
    with pytest.raises(ValueInvalid, match="the lower bound is above the upper one"):
        db.explore(Offer).where("shop = 'a' AND price BETWEEN 5 AND 3")


@pytest.mark.parametrize("given", [3, (3,), (3, 4, 5), "34"], ids=repr)
def test_a_range_is_a_pair_of_bounds(db, given):
    with pytest.raises(ValueInvalid, match=r"price_between: price is .*: give a pair, \(low, high\)"):
        db.price_between("a", given)


def test_bounds_that_are_given_as_two_arguments_are_refused_with_the_form_of_the_pair(db):
    with pytest.raises(TypeError, match=r"got 3 arguments: it takes shop, price; price is one argument, a pair"):
        db.price_between("a", 3, 5)


events = Table("events", "pk", "sk", deletion_protection=False)


class Event(Item, table=events, pk="EVENT#{shop}", sk="{id}"):
    shop: Key[str]
    id: Key[str]
    at: Millis


class Events(Patterns, Protocol):
    def at_between(self, shop: str, at: Between[datetime]) -> Query[Event]: ...


def test_bounds_between_two_moments_that_are_stored_find_nothing():
    with hashrange.open() as database:
        hashrange.create_tables(database, Events)
        db = Events.open(database)
        day = datetime(2026, 11, 18, tzinfo=UTC)
        db.put(Event(shop="a", id="1", at=day)).run()
        within = day + timedelta(microseconds=200), day + timedelta(microseconds=700)
        assert db.at_between("a", within).run() == []
        assert db.at_between("a", (day, within[1])).count().run() == 1
