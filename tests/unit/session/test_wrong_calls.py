"""Calls that cannot be meant: each is refused with a text that says what to write."""

from typing import Literal, Protocol

import pytest

import hashrange
from hashrange import Get, Gsi, Item, Patterns, Query, Table, Update, Upsert, ValueInvalid

table = Table("orders", "pk", "sk", deletion_protection=False, indexes=[Gsi("ByCity", "city")])


class Order(Item, table=table, pk="ORDER#{id}", sk="{number:04d}"):
    id: str
    number: int
    city: str = "Graz"


class Orders(Patterns, Protocol):
    def order(self, id: str, number: int) -> Get[Order]: ...  # noqa: A002
    def orders(self, id: str) -> Query[Order]: ...  # noqa: A002
    def move(self, id: str, number: int, city: str) -> Update[Order]: ...  # noqa: A002


@pytest.fixture
def db():
    with hashrange.open() as database:
        hashrange.create_tables(database, Orders)
        yield Orders.open(database)


@pytest.mark.parametrize("count", [2, 60], ids=["in one request", "in two requests"])
def test_a_batch_has_each_key_once_however_many_items_it_has(db, count):
    items = [Order(id="1", number=number) for number in range(count - 1)]
    with pytest.raises(ValueInvalid, match=r"two items of the batch have the key .*ORDER#1.*0000"):
        db.batch([*items, Order(id="1", number=0, city="Wien")]).run()
    assert db.orders("1").run() == []


def test_a_batch_does_not_put_and_delete_one_item(db):
    order = Order(id="1", number=1)
    with pytest.raises(ValueInvalid, match="a batch has each key once"):
        db.batch([order], delete=[order]).run()


def test_a_list_given_to_transact_is_refused_with_the_name_of_transact_all(db):
    with pytest.raises(
        ValueInvalid, match=r"^a list is not a write: transact takes writes one by one, transact_all a list"
    ):
        db.transact([db.create(Order(id="1", number=1))])


def test_an_object_without_a_name_is_described_by_its_class(db):
    with pytest.raises(ValueInvalid, match=r"^an object is not a write"):
        db.transact(object())


def test_the_plan_of_an_unknown_pattern_is_refused_with_the_names_of_all():
    with pytest.raises(ValueInvalid, match=r"^Orders has no pattern ordr: it has order, orders, move$"):
        Orders.plan("ordr")


@pytest.mark.parametrize("size", [0, -1, 1001])
def test_a_page_of_another_size_is_an_invalid_value(db, size):
    with pytest.raises(ValueInvalid, match=f"a page has 1 to 1000 items, not {size}"):
        db.orders("1").page(size)


def test_a_negative_limit_is_an_invalid_value(db):
    with pytest.raises(ValueInvalid, match="at most -1 items"):
        db.orders("1").limit(-1)


def test_an_empty_index_key_is_refused_without_proposing_a_none_that_the_field_does_not_take(db):
    text = r"cannot be empty: give a value, or None if it is declared with \| None$"
    with pytest.raises(ValueInvalid, match=text):
        db.create(Order(id="1", number=1, city="")).run()
    with pytest.raises(ValueInvalid, match=text):
        db.move("1", 1, "").run()


class Bill(Item, table=Table("bills", "pk", indexes=[Gsi("ByOpen", "open_key")]), pk="BILL#{id}"):
    id: str
    team: str
    paid: bool


class OpenBill(Bill, open_key="OPEN#{team}"):
    paid: Literal[False] = False


class PaidBill(Bill):
    paid: Literal[True] = True


class Bills(Patterns, Protocol):
    def bill(self, id: str) -> Get[Bill]: ...  # noqa: A002
    def open_bills(self, team: str) -> Query[OpenBill]: ...
    def write(self, id: str, team: str, paid: bool) -> Upsert[OpenBill]: ...  # noqa: A002


def test_a_value_that_the_state_entered_never_has_is_refused_before_it_is_written():
    with hashrange.open() as database:
        hashrange.create_tables(database, Bills)
        db = Bills.open(database)
        with pytest.raises(ValueInvalid, match="paid is True: Input should be False"):
            db.write("1", "a", True).run()
        assert db.bill("1").run() is None
        assert db.write("1", "a", False).run() == OpenBill(id="1", team="a")
