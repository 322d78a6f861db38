"""An index that is replaced by one with another projection: sessions read on, before, meanwhile and afterwards."""

from typing import Protocol

import pytest

from hashrange import Gsi, Item, Patterns, Query, Table, ValidationException, View
from hashrange.provision import apply, create_tables, plan

before = Table("orders", "id", indexes=[Gsi("ByUser", "user", "id", project=["note"])], deletion_protection=False)
after = Table(
    "orders", "id", indexes=[Gsi("ByUser", "user", "id", project=["note", "total"])], deletion_protection=False
)


class OldOrder(Item, table=before, id="{id}"):
    id: str
    user: str
    note: str = ""
    total: int = 0


class OldNote(View[OldOrder]):
    id: str
    user: str
    note: str


class OldOrders(Patterns, Protocol):
    def notes(self, user: str) -> Query[OldNote]: ...


class Order(Item, table=after, id="{id}"):
    id: str
    user: str
    note: str = ""
    total: int = 0


class Orders(Patterns, Protocol):
    def of_user(self, user: str) -> Query[Order]: ...


@pytest.fixture
def orders(database):
    create_tables(database, OldOrders)
    db = OldOrders.open(database)
    db.batch([OldOrder(id=str(number), user="ann", note="n", total=number) for number in range(9)]).run()
    return database


def test_sessions_read_on_while_an_index_is_replaced(orders):
    old = OldOrders.open(orders)
    pages = [old.notes("ann").page(4).run()]
    apply(orders, plan(orders, Orders))
    new = Orders.open(orders)
    assert [order.total for order in new.of_user("ann").run()] == list(range(9)), (
        "it reads the index with all attributes"
    )
    apply(orders, plan(orders, Orders), allow_loss=True)
    pages.append(old.notes("ann").page(9, after=pages[0].cursor).run())
    assert [note.id for page in pages for note in page.items] == list("012345678")
    assert old.notes("ann").count().run() == 9
    assert len(new.of_user("ann").run()) == 9


def test_an_index_without_a_successor_is_reported_as_dynamodb_does(orders):
    old = OldOrders.open(orders)
    old.notes("ann").run()
    apply(orders, plan(orders, Table("orders", "id", deletion_protection=False)), allow_loss=True)
    for read in (old.notes("ann"), old.notes("ann").count()):
        with pytest.raises(ValidationException, match="The table does not have the specified index: ByUser"):
            read.run()
