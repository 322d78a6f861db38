"""Whole items are written as what their values make them: of the right variant, valid, and as they are returned."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Literal, Protocol

import pytest

import hashrange
from hashrange import (
    Commas,
    Get,
    Gsi,
    Item,
    Patterns,
    Query,
    Secret,
    Table,
    Update,
    Upsert,
    ValueInvalid,
    Version,
    View,
    initially,
)

NOON = datetime(2027, 1, 15, 12, tzinfo=UTC)
table = Table("orders", "pk", "sk", indexes=[Gsi("Unpaid", "unpaid", "placed_at"), Gsi("ByState", "name", "state_key")])

tags = Table("tags", "name", indexes=[Gsi("ByLabel", "label"), Gsi("ByWords", "words"), Gsi("ByHash", "digest")])


class Order(Item, table=table, pk="CUSTOMER#{name}", sk="ORDER#{number:06d}"):
    name: str
    number: int
    total: Decimal = Decimal(1)
    placed_at: datetime = NOON
    paid: bool
    note: Literal["a", "b"] = "a"
    token: Secret[str] | None = None
    version: Version = 0


class Unpaid(Order, unpaid="{name}"):
    paid: Literal[False] = False


class Shipment(Item, table=table, pk="SHIPMENT#{name}", sk="#"):
    name: str
    status: Literal["waiting", "travelling"]


class Travelling(Shipment, unpaid="VAN#{van}"):
    status: Literal["travelling"] = "travelling"
    van: str


class Parcel(Item, table=table, pk="PARCEL#{name}", sk="#"):
    name: str
    fragile: bool = False
    heavy: bool = False


class Fragile(Parcel, unpaid="FRAGILE"):
    fragile: Literal[True] = True


class Heavy(Parcel, state_key="HEAVY"):
    heavy: Literal[True] = True


class State(View["Seat"]):
    name: str
    row: int = 0


class Free(State, state_key="FREE#{row:03d}"): ...


class Seat(Item, table=table, pk="SEAT#{name}", sk="#"):
    name: str
    row: int = 0
    state: Free = initially(Free)


class Tag(Item, table=tags):
    name: str
    label: str | None = None
    words: Commas[str] | None = None
    digest: bytes | None = None


class Orders(Patterns, Protocol):
    def relabel(self, name: str, label: str | None) -> Update[Tag]: ...
    def reword(self, name: str, words: Commas[str] | None) -> Update[Tag]: ...
    def upsert_words(self, name: str, words: Commas[str]) -> Upsert[Tag]: ...
    def rehash(self, name: str, digest: bytes) -> Update[Tag]: ...
    def order(self, name: str, number: int) -> Get[Order]: ...
    def unpaid(self, name: str) -> Query[Unpaid]: ...
    def shipment(self, name: str) -> Get[Shipment]: ...
    def parcel(self, name: str) -> Get[Parcel]: ...
    def seat(self, name: str) -> Get[Seat]: ...


@pytest.fixture
def db(database):
    hashrange.create_tables(database, Orders)
    return Orders.open(database)


def test_an_item_with_the_values_of_a_variant_is_stored_as_the_variant(db):
    created = db.create(Order(name="ann", number=1, paid=False)).run()
    assert type(created) is Unpaid
    assert db.unpaid("ann").run() == [created]
    db.batch([Order(name="ann", number=2, paid=False), Order(name="ann", number=3, paid=True)]).run()
    assert [order.number for order in db.unpaid("ann")] == [1, 2]
    paid = db.order("ann", 3).run()
    db.put(paid.model_copy(update={"paid": False})).run()
    assert [order.number for order in db.unpaid("ann")] == [1, 2, 3]


def test_a_copy_of_a_variant_with_a_value_of_another_class_is_refused(db):
    unpaid = db.create(Unpaid(name="ann", number=1)).run()
    for write in (
        db.put(unpaid.model_copy(update={"paid": True})),
        db.batch([unpaid.model_copy(update={"paid": True})]),
    ):
        with pytest.raises(ValueInvalid, match=r"Unpaid\.paid is True: Input should be False"):
            write.run()
    assert db.unpaid("ann").run() == [unpaid]


def test_the_refusal_names_the_variant_that_the_values_make(db):
    waiting = Shipment(name="1", status="waiting")
    with pytest.raises(
        ValueInvalid, match=r"has the values of Travelling, whose van is invalid.*construct a Travelling"
    ):
        db.put(waiting.model_copy(update={"status": "travelling"})).run()
    travelling = Travelling(name="1", van="v")
    with pytest.raises(ValueInvalid, match=r"Travelling\.status is 'waiting'"):
        db.put(travelling.model_copy(update={"status": "waiting"})).run()
    heavy = Heavy(name="1")
    with pytest.raises(ValueInvalid, match=r"Heavy\.heavy is False: .*; these are the values of a Fragile"):
        db.put(heavy.model_copy(update={"heavy": False, "fragile": True})).run()


def test_an_item_with_the_values_of_two_variants_is_refused(db):
    with pytest.raises(ValueInvalid, match="has the values of Fragile and Heavy"):
        db.create(Parcel(name="1", fragile=True, heavy=True)).run()
    assert db.create(Heavy(name="1", fragile=True)).run() == db.parcel("1").run()


@pytest.mark.parametrize(
    "change", [{"number": "bad"}, {"total": "bad"}, {"note": "c"}, {"placed_at": "noon"}, {"token": 5}]
)
def test_values_that_could_not_be_read_back_are_refused(db, change):
    order = db.create(Order(name="ann", number=1, paid=True)).run()
    copies = [order.model_copy(update=change), Order.model_construct(**{**dict(order), **change})]
    for copy in copies:
        for write in (db.put(copy), db.batch([copy]), db.create(copy), db.transact(db.put(copy))):
            with pytest.raises(ValueInvalid, match=rf"Order\.{next(iter(change))} is"):
                write.run()
    assert db.order("ann", 1).run() == order


def test_a_refused_secret_is_not_shown(db):
    order = Order(name="ann", number=1, paid=True)
    with pytest.raises(ValueInvalid, match=r"Order\.token is \.\.\.: "):
        db.put(order.model_copy(update={"token": ["visible"]})).run()


def test_a_value_of_a_copy_is_converted_like_that_of_a_new_item(db):
    order = db.create(Order(name="ann", number=1, paid=True)).run()
    changed = db.put(order.model_copy(update={"total": "2.50"})).run()
    assert changed == db.order("ann", 1).run()
    assert changed.total == Decimal("2.50")


def test_create_returns_the_state_with_the_values_that_are_stored(db):
    created = db.create(Seat(name="1", row=5, state=Free(name="1"))).run()
    assert created == db.seat("1").run()
    assert created.state.row == 5
    other = db.create(Seat(name="2", state=Free(name="2", row=7))).run()
    assert other == db.seat("2").run()
    assert other.row == 7


def test_a_put_of_a_copy_returns_the_version_that_is_stored(db):
    order = db.create(Order(name="ann", number=1, paid=True)).run()
    changed = db.put(order.model_copy(update={"note": "b"})).run()
    assert changed == db.order("ann", 1).run()
    assert (changed.version, changed.note) == (1, "b")


def test_a_field_that_is_an_index_key_is_not_empty(db):
    with pytest.raises(ValueInvalid, match="label is a key of an index and cannot be empty"):
        db.create(Tag(name="1", label="")).run()
    db.create(Tag(name="1", label="a")).run()
    with pytest.raises(ValueInvalid, match="cannot be empty"):
        db.relabel("1", "").run()
    assert db.relabel("1", None).run().label is None


def test_an_index_key_that_is_stored_as_an_empty_value_is_refused_by_every_write(db):
    db.create(Tag(name="1", words=["a"], digest=b"a")).run()
    for write in (db.reword("1", []), db.upsert_words("1", []), db.rehash("1", b"")):
        with pytest.raises(ValueInvalid, match="is a key of an index and cannot be empty"):
            write.run()
    for tag in (Tag(name="2", words=[]), Tag(name="2", digest=b"")):
        with pytest.raises(ValueInvalid, match="is a key of an index and cannot be empty"):
            db.put(tag).run()
    assert db.reword("1", None).run().words is None
